"""Questions about one slice of the first source. Their times are those of its own clock, ns after its base."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, Optional, TypedDict, cast

import numpy as np

from tb_npu_plugin.errors import BadRequest
from tb_npu_plugin.messages import Message
from tb_npu_plugin.model import SpanData
from tb_npu_plugin.schema.torch_npu_csv import TENSORS
from tb_npu_plugin.server.timeline.ask import Answer, Ask, Download, Format, IsGone, csv_of, page_of
from tb_npu_plugin.server.timeline.rows import shown_layers
from tb_npu_plugin.server.timeline.sources import Source, Sources, Whole, check_slice
from tb_npu_plugin.service.collective import collective_tasks, find_collective
from tb_npu_plugin.store.timeline.chain import chain
from tb_npu_plugin.store.timeline.contract import FlowsJson, KernelFactsJson, SliceJson
from tb_npu_plugin.store.timeline.descent import (
    COLLECTIVE_COLUMNS,
    Index,
    collective_table,
    descent,
    is_host,
    neighbours,
    nested_table,
    queue_position,
    task_table,
)
from tb_npu_plugin.store.timeline.matches import Placed
from tb_npu_plugin.store.timeline.open import Timeline
from tb_npu_plugin.store.timeline.repacked import Repacked, places_of
from tb_npu_plugin.store.timeline.stats import find
from tb_npu_plugin.tables import StringColumn, empty, known
from tb_npu_plugin.views.base import TableJson, ViewTable
from tb_npu_plugin.views.table_query import TableQuery
from tb_npu_plugin.views.tables_json import to_csv

# Facts of the kernel table about a device slice; the trace has neither core nor shapes.

#: Maximum difference of a start between the files, in ns: both write microseconds with three decimals.
_ROUNDING = 1
#: Columns of the table that the response holds.
_FACTS = ("step", "type", "core", "wait_ns", "block_dim", "mix_block_dim", *TENSORS, "bound")


def kernel_facts(span: SpanData, name: str, start_ns: int) -> KernelFactsJson | None:
    """The table row of the kernel with this name and start (ns since the epoch); None without one."""
    table = span.table("kernels")
    if table is None:
        return None
    start, names = table.ints("start_ns"), table.text("name")
    near = np.flatnonzero(known(start) & (np.abs(start - start_ns) <= _ROUNDING))
    row = next((index for index in near.tolist() if names[index] == name), None)
    if row is None:
        return None
    found = table.loaded(np.asarray([row]))
    facts: Any = {"source": span.source("kernels")}
    for key in _FACTS:
        facts[key] = _value(found.data[key]) if found.has(key) else None
    return cast(KernelFactsJson, facts)


def _value(column: Any) -> Any:
    if isinstance(column, StringColumn):
        return column[0]
    return int(column[0]) if bool(known(column)[0]) else None


#: Maximum number of rows of each table.
MAX_DESCENT = 2_000


class FoundJson(TypedDict):
    """Answer to "find"."""

    id: Optional[int]
    """Number of the slice; null if none has the name."""


class DescentJson(TypedDict):
    """Answer to "descent": what a slice led to."""

    nested: TableJson
    """Slices nested in it on its thread, by start; of too many, those of the nearest levels. `total` counts all."""
    tasks: TableJson
    """Device tasks that it launched, or the tasks of a collective, by start; `total` counts all."""
    device_ns: int
    """Sum of the durations of all these tasks."""
    first: Optional[int]
    """Start of the first task."""
    last: Optional[int]
    """End of the last task."""
    is_collective: bool
    """Whether `tasks` are those of a collective."""
    is_host: bool
    """Whether it is a slice of the program or a CANN call: only these launch tasks."""
    queue: Optional[int]
    """Of a device task: tasks of its stream that were launched before it and had not begun at its launch. Null: unknown."""
    previous: Optional[int]
    """Slice of the track that starts before it."""
    next: Optional[int]
    """Slice of the track that starts after it."""


class CollectiveRankJson(TypedDict):
    """A source of the question."""

    state: Literal["ready", "unread", "stale", "none", "absent"]
    """ "unread": its trace or its tables are not read. "absent": it does not run the collective, or its trace lacks it."""
    slice: Optional[int]
    """The collective on this rank; null unless ready."""
    tasks: int
    """Number of its tasks."""


class CollectiveJson(TypedDict):
    """Answer to "collective"."""

    ranks: list[CollectiveRankJson]
    """In the order of the sources."""
    is_matched: bool
    """Whether the tables of the ranks match the collective. If not, only the rank of the slice is "ready"."""
    tasks: TableJson
    """Tasks of all ready ranks, by start after time 0; `total` counts all."""


class OfSlice(Ask, frozen=True, kw_only=True):
    """A question about a slice. id: its number among those of the layer."""

    id: Whole


class Slice(OfSlice, frozen=True, kw_only=True):
    """Details. shown: layers whose rows the page shows in place of those of the trace: they decide about place and neighbours."""

    shown: tuple[str, ...] = ()

    def answer(self, found: Sources, is_gone: IsGone) -> Answer:
        ref, timeline, others = found.refs[0], found[0].timeline, shown_layers(found, self.shown)
        detail = timeline.detail(check_slice(timeline, self.id))
        for other in others:
            detail["previous"], detail["next"] = other.neighbours(self.id) or (detail["previous"], detail["next"])
        detail["derived"] = found.service.layer(ref.span, ref.layer, ref.version).facts(self.id)
        if detail["derived"] is None:
            span = found.service.library.open(found.service.library.place(ref.span))
            detail["kernel"] = kernel_facts(span, detail["name"], int(detail["start_epoch_ns"]))
        _place(detail, timeline, others)
        return detail


class Flows(OfSlice, frozen=True, kw_only=True):
    """Flows that start or end at it. shown: as for "slice"."""

    shown: tuple[str, ...] = ()

    def answer(self, found: Sources, is_gone: IsGone) -> Answer:
        timeline, others = found[0].timeline, shown_layers(found, self.shown)
        flows = timeline.flows(check_slice(timeline, self.id))
        for flow in flows:
            _place(flow["from"], timeline, others)
            _place(flow["to"], timeline, others)
        answer: FlowsJson = {"flows": flows}
        return answer


def _place(answer: SliceJson, timeline: Timeline, others: Sequence[Repacked]) -> None:
    """Set track and depth of a slice to where the page shows it."""
    if others:
        track, depth = places_of(timeline, np.array([answer["id"]]), others)
        answer["track"], answer["depth"] = int(track[0]), int(depth[0])


class Chain(OfSlice, frozen=True, kw_only=True):
    """The slices that caused it."""

    def answer(self, found: Sources, is_gone: IsGone) -> Answer:
        return chain(found[0].timeline, check_slice(found[0].timeline, self.id))


class Descent(OfSlice, frozen=True, kw_only=True):
    """What it led to: the first MAX_DESCENT rows, or all its tasks as CSV."""

    format: Format = "json"

    def answer(self, found: Sources, is_gone: IsGone) -> Answer:
        timeline = found[0].timeline
        chosen = check_slice(timeline, self.id)
        led = descent(timeline, chosen, is_gone)
        if self.format == "csv":
            return Download(to_csv(ViewTable(task_table(timeline, led)), timeline.base_ns, TableQuery()))
        nested, count = nested_table(timeline, chosen, led, MAX_DESCENT)
        tasks = task_table(timeline, led, MAX_DESCENT)
        previous, following = neighbours(timeline, chosen)
        rows, end = timeline.rows, timeline.rows.start[led.tasks] + timeline.rows.dur[led.tasks]
        answer: DescentJson = {
            "nested": page_of("timeline.nested", nested, timeline.base_ns, total=count, sort="start"),
            "tasks": page_of("timeline.tasks", tasks, timeline.base_ns, total=len(led.tasks), sort="start"),
            "device_ns": int(rows.dur[led.tasks].sum()),
            "first": int(rows.start[led.tasks[0]]) if len(end) else None,
            "last": int(end.max()) if len(end) else None,
            "is_collective": led.is_collective,
            "is_host": is_host(timeline, chosen),
            "queue": queue_position(timeline, chosen),
            "previous": previous,
            "next": following,
        }
        return answer


class Collective(OfSlice, frozen=True, kw_only=True):
    """The tasks of a collective of the first source on all sources that run it. CSV: all tasks, starts in ns since the epoch by the
    clock of each rank."""

    format: Format = "json"

    def answer(self, found: Sources, is_gone: IsGone) -> Answer:
        span, timeline = found.refs[0].span, found[0].timeline
        chosen = check_slice(timeline, self.id)
        if not descent(timeline, chosen, is_gone).is_collective:
            raise BadRequest(Message("error.no_collective"), Message("hint.collective"))
        name, run = timeline.names[int(timeline.name[chosen])], found.service.strips([span])[span]
        starts = run.starts_of(span, name, timeline.base_ns + int(timeline.rows.start[chosen]))
        slices = [
            chosen if number == 0 else _same_collective(one, name, starts.get(one.ref.span))
            for number, one in enumerate(found.all)
        ]
        tasks: list[tuple[int, Placed, Index]] = [
            (number, source.placed, descent(source.placed.timeline, one, is_gone).tasks)
            for number, (source, one) in enumerate(zip(found.all, slices))
            if source.placed and one is not None
        ]
        if self.format == "csv":
            tables = (found.with_place(collective_table(one.timeline, ids), [number]) for number, one, ids in tasks)
            return csv_of(found.with_place(empty(COLLECTIVE_COLUMNS), [0]), tables)
        count = {number: len(ids) for number, _, ids in tasks}
        answer: CollectiveJson = {
            "ranks": [
                {
                    "state": "ready" if at in count else _state(source, starts, run.has(source.ref.span)),
                    "slice": one,
                    "tasks": count.get(at, 0),
                }
                for at, (source, one) in enumerate(zip(found.all, slices))
            ],
            "is_matched": bool(starts),
            "tasks": page_of(
                "timeline.collective", collective_tasks(tasks, MAX_DESCENT), 0, total=sum(count.values()), sort="start"
            ),
        }
        return answer


def _same_collective(source: Source, name: str, start: Optional[int]) -> Optional[int]:
    """The collective on a rank; None if it is not known there. start: ns since the epoch."""
    return find_collective(source.placed.timeline, name, start) if source.placed and start is not None else None


def _state(source: Source, starts: Mapping[str, int], has_tables: bool) -> Literal["unread", "stale", "none", "absent"]:
    """State of a rank without the collective."""
    if source.state != "ready" and (source.ref.span in starts or not has_tables):
        return source.state
    return "absent" if has_tables or not starts else "unread"


class Find(Ask, frozen=True, kw_only=True):
    """The slice of the first source that belongs to a table row: see stats.find. at: its start, ns after the base."""

    name: str
    at: Whole = 0

    def answer(self, found: Sources, is_gone: IsGone) -> Answer:
        answer: FoundJson = {"id": find(found[0].timeline, self.name, self.at)}
        return answer
