"""How much memory reading may take, and about how much a stage takes."""

from __future__ import annotations

import logging
import os
import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path

from tb_npu_plugin.discovery.model import FoundFile

logger = logging.getLogger(__name__)

#: What a worker takes before it has read anything: the interpreter, numpy, DuckDB.
WORKER_BYTES = 150 << 20
#: Bytes of memory for each byte of a file; of a table in JSON, which is decoded as a whole.
PER_BYTE = 0.5
PER_JSON_BYTE = 8
#: A packed trace is about this much smaller than what is in it.
PACKED = 12
#: Where nothing tells how much there is.
UNKNOWN_BYTES = 2 << 30
_MEBIBYTE = 1 << 20


def needed(files: Sequence[FoundFile]) -> int:
    """About how many bytes of memory it takes to read these files."""
    sizes = (unpacked_bytes((file,)) * (PER_JSON_BYTE if _is_decoded(file) else PER_BYTE) for file in files)
    return WORKER_BYTES + int(sum(sizes))


def unpacked_bytes(files: Sequence[FoundFile]) -> int:
    """About how many bytes are in these files."""
    return sum(file.size * (PACKED if file.relative.endswith(".gz") else 1) for file in files)


def _is_decoded(file: FoundFile) -> bool:
    """A table in JSON."""
    return file.relative.endswith((".json", ".json.gz")) and not file.is_trace


def requested_memory() -> int | None:
    """TB_NPU_MEMORY_MB in bytes; None where it is not set, or is no number above 0."""
    asked = os.environ.get("TB_NPU_MEMORY_MB", "")
    return int(asked) * _MEBIBYTE if asked.isdecimal() and int(asked) > 0 else None


def memory_budget(root: Path = Path("/")) -> int:
    """Bytes that all workers together may take: TB_NPU_MEMORY_MB, else half of what is available now on the machine
    and in the cgroups of this process. `root` holds proc and sys."""
    asked = requested_memory()
    if asked is not None:
        return asked
    if os.environ.get("TB_NPU_MEMORY_MB"):
        logger.warning("TB_NPU_MEMORY_MB is no number above 0; using half of the available memory")
    return min([*_of_machine(root), *_of_groups(root)], default=UNKNOWN_BYTES) // 2


def _of_machine(root: Path) -> Iterator[int]:
    with suppress(OSError):
        found = re.search(r"^MemAvailable:\s+(\d+) kB", (root / "proc/meminfo").read_text(), re.MULTILINE)
        if found:
            yield int(found.group(1)) * 1024


def _of_groups(root: Path) -> Iterator[int]:
    """What is left in each control group that limits this process, version 1 or 2, and in those above it."""
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
            with suppress(OSError, ValueError):  # no such group is seen from here, or "max": no limit
                limit, used = (int((folder / name).read_text()) for name in names)
                yield max(0, limit - used + _reclaimable(folder))
            if folder == base:
                break


def _reclaimable(folder: Path) -> int:
    """Bytes of the page cache that a group counts as used, but gives back when they are needed."""
    with suppress(OSError):
        found = re.findall(r"^(?:total_)?inactive_file (\d+)$", (folder / "memory.stat").read_text(), re.MULTILINE)
        return max(map(int, found), default=0)
    return 0
