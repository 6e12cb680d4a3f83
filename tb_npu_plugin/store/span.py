"""A span with its read data: model.SpanData over cache entries."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import duckdb
import msgspec

from tb_npu_plugin.analysis.kernels.meaning import with_meaning
from tb_npu_plugin.analysis.steps.marks import with_steps_of
from tb_npu_plugin.discovery.model import FoundSpan, Place, label_of
from tb_npu_plugin.model import Capture, StageCost
from tb_npu_plugin.printable import package_logger
from tb_npu_plugin.problems import Problem, list_places, merge_problems, problem_of
from tb_npu_plugin.refusal import raise_if_refused
from tb_npu_plugin.schema.core import Stage
from tb_npu_plugin.schema.formats import FORMATS
from tb_npu_plugin.schema.registry import file_of
from tb_npu_plugin.seen import SeenFiles
from tb_npu_plugin.store.cache.disk import Entry
from tb_npu_plugin.store.cache.memory import MemoryCache
from tb_npu_plugin.store.labels import span_label, utc_offset_minutes
from tb_npu_plugin.store.pool.ledger import stage_cost
from tb_npu_plugin.store.stages import SHORT_FILE, TABLES_FILE, TIMELINE_FOLDER
from tb_npu_plugin.store.tables.database import read_table
from tb_npu_plugin.store.tables.index import StoredTable, shown_tables, stored_in
from tb_npu_plugin.store.tables.short import read_short
from tb_npu_plugin.tables import Table

if TYPE_CHECKING:
    from tb_npu_plugin.store.timeline.open import Timeline

logger = package_logger(__name__)


class Span:
    """Implements model.SpanData and gives the timeline. Thread-safe.

    Args:
        tables, trace: Cache entries of the two stages; None while a stage is not read.
        problems: Problems that the library adds to those of the scan and of both stages.
        memory: Cache of loaded tables and open timelines.
        preview: Folder of a timeline of the trace's beginning, used while `trace` is None.
    """

    def __init__(
        self,
        place: Place,
        tables: Entry | None,
        trace: Entry | None,
        problems: Sequence[Problem] = (),
        memory: MemoryCache | None = None,
        preview: Path | None = None,
    ) -> None:
        self.place = place
        self.token = place.span.token
        self.worker_label = place.worker.label
        self.run_label = label_of(place.run, place.worker.role)
        self.path = place.span.path
        self.sizes = {file.relative: file.size for file in place.span.files}
        self.format = place.span.format
        self.unread = place.span.unread
        self.files = tuple(file.relative for file in place.span.files)
        self.kinds = {file.relative: file.name for file in place.span.files}
        self._tables = tables
        self._trace = trace
        self._preview = preview if trace is None else None
        self._memory = memory or MemoryCache()
        self._damage: list[Problem] = []
        entries = [entry for entry in (tables, trace) if entry is not None]
        read = ([Problem.from_json(item) for item in entry.meta["problems"]] for entry in entries)
        self._problems = merge_problems(
            [*place.span.notes, *problems], *read, problems_between(place.span, tables, trace)
        )
        self.capture = self._capture()
        self._shown = shown_tables(tables, trace)

    @property
    def label(self) -> str:
        """Start time and steps, see span_label."""
        return span_label(self.place.span, self._tables.meta if self._tables else None)

    @property
    def problems(self) -> Sequence[Problem]:
        """Problems met while reading."""
        return merge_problems(self._problems, self._damage)

    @property
    def base_ns(self) -> int:
        """Time origin in ns since the epoch: the earliest time in the tables, or in the trace where no table has times.
        Tables come first so that the origin on the screen does not move when the trace is read."""
        start = self._tables.meta.get("start_ns") if self._tables else None
        if start is not None:
            return int(start)
        return int(self._trace.meta["base_ns"]) if self._trace and self._trace.meta["timeline"] else 0

    @property
    def costs(self) -> Sequence[StageCost]:
        """What reading each stage cost."""
        found = (stage_cost(entry.meta) for entry in (self._tables, self._trace) if entry is not None)
        return [cost for cost in found if cost is not None]

    @property
    def seen(self) -> SeenFiles:
        """What the read files held, and what came of it."""
        return SeenFiles.from_json(*(entry.meta["seen"] for entry in (self._tables, self._trace) if entry is not None))

    def rows(self, table: str) -> int | None:
        """Row count of a logical table; None when its file is missing or not read."""
        found = self._shown.get(table)
        return None if found is None else found.rows

    def table(self, table: str) -> Table | None:
        """A logical table; None when its file is missing. A damaged cache file gives None and a Problem. Raises Refused."""
        found = self._shown.get(table)
        if found is None:
            return None
        folder = found.entry.folder
        try:
            return self._memory.tables.get((folder.name, found.name), lambda: self._load(found))
        except (duckdb.Error, OSError, ValueError, KeyError) as error:
            raise_if_refused(error)
            self._note_damage(folder, table, error)
            return None

    def source(self, table: str) -> str:
        """Name of the file that a logical table was read from; where it is missing, the expected file."""
        found = self._shown.get(table)
        if found is not None and found.files:
            return next(iter(found.files))
        expected, traces = file_of(table, self.format), self.place.span.trace_files
        return traces[0].relative.rpartition("/")[2] if expected.in_trace and traces else expected.name

    def rows_by_file(self, table: str) -> Mapping[str, int]:
        """Rows of a logical table by the name of the file that they came from; empty where the table is missing."""
        found = self._shown.get(table)
        return {} if found is None else found.files or {self.source(table): found.rows}

    def _load(self, stored: StoredTable) -> Table | None:
        if stored.where == "timeline":
            timeline = self.timeline
            return None if timeline is None else timeline.operators()
        if stored.where == "short":
            found = read_short(stored.entry.folder / SHORT_FILE, stored.name)
        else:
            found = read_table(stored.entry.folder / TABLES_FILE, stored.name, self._memory)
        if found is None or stored.name not in ("kernels", "comm_ops"):
            return found
        if stored.entry is self._tables and "engine_iterations" in self._shown:
            of_trace = stored_in(self._trace).get(stored.name)
            launched = self._load(of_trace) if of_trace is not None else None
            found = with_steps_of(found, launched) if launched else found
        return with_meaning(found) if stored.name == "kernels" else found

    @property
    def damaged(self) -> bool:
        """Whether a cache entry proved unusable, so that its stage must be read again."""
        entries = [entry for entry in (self._tables, self._trace) if entry is not None]
        return bool(self._damage) or any(entry.folder / TABLES_FILE in self._memory.damaged for entry in entries)

    @property
    def timeline(self) -> Timeline | None:
        """The timeline, or the preview while the trace is read; None without a trace, or if neither exists. Raises Refused."""
        from tb_npu_plugin.store.timeline.open import Timeline

        has_timeline = self._trace is not None and self._trace.meta["timeline"]
        if not has_timeline and self._preview is None:
            return None

        def open_timeline() -> Timeline:
            folder = self._trace.folder / TIMELINE_FOLDER if has_timeline and self._trace else self._preview
            assert folder is not None
            return Timeline.open(folder, self.place.span.folder / self.place.span.trace_files[0].relative)

        try:
            return self._memory.timelines.get(self.trace_version, open_timeline)
        except (OSError, ValueError, KeyError) as error:
            raise_if_refused(error)
            if self._trace is not None:  # a preview may have been replaced meanwhile
                self._note_damage(self._trace.folder, "trace", error)
            return None

    @property
    def entries(self) -> dict[Stage, str]:
        """Name of the cache entry of each stage that is read."""
        found: dict[Stage, Entry | None] = {"tables": self._tables, "trace": self._trace}
        return {stage: entry.folder.name for stage, entry in found.items() if entry is not None}

    @property
    def tables_version(self) -> str:
        """Name of the tables' cache entry; "" without one."""
        return self._tables.folder.name if self._tables is not None else ""

    @property
    def trace_version(self) -> str:
        """Name of the cache entry or preview that `timeline` shows; "" without one."""
        if self._trace is not None:
            return self._trace.folder.name
        return self._preview.name if self._preview is not None else ""

    def _note_damage(self, folder: Path, table: str, error: Exception) -> None:
        logger.warning("cache entry %s: %s", folder, error)
        self._damage.append(problem_of("damaged_cache", "", table, found=str(error)[:200]))

    def _capture(self) -> Capture:
        """Capture settings of the files; folder names supply what the files lack."""
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
    """Capture settings as the files record them."""
    return msgspec.convert(tables.meta["capture"], Capture)


# The first conversion to a class initialises it, and crashes if two threads do so concurrently (msgspec 0.22).
msgspec.convert({}, Capture)


def problems_between(span: FoundSpan, tables: Entry | None, trace: Entry | None) -> list[Problem]:
    """Problems that only the tables and the trace together show: of an NPU, device rows that are missing."""
    if tables is None or trace is None or not trace.meta["timeline"] or FORMATS[span.format].device != "NPU":
        return []
    file, capture = span.trace_files[0].relative, tables.meta["capture"]
    if not trace.meta["has_device"] and tables.meta["tables"].keys().isdisjoint(("kernels", "step_trace")):
        is_off = "NPU" not in (capture["activities"] or ("NPU",)) or (capture["level"] or "").lower().endswith("none")
        return [] if is_off else [problem_of("no_device_rows", file)]
    steps = tables.meta["steps"] or trace.meta["steps"]
    lost = [step for step in trace.meta["marks"] if step not in steps]
    return [problem_of("no_device_steps", file, steps=list_places(lost), times=len(lost))] if steps and lost else []
