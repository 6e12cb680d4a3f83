"""Kills a worker process that exceeds the limits of its request, or stands still."""

from __future__ import annotations

import ctypes
import os
import re
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tb_npu_plugin.messages import Message
from tb_npu_plugin.problems import Problem
from tb_npu_plugin.store.pool.limits import Limits, Resource

#: How often a worker is checked, in seconds: it may exceed a limit by what it takes meanwhile.
INTERVAL = 0.1
#: Maximum share of CPU time of a waiting process.
WAITING_SHARE = 0.05


@dataclass(frozen=True)
class Usage:
    """CPU seconds and bytes of memory (without mapped files) of a process. None: the system does not report it."""

    cpu: float | None
    memory: int | None


@dataclass(frozen=True)
class StopReason:
    """Why a worker was killed: code of the problem, what was expected and found, what to do."""

    code: str
    expected: str
    found: str
    action: str

    def problem(self, file: str, lost: str) -> Problem:
        """The problem for the user. file: that the worker was reading."""
        return Problem(self.code, file, "", self.expected, self.found, lost, self.action)


def usage_of(pid: int, root: Path = Path("/proc")) -> Usage:
    """Current usage of a process. root: the proc file system."""
    if sys.platform == "darwin":
        return Usage(None, _footprint(pid))
    cpu = memory = None
    with suppress(OSError, ValueError, IndexError):
        fields = (root / str(pid) / "stat").read_text().rpartition(")")[2].split()
        cpu = (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    with suppress(OSError):
        found = re.search(r"^RssAnon:\s+(\d+) kB", (root / str(pid) / "status").read_text(), re.MULTILINE)
        memory = int(found.group(1)) << 10 if found else None
    return Usage(cpu, memory)


def _footprint(pid: int) -> int | None:
    """Memory on macOS: ri_phys_footprint of rusage_info_v0, after a UUID and seven 8-byte numbers."""
    values = (ctypes.c_uint64 * 16)()
    try:
        libproc = ctypes.CDLL("/usr/lib/libproc.dylib")
        return int(values[9]) if libproc.proc_pid_rusage(pid, 0, ctypes.byref(values)) == 0 else None
    except (OSError, AttributeError):
        return None


class Watchdog:
    """Watches one request of a worker process until `stop`, and kills the process if it exceeds a limit.
    out: output folder of the request."""

    def __init__(self, pid: int, limits: Limits, out: Path, kill: Callable[[], None]) -> None:
        self.reason: StopReason | None = None
        self._pid, self._limits, self._out, self._kill = pid, limits, out, kill
        self._stopped = threading.Event()
        self._seen: Any = None
        self._message: dict[str, Any] = {}
        self._thread = threading.Thread(target=self._run, name="npu-watchdog", daemon=True)
        self._thread.start()

    def note(self, message: dict[str, Any]) -> None:
        """Record a progress message of the worker."""
        self._message = message

    def stop(self) -> StopReason | None:
        """Stop watching. Returns why the process was killed; None if it was not."""
        self._stopped.set()
        self._thread.join()
        return self.reason

    def _run(self) -> None:
        moved, first, cpu = time.monotonic(), usage_of(self._pid).cpu, usage_of(self._pid).cpu
        while not self._stopped.wait(INTERVAL):
            now, usage, written = time.monotonic(), usage_of(self._pid), _bytes(self._out)
            if self._has_moved(written):
                moved, cpu = now, usage.cpu
            self.reason = self._exceeded(usage, _spent(usage.cpu, first), written)
            self.reason = self.reason or self._stalled(now - moved, _spent(usage.cpu, cpu))
            if self.reason is not None:
                self._kill()
                return

    def _has_moved(self, written: int) -> bool:
        """Whether the worker made progress since the last check."""
        seen = (*map(self._message.get, ("file", "bytes", "preview")), written)
        before, self._seen = self._seen, seen
        return bool(seen != before)

    def _exceeded(self, usage: Usage, cpu: float | None, written: int) -> StopReason | None:
        limits = self._limits
        if usage.memory is not None and usage.memory > limits.memory:
            return too_expensive(limits, "memory", Message("found.memory", mb=usage.memory >> 20))
        if written > limits.output:
            return too_expensive(limits, "output", Message("found.memory", mb=written >> 20))
        if cpu is not None and cpu > limits.cpu:
            return too_expensive(limits, "cpu", Message("found.more"))
        return None

    def _stalled(self, waited: float, used: float | None) -> StopReason | None:
        is_waiting = used is None or used < WAITING_SHARE * waited
        if waited > self._limits.wait and is_waiting:
            return StopReason(
                "stalled",
                Message("expected.responding_disk"),
                Message("found.no_progress", seconds=f"{waited:.0f}"),
                Message("action.check_mount"),
            )
        return None


def too_expensive(limits: Limits, resource: Resource, found: str) -> StopReason:
    """A request exceeds a limit."""
    action = Message("action.more_memory") if resource == "memory" else Message("action.check_file_steps")
    return StopReason("too_expensive", limits.expected(resource), found, action)


def _spent(now: float | None, before: float | None) -> float | None:
    return None if now is None or before is None else now - before


def _bytes(folder: Path) -> int:
    """Total size of the files in a folder."""
    total = 0
    for place, _, names in os.walk(folder):  # unlike pathlib, it skips folders that were removed meanwhile
        for name in names:
            with suppress(OSError):  # removed meanwhile
                total += Path(place, name).stat().st_size
    return total
