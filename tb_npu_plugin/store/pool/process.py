"""The server's side of one worker process."""

from __future__ import annotations

import json
import os
import selectors
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Protocol

import tb_npu_plugin
from tb_npu_plugin.messages import Message
from tb_npu_plugin.scan.threads import available_cores
from tb_npu_plugin.store.pool.limits import limits_of
from tb_npu_plugin.store.pool.watchdog import StopReason, Watchdog, too_expensive
from tb_npu_plugin.store.stages import Request

#: A worker process is killed if it does not exit this long after its input ends, in seconds.
EXIT_TIMEOUT = 5.0
#: How often it is seen whether a silent worker was killed, in seconds.
CHECK_INTERVAL = 1.0
#: Added to the niceness of this process: the server and the browser come first.
NICENESS = 10


class RequestFailed(Exception):
    """The worker reported that the request failed. Its process still runs."""

    def __init__(self, message: str, trace: str = "", errno: int | None = None) -> None:
        super().__init__(message)
        self.trace, self.errno = trace, errno


class WorkerKilled(Exception):
    """The worker process ended during a request."""


class WorkerStopped(WorkerKilled):
    """The worker process exceeded a limit or stood still, and was ended."""

    def __init__(self, reason: StopReason) -> None:
        super().__init__(reason.found)
        self.reason = reason


class Process(Protocol):
    """Interface of a worker process."""

    def run(self, request: Request, on_message: Callable[[dict[str, Any]], None]) -> dict[str, Any]:
        """Do one request. Raises RequestFailed, WorkerKilled."""

    def kill(self) -> None:
        """Kill the process."""

    def close(self) -> None:
        """End the process after its request."""


class WorkerProcess:
    """A child process that serves requests (store/pool/worker.py). It exits when this process ends. program: arguments
    of Python."""

    def __init__(self, program: Sequence[str] = ("-m", "tb_npu_plugin.store.pool.worker")) -> None:
        source = str(Path(tb_npu_plugin.__file__).parent.parent)
        path = os.pathsep.join(filter(None, (source, os.environ.get("PYTHONPATH"))))
        self._child = subprocess.Popen(
            [sys.executable, *program],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            # `python -m` puts the working directory first on sys.path: use one without modules.
            cwd="/",
            env={**os.environ, "PYTHONPATH": path},
            encoding="utf-8",
        )
        with suppress(OSError):  # not by itself: loading its modules takes longer than a browser should wait
            os.setpriority(os.PRIO_PROCESS, self._child.pid, os.getpriority(os.PRIO_PROCESS, 0) + NICENESS)
        self._is_killed = False

    def run(self, request: Request, on_message: Callable[[dict[str, Any]], None]) -> dict[str, Any]:
        """Do one request and return its meta. `on_message` gets the messages before it. Raises RequestFailed,
        WorkerStopped, WorkerKilled."""
        limits = limits_of(request.files)
        watchdog = Watchdog(self._child.pid, limits, request.out, self.kill)

        def note(message: dict[str, Any]) -> None:
            if "exceeded" in message:
                raise WorkerStopped(too_expensive(limits, message["exceeded"], Message("found.refused")))
            watchdog.note(message)
            on_message(message)

        try:
            return self._run(request, note)
        except WorkerStopped:
            raise
        except WorkerKilled:
            reason = watchdog.stop()
            if reason is None:
                raise
            raise WorkerStopped(reason) from None
        finally:
            watchdog.stop()

    def _run(self, request: Request, on_message: Callable[[dict[str, Any]], None]) -> dict[str, Any]:
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
                    raise RequestFailed(message["failed"], message["trace"], message.get("errno"))
                on_message(message)
        except (BrokenPipeError, ValueError):
            pass  # the process ended, perhaps within a line
        raise WorkerKilled(self._describe_exit())

    def _lines(self) -> Iterator[str]:
        """Lines of its output. A killed process that does not exit, as it waits for a disk, is abandoned."""
        assert self._child.stdout is not None
        partial, file = b"", self._child.stdout.fileno()
        with selectors.DefaultSelector() as selector:
            selector.register(file, selectors.EVENT_READ)
            while not self._is_killed:
                if not selector.select(CHECK_INTERVAL):
                    continue
                piece = os.read(file, 1 << 16)
                if not piece:
                    return
                *lines, partial = (partial + piece).split(b"\n")
                for line in lines:
                    yield line.decode()

    def kill(self) -> None:
        """Kill the process."""
        with suppress(OSError):
            self._child.kill()
        self._is_killed = True

    def close(self) -> None:
        """Close its input, which makes it exit, and wait for it."""
        for pipe in (self._child.stdin, self._child.stdout):
            with suppress(OSError):
                if pipe is not None:
                    pipe.close()
        try:
            self._child.wait(timeout=EXIT_TIMEOUT)
        except subprocess.TimeoutExpired:
            self._child.kill()
            with suppress(subprocess.TimeoutExpired):  # it waits for a disk and exits when that answers
                self._child.wait(timeout=EXIT_TIMEOUT)

    def _describe_exit(self) -> str:
        self.close()
        code = self._child.returncode
        if code is None:
            return Message("found.stuck_process")
        if code >= 0:
            return Message("found.exit_code", exit=code)
        with suppress(ValueError):
            name = signal.Signals(-code).name
            if name == "SIGKILL":
                return Message("found.killed", signal=name)
            return Message("found.ended_by", signal=name)
        return Message("found.ended_by_number", signal=-code)


def worker_count() -> int:
    """TB_NPU_WORKERS, else the number of cores that this process may use."""
    setting = os.environ.get("TB_NPU_WORKERS", "")
    if setting.isdecimal() and int(setting) > 0:
        return int(setting)
    return available_cores()
