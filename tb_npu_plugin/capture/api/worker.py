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

from tb_npu_plugin.capture.api.messages import explained
from tb_npu_plugin.capture.backend import Progress, load_parser

_SECONDS_BETWEEN_REPORTS = 0.1


class _Reporter:
    """Prints progress, but not more often than anybody looks."""

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
    sys.stdout = sys.stderr  # what the parser prints is no message of ours
    try:
        load_parser(parser)(Path(folder), Path(out), types, reporter.progress)
    except BrokenPipeError:  # the process that waited for this one is gone, and with it who would use the results
        shutil.rmtree(out, ignore_errors=True)
        os._exit(1)  # without an attempt to write what is left for it
    except Exception as problem:  # told to the user by the process that waits for this one
        reporter.say("error", explained(problem))
        return 1
    reporter.say("done")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
