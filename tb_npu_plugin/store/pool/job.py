"""One piece of reading work: one stage of one span."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from tb_npu_plugin.discovery.model import FoundFile
from tb_npu_plugin.messages import Message, cut
from tb_npu_plugin.problems import Problem
from tb_npu_plugin.schema.core import Stage
from tb_npu_plugin.schema.formats import TORCH_NPU
from tb_npu_plugin.store.stages import STAGES

#: Before this no rate is told: it would be noise. In seconds.
RATE_AFTER = 0.5
#: Files of a span that are left out, at most, when they take too much.
MOST_SKIPPED = 3

JobState = Literal["waiting", "reading", "ready", "failed", "cancelled"]


@dataclass(frozen=True)
class Preview:
    """A complete timeline of the first `bytes` of a trace, to show while the rest is read. Its folder's name is unique;
    the folder goes when another one takes its place, but whoever has its files open keeps them."""

    folder: Path
    bytes: int


@dataclass(eq=False)
class Job:
    """One stage of one span to read. Written by one thread of the pool, read by all."""

    key: str
    span: str
    stage: Stage
    folder: Path
    files: tuple[FoundFile, ...]
    urgent: bool = False
    state: JobState = "waiting"
    file: str = ""
    bytes_done: int = 0
    message: str = ""
    started: float = 0.0
    problems: list[Problem] = field(default_factory=list)
    preview: Preview | None = None
    format: str = TORCH_NPU.id
    part: str = ""
    worker: str = ""
    #: Why files were left out that ended the worker, by file.
    skipped: dict[str, Problem] = field(default_factory=dict)
    #: When one that failed may be tried again by itself, by time.monotonic.
    retry_at: float = math.inf

    @property
    def files_to_read(self) -> tuple[FoundFile, ...]:
        """All but those that were left out."""
        return tuple(file for file in self.files if file.relative not in self.skipped)

    def can_skip(self, file: str) -> bool:
        """Whether a file may be left out: it is one of several, and not too many were."""
        others = [one.relative for one in self.files_to_read if one.relative != file]
        return self.stage == "tables" and 0 < len(others) < len(self.files_to_read) and len(self.skipped) < MOST_SKIPPED

    @property
    def lost(self) -> str:
        """What is lost when it fails."""
        return Message("lost.trace") if self.stage == "trace" else Message("lost.all_but_trace")

    def problem_of(self, code: str, found: str, action: str) -> Problem:
        """Why all of it could not be read."""
        return Problem(code, "", "", Message("expected.complete_reading"), cut(found, 300), self.lost, action)

    @property
    def bytes_total(self) -> int:
        """Bytes of the files to read."""
        return sum(file.size for file in self.files)

    @property
    def rate(self) -> float | None:
        """Bytes per second so far."""
        spent = time.monotonic() - self.started
        return self.bytes_done / spent if self.state == "reading" and spent > RATE_AFTER and self.bytes_done else None

    @property
    def eta(self) -> float | None:
        """Seconds to the end at this rate."""
        rate = self.rate
        return None if rate is None else max(0.0, (self.bytes_total - self.bytes_done) / rate)

    def order(self) -> tuple[bool, int, int]:
        """What somebody looks at goes first, tables before traces, small before large."""
        return (not self.urgent, STAGES.index(self.stage), self.bytes_total)

    def begin(self) -> None:
        """It is read from its beginning, now."""
        self.state, self.started = "reading", time.monotonic()
        self.file, self.bytes_done = "", 0
