"""The process that parses one result folder: `python -m tb_npu_plugin.capture.api.worker PARSER FOLDER OUT TYPE...`.

Prints one JSON list a line on stdout: ["progress", done, total, what], or ["error", message] at the end.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
import time
from pathlib import Path
from typing import Any

from tb_npu_plugin.capture.api.messages import describe_error
from tb_npu_plugin.capture.backend import Progress, load_parser

_SECONDS_BETWEEN_REPORTS = 0.1


def main(arguments: list[str]) -> int:
    """Exit status 0: parsed."""
    parser, folder, out, *types = arguments
    messages, sys.stdout = sys.stdout, sys.stderr  # stdout carries messages only
    next_report = 0.0

    def say(*words: Any) -> None:
        print(json.dumps(words), file=messages, flush=True)

    def report(at: Progress) -> None:
        nonlocal next_report
        if time.monotonic() >= next_report or at.done == at.total:
            next_report = time.monotonic() + _SECONDS_BETWEEN_REPORTS
            say("progress", *at)

    try:
        load_parser(parser)(Path(folder), Path(out), types, report)
    except BrokenPipeError:  # the parent process is gone
        shutil.rmtree(out, ignore_errors=True)
        os._exit(1)  # without flushing stdout
    except Exception as problem:  # the parent process prints it
        say("error", describe_error(problem))
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
