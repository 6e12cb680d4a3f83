"""Runs msprof-analyze once for each command, in its environment: stdin has [[folder for output, arguments], ...] as JSON.

Each command is a process of its own, as for a user, but a fork: importing the program takes longer than its work. What it
prints goes to the file `said` in its folder, its exit status to the file `status`.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path


def run(folder: Path, arguments: list[str]) -> int:
    """Run one command and wait for it."""
    folder.mkdir(parents=True, exist_ok=True)
    child = os.fork()
    if child:
        return os.WEXITSTATUS(os.waitpid(child, 0)[1])
    status = 1
    try:
        said = os.open(folder / "said", os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        os.dup2(said, 1)
        os.dup2(said, 2)
        os.chdir(folder)
        sys.argv = ["msprof-analyze", *arguments]
        msprof_analyze_cli()
    except SystemExit as stop:
        status = stop.code if isinstance(stop.code, int) else int(stop.code is not None)
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)


if __name__ == "__main__":  # the program's own worker processes import this file again
    from msprof_analyze.cli.entrance import msprof_analyze_cli

    for folder, arguments in json.load(sys.stdin):
        Path(folder, "status").write_text(str(run(Path(folder), arguments)))
