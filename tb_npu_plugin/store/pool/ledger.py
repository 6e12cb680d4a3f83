"""What a worker spends on each file and on a stage, for meta.json of the entry and Doctor."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import msgspec

from tb_npu_plugin.model import Cost, StageCost
from tb_npu_plugin.schema.core import Stage
from tb_npu_plugin.store.pool.limits import Limits

_PROCESS = Path("/proc/self")
#: What to write into clear_refs to begin a new peak.
_NEW_PEAK = "5"
_PEAK = re.compile(r"^VmHWM:\s+(\d+) kB", re.MULTILINE)
_READ = re.compile(r"^rchar: (\d+)", re.MULTILINE)
_WRITTEN = re.compile(r"^wchar: (\d+)", re.MULTILINE)


@dataclass(frozen=True)
class _Reading:
    """Counters of this process: CPU seconds, bytes that it read and wrote. 0 where the system does not say."""

    cpu: float
    read: int
    written: int

    @staticmethod
    def now() -> _Reading:
        io = _text("io")
        return _Reading(time.process_time(), _number(_READ, io), _number(_WRITTEN, io))

    def since(self) -> Cost:
        """What was spent since then."""
        now = _Reading.now()
        return Cost(
            read_bytes=now.read - self.read,
            written_bytes=now.written - self.written,
            cpu_ms=round((now.cpu - self.cpu) * 1000),
            peak_bytes=_number(_PEAK, _text("status")) << 10,
            descriptors=_descriptors(),
        )


class Ledger:
    """The costs of one request."""

    def __init__(self, stage: Stage, limits: Limits) -> None:
        with suppress(OSError):  # else the peak of an earlier request counts, too
            (_PROCESS / "clear_refs").write_text(_NEW_PEAK)
        self._stage, self._limits, self._begin = stage, limits, _Reading.now()
        self._files: dict[str, Cost] = {}

    @contextmanager
    def file(self, relative: str) -> Iterator[None]:
        """Count what the block spends for a file."""
        begin = _Reading.now()
        try:
            yield
        finally:
            self._files[relative] = begin.since()

    def as_json(self) -> dict[str, Any]:
        """What was spent so far, as `stage_cost` takes it."""
        limits = self._limits
        total = self._begin.since()
        return asdict(
            StageCost(self._stage, total, limits.memory, limits.output, round(limits.cpu * 1000), self._files)
        )


def stage_cost(meta: dict[str, Any]) -> StageCost | None:
    """The costs of an entry; None where its meta has none."""
    found = meta.get("cost")
    return msgspec.convert(found, StageCost) if isinstance(found, dict) else None


def _text(name: str) -> str:
    try:
        return (_PROCESS / name).read_text()
    except OSError:
        return ""


def _number(pattern: re.Pattern[str], text: str) -> int:
    found = pattern.search(text)
    return int(found.group(1)) if found else 0


def _descriptors() -> int:
    try:
        return len(list((_PROCESS / "fd").iterdir())) - 1  # without that of the listing
    except OSError:
        return 0
