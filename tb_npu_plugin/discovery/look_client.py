"""The server's side of looks: asks the child process, gives up in time, and remembers the answers."""

from __future__ import annotations

import json
import os
import selectors
import signal
import subprocess
import sys
import threading
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar, Union

import tb_npu_plugin
from tb_npu_plugin.discovery import report
from tb_npu_plugin.discovery.looks import Look
from tb_npu_plugin.discovery.report import Skipped
from tb_npu_plugin.discovery.timeouts import Stalled
from tb_npu_plugin.printable import package_logger, printable

logger = package_logger(__name__)
T = TypeVar("T")

#: Seconds that one look may take, with the start of the process.
LIMIT = 10.0
#: Seconds that failed looks of one scan may take together. The rest is looked at by the next scan.
MAX_LOST = 15.0
#: Maximum number of answers that are remembered, of all scans.
MAX_KNOWN = 20_000
#: Seconds that a killed process may take to exit. It takes longer where it waits for a disk.
_EXIT = 0.5
# Not `-m`, and without site-packages: this takes 0.03 s of CPU.
_PROGRAM = "import sys; sys.path.insert(0, sys.argv[1]); from tb_npu_plugin.discovery.look_process import main; main()"
_SOURCE = str(Path(tb_npu_plugin.__file__).parent.parent)

_Key = tuple[str, str, int, int]


@dataclass(frozen=True)
class Failure:
    """Why a look has no answer, and what to do; the path is "". is_lasting: because of the file, which is not looked at
    again."""

    skipped: Skipped
    is_lasting: bool = False


_known: dict[_Key, Any] = {}
#: Killed processes that have not exited, by the path they read; nothing else looks at that path.
_stuck: dict[str, subprocess.Popen[bytes]] = {}


class Looks:
    """The looks of one scan. Thread-safe. Starts a process when a look has no known answer; `close` ends it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._process: _Process | None = None
        self._lost = 0.0
        self._is_closed = False

    def ask(self, look: Look[T], path: str, size: int, mtime_ns: int) -> Union[T, Failure]:
        """The answer of a look at a file with this size and time."""
        key = (look.name, path, size, mtime_ns)
        with self._lock:
            if key in _known:
                return _known[key]  # type: ignore[no-any-return]
            begun = time.monotonic()
            found = self._ask(look, path)
            if isinstance(found, Failure):
                self._lost += time.monotonic() - begun
            if not isinstance(found, Failure) or found.is_lasting:
                while len(_known) >= MAX_KNOWN:
                    del _known[next(iter(_known))]
                _known[key] = found
            return found

    def close(self) -> None:
        """End the process. A thread that the scan has given up gets no more answers."""
        with self._lock:
            self._is_closed = True
            if self._process is not None:
                self._process.kill()

    def _ask(self, look: Look[T], path: str) -> Union[T, Failure]:
        stuck = _stuck.get(path)
        if stuck is not None and stuck.poll() is None:
            return _unreadable(Stalled(LIMIT))
        _stuck.pop(path, None)
        if self._is_closed or self._lost > MAX_LOST:
            return Failure(report.skip("look_later", ""))
        try:
            self._process = self._process or _Process()
            answer = self._process.ask(look.name, path)
        except TimeoutError:
            return _unreadable(Stalled(LIMIT))
        except _Ended as ended:
            return _ended(ended.code)
        except OSError as error:  # the process cannot be started
            return Failure(report.skip("no_look_process", "", reason=error.strerror or str(error)))
        finally:
            if self._process is not None and self._process.has_ended:
                self._process = None
        return _parse(look, path, answer)


class _Ended(Exception):
    """The process ended during a look. code: as of Popen.returncode."""

    def __init__(self, code: int | None) -> None:
        super().__init__()
        self.code = code


class _Process:
    """One child process. Raises OSError if it cannot be started."""

    def __init__(self) -> None:
        self.has_ended = False
        self._child = subprocess.Popen(
            [sys.executable, "-S", "-c", _PROGRAM, _SOURCE], stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd="/"
        )

    def ask(self, name: str, path: str) -> dict[str, Any]:
        """Its answer. Raises OSError or _Ended, and the process has ended then: a late answer is nobody's."""
        assert self._child.stdin is not None
        with suppress(BrokenPipeError):  # there is no answer then
            self._child.stdin.write(json.dumps([name, path]).encode() + b"\n")
            self._child.stdin.flush()
        try:
            line = self._line(time.monotonic() + LIMIT)
        except OSError:
            self.kill()
            if self._child.returncode is None:
                _stuck[path] = self._child
            raise
        if line:
            answer: dict[str, Any] = json.loads(line)
            if not answer.keys() & {"answer", "os_error"}:
                self.kill()  # the next file gets a fresh one
            return answer
        with suppress(subprocess.TimeoutExpired):
            self._child.wait(_EXIT)
        self.kill()
        raise _Ended(self._child.returncode)

    def _line(self, deadline: float) -> bytes:
        """The next line; empty if the process ended. Raises TimeoutError."""
        assert self._child.stdout is not None
        line, file = b"", self._child.stdout.fileno()
        with selectors.DefaultSelector() as selector:
            selector.register(file, selectors.EVENT_READ)
            while not line.endswith(b"\n"):
                if not selector.select(deadline - time.monotonic()):
                    raise TimeoutError
                piece = os.read(file, 1 << 20)
                if not piece:
                    return b""
                line += piece
        return line

    def kill(self) -> None:
        """Kill the process. It holds nothing that it must put away."""
        self.has_ended = True
        self._child.kill()
        with suppress(subprocess.TimeoutExpired):
            self._child.wait(_EXIT)
        for pipe in (self._child.stdin, self._child.stdout):
            with suppress(OSError):
                if pipe is not None:
                    pipe.close()


def _ended(code: int | None) -> Failure:
    if code == -signal.SIGXCPU:
        return Failure(report.skip("look_too_expensive", ""), is_lasting=True)
    is_crash = code is not None and code < 0 and code != -signal.SIGKILL  # the system kills where memory is short
    name = str(code)
    with suppress(ValueError, TypeError):
        name = signal.Signals(-(code or 0)).name
    return Failure(report.skip("look_ended", "", code=name), is_crash)


def _unreadable(error: OSError) -> Failure:
    return Failure(report.unreadable("", error, is_file=True))


def _parse(look: Look[T], path: str, answer: dict[str, Any]) -> Union[T, Failure]:
    import msgspec  # takes time to load, and most scans need no look

    if "os_error" in answer:
        number, text = answer["os_error"]
        return _unreadable(OSError(text) if number is None else OSError(number, text))
    if "too_expensive" in answer:
        return Failure(report.skip("look_too_expensive", ""), is_lasting=True)
    defect = answer.get("defect", "")
    if not defect:
        try:
            return msgspec.convert(answer["answer"], look.answer)
        except (KeyError, msgspec.ValidationError) as error:
            defect = repr(error)
    logger.error("%s of %s failed: %s", look.name, printable(path), defect)
    return Failure(report.skip("look_defect", ""), is_lasting=True)
