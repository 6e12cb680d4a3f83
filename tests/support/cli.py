"""The command line in this process."""

from __future__ import annotations

import io
import json
import sys
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import pytest

from tb_npu_plugin.cli import main


def run(*arguments: str | Path) -> CompletedProcess[str]:
    """Exit code and output of `tb-npu` with these arguments."""
    out, err = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True) for _ in range(2))
    command = ["tb-npu", *map(str, arguments)]
    with redirect_stdout(out), redirect_stderr(err), pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "argv", command)
        with pytest.raises(SystemExit) as end:
            main()
    text = [stream.buffer.getvalue().decode() for stream in (out, err)]  # type: ignore[attr-defined]
    return CompletedProcess(command, int(end.value.code or 0), *text)


def shown(*arguments: str | Path) -> Any:
    """What `tb-npu show` prints with --json."""
    done = run("show", *arguments, "--json")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)
