"""What one request to a worker may cost, as multiples of its files' sizes.

A file of less than 1 MB costs at most 10 CPU seconds, 500 MB of memory and 500 MB of disk. Honest files stay far below:
docs/limits.md has what they take.
"""

from __future__ import annotations

import errno
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Literal

from tb_npu_plugin.discovery.model import FoundFile
from tb_npu_plugin.messages import Message
from tb_npu_plugin.store.pool.budget import WORKER_BYTES, needed_memory, requested_memory, unpacked_bytes

#: Bytes of memory for any request: a worker with its modules takes 45 MB, and a JSON file may take 160 MB decoded
#: (readers/shared/source.py). More for the files: this many times the estimate of budget.py.
MEMORY, MEMORY_FACTOR = 200 << 20, 3
#: Bytes written for any request, and for a byte of the files, unpacked. A trace takes 0.5 in the end and 2 while it is built,
#: a database 4.
OUTPUT, OUTPUT_PER_BYTE = 64 << 20, 20
#: CPU seconds for any request, and for a MiB of the files: databases are read at 9 MB/s, CSV files at 46, traces at 190.
CPU_SECONDS, CPU_PER_MIB, CPU_PER_PACKED_MIB = 6.0, 1.0, 4.0
#: Seconds without progress and with hardly any CPU time, or with which the files could be read at BYTES_PER_SECOND if that is
#: more: the worker waits for a disk or was suspended.
STALLED_AFTER, BYTES_PER_SECOND = 120.0, 4 << 20
#: More address space than memory: stacks of threads, and what the allocator holds in reserve.
_RESERVE = 256 << 20

Resource = Literal["memory", "output", "cpu"]


@dataclass(frozen=True)
class Limits:
    """Limits of one request: bytes of memory (without mapped files), bytes below its output folder, CPU seconds, seconds
    without progress."""

    memory: int
    output: int
    cpu: float
    wait: float

    def expected(self, resource: Resource) -> str:
        """A limit in words."""
        if resource == "memory":
            return Message("expected.memory", mb=self.memory >> 20)
        if resource == "output":
            return Message("expected.output", mb=self.output >> 20)
        return Message("expected.cpu", seconds=f"{self.cpu:.0f}")

    def impose(self) -> None:
        """Let the system refuse what exceeds the limits by far: a watchdog may look too late."""
        with suppress(ImportError, OSError, ValueError):  # not on Windows; a lower hard limit stays
            import resource

            _lower(resource.RLIMIT_FSIZE, self.output)
            _lower(resource.RLIMIT_DATA, self.memory + _RESERVE)

    def refused(self, error: BaseException) -> Resource | None:
        """Which limit an error of the system comes from; None: no limit of ours."""
        if isinstance(error, MemoryError):
            return "memory"
        if not isinstance(error, OSError) or error.errno != errno.EFBIG:
            return None
        import resource

        return "output" if resource.getrlimit(resource.RLIMIT_FSIZE)[0] == self.output else None


def _lower(which: int, most: int) -> None:
    """Set the soft limit of this process, below its hard limit."""
    import resource

    hard = resource.getrlimit(which)[1]
    resource.setrlimit(which, (most if hard == resource.RLIM_INFINITY else min(most, hard), hard))


def _cpu_for(file: FoundFile) -> float:
    return file.size / (1 << 20) * (CPU_PER_PACKED_MIB if file.relative.endswith(".gz") else CPU_PER_MIB)


def limits_of(files: Sequence[FoundFile]) -> Limits:
    """The limits of a request that reads these files."""
    unpacked = unpacked_bytes(files)
    memory = MEMORY + MEMORY_FACTOR * (needed_memory(files) - WORKER_BYTES)
    return Limits(
        max(memory, requested_memory() or 0),
        OUTPUT + OUTPUT_PER_BYTE * unpacked,
        CPU_SECONDS + sum(map(_cpu_for, files)),
        max(STALLED_AFTER, unpacked / BYTES_PER_SECOND),
    )
