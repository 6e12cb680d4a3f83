"""The process that parses one result folder: `python -m tb_npu_plugin.capture.api.worker PARSER FOLDER OUT TYPE...`.

Prints one JSON list a line on stdout: ["progress", done, total, what], then ["done"] or ["error", message].
"""

from __future__ import annotations

import json
import os
import shutil
import sys
import time
from pathlib import Path
from typing import Any, TextIO

from tb_npu_plugin.capture.api.messages import describe_error
from tb_npu_plugin.capture.backend import Progress, load_parser

_SECONDS_BETWEEN_REPORTS = 0.1


class _Reporter:
    """Prints progress, at most ten times a second."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._next = 0.0

    def say(self, *words: Any) -> None:
        print(json.dumps(words), file=self._stream, flush=True)

    def progress(self, at: Progress) -> None:
        now = time.monotonic()
        if now >= self._next or at.done == at.total:
            self._next = now + _SECONDS_BETWEEN_REPORTS
            self.say("progress", *at)


def main(arguments: list[str]) -> int:
    """Exit status 0: parsed."""
    parser, folder, out, *types = arguments
    reporter = _Reporter(sys.stdout)
    sys.stdout = sys.stderr  # stdout carries messages only
    try:
        load_parser(parser)(Path(folder), Path(out), types, reporter.progress)
    except BrokenPipeError:  # the parent process is gone
        shutil.rmtree(out, ignore_errors=True)
        os._exit(1)  # without flushing stdout
    except Exception as problem:  # the parent process prints it
        reporter.say("error", describe_error(problem))
        return 1
    reporter.say("done")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
