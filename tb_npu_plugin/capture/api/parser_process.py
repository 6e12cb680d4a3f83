"""The process that parses one result folder (worker.py), as the one that waits for it sees it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tb_npu_plugin.capture import backend
from tb_npu_plugin.capture.api.progress_bar import Report
from tb_npu_plugin.errors import NpuPluginError


class ParseFailed(NpuPluginError):
    """A result folder could not be parsed."""

    code = "parse_failed"


class Children:
    """The parsing processes of one call of the API: they end with it, although other threads wait for them."""

    def __init__(self) -> None:
        self._alive: set[subprocess.Popen[str]] = set()
        self._ended = False
        self._lock = threading.Lock()

    @contextmanager
    def holds(self, process: subprocess.Popen[str]) -> Iterator[None]:
        """While its output is read. ParseFailed where it was ended from here."""
        with self._lock:
            self._alive.add(process)
            if self._ended:
                process.kill()
        try:
            yield
        except BaseException:  # Ctrl-C above all: the process must not go on alone
            process.kill()
            raise
        finally:
            with self._lock:
                self._alive.discard(process)
        self.go_on()

    def go_on(self) -> None:
        """ParseFailed where they were ended: no other process begins, then."""
        if self._ended:
            raise ParseFailed("It was interrupted.")

    def end(self) -> None:
        """End them."""
        with self._lock:
            self._ended = True
            for process in self._alive:
                process.kill()


def run_parser(
    folder: Path, out: Path, types: Sequence[str], report: Report | None, children: Children | None = None
) -> None:
    """Run the parser in a child process and pass its progress on. ParseFailed with its reason."""
    command = [sys.executable, "-m", "tb_npu_plugin.capture.api.worker", backend.current().parser]
    command += [str(folder), str(out), *types]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path or str(Path.cwd()) for path in sys.path)}
    reason = ""
    children = children or Children()
    children.go_on()
    # Ctrl-C is for this process, which ends the other or (in the background) waits for it: hence a session of its own.
    with (
        subprocess.Popen(
            command, stdout=subprocess.PIPE, env=environment, encoding="utf-8", start_new_session=True
        ) as process,
        children.holds(process),
    ):
        assert process.stdout is not None
        for line in process.stdout:
            kind, *words = _message(line)
            if kind == "error":
                reason = words[0]
            elif kind == "progress" and report is not None:
                report(backend.Progress(*words))
    if reason:
        raise ParseFailed(reason)
    if process.returncode:
        raise ParseFailed(_end_of(process.returncode))


def _message(line: str) -> list[Any]:
    """A line of the worker; what another library printed there goes to stderr."""
    try:
        found = json.loads(line)
    except ValueError:
        found = None
    if isinstance(found, list) and found:
        return found
    print(line, end="", file=sys.stderr)
    return ["other"]


def _end_of(status: int) -> str:
    if status < 0:
        return f"The parsing process was killed by signal {-status}; if memory ran out, use a lower max_process_number."
    return f"The parsing process ended with status {status}."
