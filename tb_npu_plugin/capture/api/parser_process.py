"""Starts the process that parses one result folder (worker.py) and reads its progress."""

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
    """The parsing processes of one API call, so that Ctrl-C ends them while other threads wait for them."""

    def __init__(self) -> None:
        self._alive: set[subprocess.Popen[str]] = set()
        self._ended = False
        self._lock = threading.Lock()

    @contextmanager
    def holds(self, process: subprocess.Popen[str]) -> Iterator[None]:
        """Track the process while its output is read. ParseFailed if end() killed it."""
        with self._lock:
            self._alive.add(process)
            if self._ended:
                process.kill()
        try:
            yield
        except BaseException:  # Ctrl-C above all: the process must not outlive this call
            process.kill()
            raise
        finally:
            with self._lock:
                self._alive.discard(process)
        self.check_not_ended()

    def check_not_ended(self) -> None:
        """ParseFailed after end()."""
        if self._ended:
            raise ParseFailed("It was interrupted.")

    def end(self) -> None:
        """Kill all processes; no other one starts."""
        with self._lock:
            self._ended = True
            for process in self._alive:
                process.kill()


def run_parser(
    folder: Path, out: Path, types: Sequence[str], report: Report | None, children: Children | None = None
) -> None:
    """Run the parser in a child process and report its progress. ParseFailed with its reason."""
    command = [sys.executable, "-m", "tb_npu_plugin.capture.api.worker", backend.current_backend().parser]
    command += [str(folder), str(out), *types]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path or str(Path.cwd()) for path in sys.path)}
    reason = ""
    children = children or Children()
    children.check_not_ended()
    # In a separate session: Ctrl-C reaches only this process, which kills the parser or (in the background) waits for it.
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
    """A message of the worker; other lines of its stdout go to stderr."""
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
