"""The two stages of reading a span, and the line protocol between the pool and its workers.

The pool writes one request per line to the worker's stdin. The worker answers with JSON lines on stdout:
{"file": name, "bytes": read so far}   progress, repeated
{"preview": folder}                    a preview to show meanwhile
{"meta": {...}}                        last line on success
{"failed": text, "trace": traceback}   last line on failure
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import msgspec

from tb_npu_plugin.discovery.model import FoundFile, FoundSpan
from tb_npu_plugin.schema.core import Stage
from tb_npu_plugin.schema.formats import TORCH_NPU

#: Of the reading of a stage; "cancelled" lasts until the user resumes it. "new": not requested, or its entry was removed.
JobState = Literal["waiting", "reading", "ready", "failed", "cancelled"]
StageState = Literal[JobState, "new"]
STAGES: tuple[Stage, ...] = ("tables", "trace")
#: Tables of at most this many rows are in SHORT_FILE (store/tables/short.py), longer ones in TABLES_FILE.
SHORT_ROWS = 50_000
SHORT_FILE = "tables.bin"
TABLES_FILE = "tables.duckdb"
TIMELINE_FOLDER = "timeline"
#: A file that changed less than this many ns ago may still be written.
SETTLED_AFTER = 2_000_000_000


@dataclass(frozen=True)
class Request:
    """A request to a worker: read `files` of the result `folder` and write the stage's entry into `out`.
    part: see discovery.found.Found. rebuild: build the tables of
    the device from the trace, see FoundSpan.lacks_kernels."""

    stage: Stage
    folder: Path
    files: tuple[FoundFile, ...]
    out: Path
    format: str = TORCH_NPU.id
    part: str = ""
    rebuild: bool = False

    def as_json(self) -> dict[str, Any]:
        """One line of the protocol."""
        found: dict[str, Any] = msgspec.to_builtins(self, enc_hook=str)
        return found

    @staticmethod
    def from_json(value: dict[str, Any]) -> Request:
        """Inverse of `as_json`."""
        return msgspec.convert(value, Request, dec_hook=lambda kind, text: kind(text))


def files_of(span: FoundSpan, stage: Stage) -> tuple[FoundFile, ...]:
    """The files that a stage reads: the trace, or everything else, small ones first."""
    return span.trace_files if stage == "trace" else span.table_files


def stages_of(span: FoundSpan) -> tuple[Stage, ...]:
    """The stages that a span has. Every span has "tables", which also reads the capture settings."""
    return STAGES if span.has_trace else ("tables",)


def is_settled(files: tuple[FoundFile, ...], now_ns: int | None = None) -> bool:
    """Whether no file changed less than SETTLED_AFTER ago."""
    now = time.time_ns() if now_ns is None else now_ns
    return all(not 0 <= now - file.mtime_ns < SETTLED_AFTER for file in files)
