"""A span that was read: model.SpanData over cache entries."""

from __future__ import annotations

import dataclasses
import logging
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import duckdb
import msgspec

from tb_npu_plugin.discovery.model import Place
from tb_npu_plugin.messages import Message
from tb_npu_plugin.model import Capture
from tb_npu_plugin.problems import Problem, merge_problems
from tb_npu_plugin.schema.registry import file_of
from tb_npu_plugin.store.cache.disk import Entry
from tb_npu_plugin.store.cache.memory import Memory
from tb_npu_plugin.store.labels import span_label, utc_offset_minutes
from tb_npu_plugin.store.stages import SHORT_FILE, SHORT_ROWS, TABLES_FILE, TIMELINE_FOLDER
from tb_npu_plugin.store.tables.database import read_table
from tb_npu_plugin.store.tables.short import read_short
from tb_npu_plugin.tables import Table

if TYPE_CHECKING:
    from tb_npu_plugin.store.timeline.open import Timeline

#: Logical table of calls of operators without times.
NAMED_ONLY = "operator_shapes"
logger = logging.getLogger(__name__)


class Span:
    """Implements model.SpanData; and the timeline. Thread-safe.

    tables, trace   cache entries of the two stages; None while a stage is not read
    problems        of the scan, of both stages, and what the library adds
    memory          where loaded tables and open timelines stay
    preview         folder of a timeline of the trace's beginning, which stands in while `trace` is not there
    """

    def __init__(
        self,
        place: Place,
        tables: Entry | None,
        trace: Entry | None,
        problems: Sequence[Problem] = (),
        memory: Memory | None = None,
        preview: Path | None = None,
    ) -> None:
        self.place = place
        self.token = place.span.token
        self.worker_label = place.worker.label
        self.run_label = place.run.label
        self.path = place.span.path
        self.sizes = {file.relative: file.size for file in place.span.files}
        self.format = place.span.format
        self.unread = place.span.unread
        self.files = tuple(file.relative for file in place.span.files)
        self._tables = tables
        self._trace = trace
        self._preview = preview if trace is None else None
        self._memory = memory or Memory()
        self._damage: list[Problem] = []
        entries = [entry for entry in (tables, trace) if entry is not None]
        read = ([Problem.from_json(item) for item in entry.meta["problems"]] for entry in entries)
        self._problems = merge_problems([*place.span.notes, *problems], *read)
        self.capture = self._capture()

    @property
    def label(self) -> str:
        """When it was recorded and which steps."""
        return span_label(self.place.span, self._tables.meta if self._tables else None)

    @property
    def problems(self) -> Sequence[Problem]:
        """What was lost while reading."""
        return merge_problems(self._problems, self._damage)

    @property
    def base_ns(self) -> int:
        """The earliest time in the tables; of the trace only where no table has one, so that the origin of what is
        on the screen does not move when the trace is read."""
        start = self._tables.meta.get("start_ns") if self._tables else None
        if start is not None:
            return int(start)
        return int(self._trace.meta["base_ns"]) if self._trace and self._trace.meta["timeline"] else 0

    def rows(self, table: str) -> int | None:
        """Row count of a logical table; None when its file is not there or not read."""
        count = self._tables.meta["rows"].get(table) if self._tables else None
        if count is None and self._trace is not None:
            count = self._trace.meta["rows"].get(table)
        if count is None and table == "operators":
            count = self.rows(NAMED_ONLY)
        return None if count is None else int(count)

    def table(self, table: str) -> Table | None:
        """A logical table; None when its file is not there. Some come from the trace where only that is there;
        without it operators may be known by name, without any time. A damaged cache file gives None and a Problem."""
        entry = next(
            (one for one in (self._tables, self._trace) if one is not None and table in one.meta["rows"]), None
        )
        if entry is None:
            return self.table(NAMED_ONLY) if table == "operators" else None
        folder = entry.folder
        try:
            return self._memory.tables.get((folder.name, table), lambda: self._load(entry, table))
        except (duckdb.Error, OSError, ValueError, KeyError) as error:
            self._note_damage(folder, table, error)
            return None

    def source(self, table: str) -> str:
        """Name of the file that a logical table was read from; of that it would be read from where there is none."""
        read = self._tables.meta.get("sources", {}) if self._tables is not None else {}
        if table in read:
            return str(read[table])
        found = file_of(table, self.format)
        if (self._trace is not None and table in self._trace.meta["rows"]) or found.in_trace:
            return self.place.span.trace_files[0].name
        if table == "operators" and NAMED_ONLY in read:
            return str(read[NAMED_ONLY])
        return found.name

    def rows_by_file(self, table: str) -> Mapping[str, int]:
        """Names of the files that a logical table was read from, and the rows that each gave; none where it is not there."""
        rows = self.rows(table)
        if rows is None:
            return {}
        parts: dict[str, int] | None = self._tables.meta.get("parts", {}).get(table) if self._tables else None
        return parts or {self.source(table): rows}

    def _load(self, entry: Entry, table: str) -> Table | None:
        if entry is self._trace and not entry.meta["stored"]:  # the timeline has them
            timeline = self.timeline
            return None if timeline is None else timeline.operators()
        if entry.meta["rows"][table] <= SHORT_ROWS:
            return read_short(entry.folder / SHORT_FILE, table)
        return read_table(entry.folder / TABLES_FILE, table, self._memory)

    @property
    def damaged(self) -> bool:
        """The cache entry turned out to be unusable; it has to be read again."""
        entries = [entry for entry in (self._tables, self._trace) if entry is not None]
        return bool(self._damage) or any(entry.folder / TABLES_FILE in self._memory.damaged for entry in entries)

    @property
    def timeline(self) -> Timeline | None:
        """The timeline; of the trace's beginning while it is read. None when there is no trace, or nothing of it is
        read, or it could not be."""
        from tb_npu_plugin.store.timeline.open import Timeline

        if self._trace is not None and self._trace.meta["timeline"]:
            folder = self._trace.folder / TIMELINE_FOLDER
        elif self._preview is not None:
            folder = self._preview
        else:
            return None
        source = self.place.span.trace_files[0].relative
        trace = self.place.span.folder / source
        try:
            return self._memory.timelines.get(self.trace_version, lambda: Timeline.open(folder, trace))
        except (OSError, ValueError, KeyError) as error:
            if self._trace is not None:  # a preview goes when there is something better
                self._note_damage(self._trace.folder, "trace", error)
            return None

    @property
    def tables_version(self) -> str:
        """Which reading of the tables this is; "" without one."""
        return self._tables.folder.name if self._tables is not None else ""

    @property
    def trace_version(self) -> str:
        """Which reading of the trace `timeline` shows; "" without one."""
        if self._trace is not None:
            return self._trace.folder.name
        return self._preview.name if self._preview is not None else ""

    def _note_damage(self, folder: Path, table: str, error: Exception) -> None:
        logger.warning("cache entry %s: %s", folder, error)
        self._damage.append(_damaged(table, str(error)))

    def _capture(self) -> Capture:
        """How it was recorded; what the files do not tell is taken from the folders' names."""
        capture = recorded_capture(self._tables) if self._tables else Capture()
        worker, identity = self.place.worker, self.place.span.identity
        return dataclasses.replace(
            capture,
            rank=worker.rank if capture.rank is None else capture.rank,
            rank_source=capture.rank_source or worker.rank_source,
            worker_name=capture.worker_name or identity.worker_name,
            host=capture.host or worker.host,
            pid=worker.pid if capture.pid is None else capture.pid,
            utc_offset_minutes=utc_offset_minutes(identity.time, capture.start_ns or self.base_ns),
        )


def recorded_capture(tables: Entry) -> Capture:
    """How a span was recorded, as its files say."""
    return msgspec.convert(tables.meta["capture"], Capture)


# The first conversion to a class prepares it, and crashes when two threads do so at once (msgspec 0.22).
msgspec.convert({}, Capture)


def _damaged(table: str, found: str) -> Problem:
    return Problem(
        "damaged_cache",
        "",
        table,
        Message("expected.cache_entry"),
        found[:200],
        Message("lost.cached_table"),
        Message("action.reload_entry"),
    )
