"""What one request to a worker may cost, as multiples of its files' sizes.

A file of less than 1 MB costs at most 10 CPU seconds, 500 MB of memory and 500 MB of disk. Honest files stay far below:
docs/limits.md has what they take.
"""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from tb_npu_plugin.discovery.model import FoundFile
from tb_npu_plugin.messages import Message
from tb_npu_plugin.printable import package_logger

#: Bytes of memory for any request: a worker with its modules takes 45 MB, and a JSON file may take 160 MB decoded
#: (readers/shared/source.py). More for the files: this many times `needed_memory`.
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


# The memory budget of all workers, and estimates of what a stage needs.

logger = package_logger(__name__)

#: Memory of a worker before it reads anything: the interpreter, numpy, DuckDB.
WORKER_BYTES = 150 << 20
#: Bytes of memory per byte of a file; JSON tables need more because they are decoded in one piece.
PER_BYTE = 0.5
PER_JSON_BYTE = 8
#: Typical compression ratio of a gzip trace.
GZIP_RATIO = 12
#: Available memory assumed where the system does not report it.
UNKNOWN_BYTES = 2 << 30
_MEBIBYTE = 1 << 20


def needed_memory(files: Sequence[FoundFile]) -> int:
    """Estimated bytes of memory to read these files."""
    sizes = (unpacked_bytes((file,)) * (PER_JSON_BYTE if _is_decoded(file) else PER_BYTE) for file in files)
    return WORKER_BYTES + int(sum(sizes))


def unpacked_bytes(files: Sequence[FoundFile]) -> int:
    """Estimated bytes of these files after decompression."""
    return sum(file.size * (GZIP_RATIO if file.relative.endswith(".gz") else 1) for file in files)


def _is_decoded(file: FoundFile) -> bool:
    """Whether it is a JSON table."""
    return file.relative.endswith((".json", ".json.gz")) and not file.is_trace


def requested_memory() -> int | None:
    """TB_NPU_MEMORY_MB in bytes; None where it is unset or not a positive integer."""
    setting = os.environ.get("TB_NPU_MEMORY_MB", "")
    return int(setting) * _MEBIBYTE if setting.isdecimal() and int(setting) > 0 else None


def memory_budget(root: Path = Path("/")) -> int:
    """Bytes of memory for all workers: TB_NPU_MEMORY_MB, else half of what the machine and the cgroups of this process
    have available now. root: folder that holds proc and sys."""
    requested = requested_memory()
    if requested is not None:
        return requested
    if os.environ.get("TB_NPU_MEMORY_MB"):
        logger.warning("TB_NPU_MEMORY_MB is not a positive integer; using half of the available memory")
    return min([*_of_machine(root), *_of_groups(root)], default=UNKNOWN_BYTES) // 2


def _of_machine(root: Path) -> Iterator[int]:
    with suppress(OSError):
        found = re.search(r"^MemAvailable:\s+(\d+) kB", (root / "proc/meminfo").read_text(), re.MULTILINE)
        if found:
            yield int(found.group(1)) * 1024


def _of_groups(root: Path) -> Iterator[int]:
    """Bytes left in each cgroup (version 1 or 2) of this process and in its parents."""
    try:
        lines = (root / "proc/self/cgroup").read_text().splitlines()
    except OSError:
        return
    for line in lines:
        _, controllers, path = line.split(":", 2)
        if controllers == "":
            base, names = root / "sys/fs/cgroup", ("memory.max", "memory.current")
        elif "memory" in controllers.split(","):
            base, names = root / "sys/fs/cgroup/memory", ("memory.limit_in_bytes", "memory.usage_in_bytes")
        else:
            continue
        inner = base / path.lstrip("/")
        for folder in (inner, *inner.parents):
            with suppress(OSError, ValueError):  # the group is not visible in this namespace, or "max": no limit
                limit, used = (int((folder / name).read_text()) for name in names)
                yield max(0, limit - used + _reclaimable(folder))
            if folder == base:
                break


def _reclaimable(folder: Path) -> int:
    """Bytes of page cache that a group counts as used but frees on demand."""
    with suppress(OSError):
        found = re.findall(r"^(?:total_)?inactive_file (\d+)$", (folder / "memory.stat").read_text(), re.MULTILINE)
        return max(map(int, found), default=0)
    return 0
