"""The two stages of reading a span, and the line protocol between the pool and its workers.

One request a line goes to the worker's stdin; it answers with lines on stdout:
{"file": name, "bytes": read so far} now and then, {"preview": folder} where there is something to show meanwhile, and
at the end {"meta": {...}} or {"failed": text, "trace": traceback}.
"""

from __future__ import annotations

import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from tb_npu_plugin.discovery.model import FoundFile, FoundSpan
from tb_npu_plugin.schema.core import Stage
from tb_npu_plugin.schema.formats import TORCH_NPU

STAGES: tuple[Stage, ...] = ("tables", "trace")
#: Tables of up to so many rows stand in SHORT_FILE (store/tables/short.py), the others in TABLES_FILE.
SHORT_ROWS = 50_000
SHORT_FILE = "tables.bin"
TABLES_FILE = "tables.duckdb"
TIMELINE_FOLDER = "timeline"
#: A file that changed this short a time ago may still be written, in ns.
SETTLED_AFTER = 2_000_000_000


@dataclass(frozen=True)
class Request:
    """What a worker is to do: read `files` of `folder`, a result of a format, and write what they hold into `out`.
    part: see discovery.found.Found."""

    stage: Stage
    folder: Path
    files: tuple[FoundFile, ...]
    out: Path
    format: str = TORCH_NPU.id
    part: str = ""

    def as_json(self) -> dict[str, Any]:
        """One line of the protocol."""
        files = [asdict(file) for file in self.files]
        return {
            "stage": self.stage,
            "folder": str(self.folder),
            "files": files,
            "out": str(self.out),
            "format": self.format,
            "part": self.part,
        }

    @staticmethod
    def from_json(value: dict[str, Any]) -> Request:
        """Inverse of `as_json`."""
        files = tuple(FoundFile(**{**file, "stages": tuple(file["stages"])}) for file in value["files"])
        return Request(value["stage"], Path(value["folder"]), files, Path(value["out"]), value["format"], value["part"])


def files_of(span: FoundSpan, stage: Stage) -> tuple[FoundFile, ...]:
    """The files that a stage reads: the trace, or everything else, small ones first."""
    return span.trace_files if stage == "trace" else span.table_files


def stages_of(span: FoundSpan) -> tuple[Stage, ...]:
    """The stages that a span has. The tables stage also tells how it was recorded, so it is always there."""
    return STAGES if span.has_trace else ("tables",)


def is_settled(files: tuple[FoundFile, ...], now_ns: int | None = None) -> bool:
    """No file changed so short a time ago that it may still be being written."""
    now = time.time_ns() if now_ns is None else now_ns
    return all(not 0 <= now - file.mtime_ns < SETTLED_AFTER for file in files)
