"""One worker process, from the side of the server."""

from __future__ import annotations

import json
import math
import os
import selectors
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Protocol

import tb_npu_plugin
from tb_npu_plugin.messages import Message
from tb_npu_plugin.scan.threads import available_cores
from tb_npu_plugin.store.pool.watchdog import Verdict, Watchdog
from tb_npu_plugin.store.stages import Request

#: How long a worker process may take to end when its input has, in seconds; then it is killed.
ENDING = 5.0
#: How often a worker that says nothing is looked at, in seconds.
LOOK = 1.0


class Failed(Exception):
    """The worker says that it could not do the request; it is still there."""

    def __init__(self, message: str, trace: str = "", errno: int | None = None) -> None:
        super().__init__(message)
        self.trace, self.errno = trace, errno


class Killed(Exception):
    """The worker process ended in the middle of a request."""


class Stopped(Killed):
    """The worker process was ended because it took too much, or made no progress."""

    def __init__(self, verdict: Verdict) -> None:
        super().__init__(verdict.found)
        self.verdict = verdict


class Process(Protocol):
    """What the pool needs of a worker process."""

    def run(self, request: Request, say: Callable[[dict[str, Any]], None]) -> dict[str, Any]:
        """Do one request. Raises Failed, Killed."""

    def kill(self) -> None:
        """End it now."""

    def close(self) -> None:
        """End it when it is done."""


class WorkerProcess:
    """A child that serves requests (store/pool/worker.py). It ends by itself when this process does. `program`: arguments
    of Python."""

    def __init__(self, program: Sequence[str] = ("-m", "tb_npu_plugin.store.pool.worker")) -> None:
        source = str(Path(tb_npu_plugin.__file__).parent.parent)
        path = os.pathsep.join(filter(None, (source, os.environ.get("PYTHONPATH"))))
        self._child = subprocess.Popen(
            [sys.executable, *program],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            # `python -m` puts the working directory first on its path: it must be one that hides no modules.
            cwd="/",
            env={**os.environ, "PYTHONPATH": path},
            encoding="utf-8",
        )
        self._end = math.inf  # when it is given up, by time.monotonic

    def run(self, request: Request, say: Callable[[dict[str, Any]], None]) -> dict[str, Any]:
        """Do one request and return its meta. `say` gets the messages that come before it. Raises Failed, Stopped,
        Killed."""
        watchdog = Watchdog(self._child.pid, request.files, request.out, self.kill)

        def note(message: dict[str, Any]) -> None:
            watchdog.note(message)
            say(message)

        try:
            return self._run(request, note)
        except Killed:
            verdict = watchdog.stop()
            if verdict is None:
                raise
            raise Stopped(verdict) from None
        finally:
            watchdog.stop()

    def _run(self, request: Request, say: Callable[[dict[str, Any]], None]) -> dict[str, Any]:
        assert self._child.stdin is not None
        try:
            self._child.stdin.write(json.dumps(request.as_json()) + "\n")
            self._child.stdin.flush()
            for line in self._lines():
                message = json.loads(line)
                if "meta" in message:
                    meta: dict[str, Any] = message["meta"]
                    return meta
                if "failed" in message:
                    raise Failed(message["failed"], message["trace"], message.get("errno"))
                say(message)
        except (BrokenPipeError, ValueError):
            pass  # it ended, perhaps in the middle of a line
        raise Killed(self._ending())

    def _lines(self) -> Iterator[str]:
        """What it says, to its end. One that was killed and does not end, as it waits for a disk, is given up."""
        assert self._child.stdout is not None
        said, file = b"", self._child.stdout.fileno()
        with selectors.DefaultSelector() as selector:
            selector.register(file, selectors.EVENT_READ)
            while time.monotonic() < self._end:
                if not selector.select(LOOK):
                    continue
                piece = os.read(file, 1 << 16)
                if not piece:
                    return
                *lines, said = (said + piece).split(b"\n")
                for line in lines:
                    yield line.decode()

    def kill(self) -> None:
        """End it now."""
        self._end = min(self._end, time.monotonic() + ENDING)
        with suppress(OSError):
            self._child.kill()

    def close(self) -> None:
        """Let it end: it does at the end of its input."""
        for pipe in (self._child.stdin, self._child.stdout):
            with suppress(OSError):
                if pipe is not None:
                    pipe.close()
        try:
            self._child.wait(timeout=ENDING)
        except subprocess.TimeoutExpired:
            self._child.kill()
            with suppress(subprocess.TimeoutExpired):  # it waits for a disk; the system ends it when that answers
                self._child.wait(timeout=ENDING)

    def _ending(self) -> str:
        self.close()
        code = self._child.returncode
        if code is None:
            return Message("found.stuck_process")
        if code >= 0:
            return Message("found.exit_code", exit=code)
        with suppress(ValueError):
            name = signal.Signals(-code).name
            if name == "SIGKILL":
                return Message("found.out_of_memory", signal=name)
            return Message("found.ended_by", signal=name)
        return Message("found.ended_by_number", signal=-code)


def worker_count() -> int:
    """TB_NPU_WORKERS, else the cores that this process may use."""
    asked = os.environ.get("TB_NPU_WORKERS", "")
    if asked.isdecimal() and int(asked) > 0:
        return int(asked)
    return available_cores()
