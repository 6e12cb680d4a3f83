"""The memory budget of all workers, and estimates of what a stage needs."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path

from tb_npu_plugin.discovery.model import FoundFile
from tb_npu_plugin.printable import package_logger

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
