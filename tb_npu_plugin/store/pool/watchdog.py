"""Kills a worker process that uses more memory than its files can need, or makes no progress."""

from __future__ import annotations

import ctypes
import os
import re
import sys
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tb_npu_plugin.discovery.model import FoundFile
from tb_npu_plugin.messages import Message
from tb_npu_plugin.problems import Problem
from tb_npu_plugin.store.pool.budget import needed_memory, requested_memory, unpacked_bytes

#: How often a worker is checked, in seconds.
INTERVAL = 0.2
#: A worker may use this many bytes of memory, or this many times the estimate for its files if that is more.
MIN_MEMORY_LIMIT = 1 << 30
MEMORY_FACTOR = 3
#: Limit of CPU seconds without progress; one more per BYTES_PER_SECOND of the files, as building follows reading.
CPU_WITHOUT_PROGRESS = 20.0
BYTES_PER_SECOND = 4 << 20
#: Limit of seconds without progress and with hardly any CPU time: the worker waits for a disk or was suspended.
STALLED_AFTER = 120.0
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
    out: output folder of the request; files that grow there count as progress."""

    def __init__(self, pid: int, files: Sequence[FoundFile], out: Path, kill: Callable[[], None]) -> None:
        self.reason: StopReason | None = None
        self._pid, self._out, self._kill = pid, out, kill
        self._memory = max(MIN_MEMORY_LIMIT, MEMORY_FACTOR * needed_memory(files), requested_memory() or 0)
        self._cpu_limit = CPU_WITHOUT_PROGRESS + unpacked_bytes(files) / BYTES_PER_SECOND
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
        begun, cpu = time.monotonic(), usage_of(self._pid).cpu
        while not self._stopped.wait(INTERVAL):
            now, usage = time.monotonic(), usage_of(self._pid)
            if self._has_moved():
                begun, cpu = now, usage.cpu
            used = None if usage.cpu is None or cpu is None else usage.cpu - cpu
            self.reason = self._judge(usage.memory, now - begun, used)
            if self.reason is not None:
                self._kill()
                return

    def _has_moved(self) -> bool:
        """Whether the worker made progress since the last check."""
        seen = (*map(self._message.get, ("file", "bytes", "preview")), _bytes(self._out))
        before, self._seen = self._seen, seen
        return bool(seen != before)

    def _judge(self, memory: int | None, waited: float, used: float | None) -> StopReason | None:
        if memory is not None and memory > self._memory:
            return StopReason(
                "too_expensive",
                Message("expected.memory", mb=self._memory >> 20),
                Message("found.memory", mb=memory >> 20),
                Message("action.more_memory"),
            )
        if used is not None and used > self._cpu_limit:
            return StopReason(
                "too_expensive",
                Message("expected.progress", seconds=f"{self._cpu_limit:.0f}"),
                Message("found.none"),
                Message("action.check_file_steps"),
            )
        is_waiting = used is None or used < WAITING_SHARE * waited
        if waited > STALLED_AFTER and is_waiting and waited > self._cpu_limit:
            return StopReason(
                "stalled",
                Message("expected.responding_disk"),
                Message("found.no_progress", seconds=f"{waited:.0f}"),
                Message("action.check_mount"),
            )
        return None


def _bytes(folder: Path) -> int:
    """Total size of the files in a folder."""
    total = 0
    for place, _, names in os.walk(folder):  # unlike pathlib, it skips folders that were removed meanwhile
        for name in names:
            with suppress(OSError):  # removed meanwhile
                total += Path(place, name).stat().st_size
    return total
