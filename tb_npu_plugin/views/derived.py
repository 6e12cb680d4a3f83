"""The layer of derived rows (analysis/derived): the same files, levels of detail and queries as that of a trace."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from tb_npu_plugin.analysis.derived.model import CounterRow, Row, SliceRow
from tb_npu_plugin.analysis.parts import Part
from tb_npu_plugin.messages import MessageJson, messages_of
from tb_npu_plugin.store.temporary import scratch
from tb_npu_plugin.store.timeline.arrows import save_arrows
from tb_npu_plugin.store.timeline.contract import DerivedFactsJson
from tb_npu_plugin.store.timeline.counters import track_fields
from tb_npu_plugin.store.timeline.curves import save_curves
from tb_npu_plugin.store.timeline.files import load, save, save_texts
from tb_npu_plugin.store.timeline.flows import Flows
from tb_npu_plugin.store.timeline.layer import Layer, LayerLabelJson
from tb_npu_plugin.store.timeline.levels import SliceColumns, save_levels
from tb_npu_plugin.store.timeline.open import META, Timeline
from tb_npu_plugin.store.timeline.rows import ROWS, RowTable
from tb_npu_plugin.tables import IntArray
from tb_npu_plugin.views.trace import ThreadJson, thread_json

#: Names of derived slices begin with this.
PREFIX = "derived:"


class DerivedRowJson(ThreadJson):
    """A row of the layer."""

    help: str
    """What it shows."""
    texts: dict[str, MessageJson]
    """Code and parameters of `name` and `help`."""


def name_of(row: str, part: str) -> str:
    """Name of the slices of a row (its id) with a part (its id)."""
    return f"{PREFIX}{row}/{part}"


@dataclass(frozen=True)
class Derived(Layer):
    """Derived rows: a track of `timeline` per row, first those of slices. trace: what they derive from."""

    rows: Sequence[Row]
    trace: Timeline

    @cached_property
    def parts(self) -> dict[str, Part]:
        """The parts by name of their slices."""
        return {name_of(row.id, one.id): one for row in self.rows if isinstance(row, SliceRow) for one in row.parts}

    @property
    def size(self) -> int:
        return self.timeline.slice_count + len(self.timeline.curves.time)

    def rows_json(self) -> list[DerivedRowJson]:
        return [_row_json(row, at, self.timeline.tracks[at]) for at, row in enumerate(self.rows)]

    def labels_json(self) -> list[LayerLabelJson]:
        return [
            {"name": name, "text": part.title, "color": part.color, "texts": messages_of({"text": part.title})}
            for name, part in self.parts.items()
        ]

    def facts(self, slice_id: int) -> DerivedFactsJson:
        row, place = self.row_of(slice_id)
        facts = row.facts_of(place)
        return {
            "lines": [line.as_json() for line in facts.lines],
            "related": [
                {"role": role, "texts": messages_of({"role": role}), "slice": self.trace.brief(found)}
                for role, found in facts.related
            ],
            "late_rank": facts.late_rank,
            "view": row.view,
        }

    def row_of(self, slice_id: int) -> tuple[SliceRow, int]:
        """(row, index in the row) of a slice."""
        track, _ = self.timeline.place(slice_id)
        row = self.rows[track]
        assert isinstance(row, SliceRow)
        return row, slice_id - int(self.timeline.rows.first[track])


def _row_json(row: Row, number: int, track: dict[str, Any]) -> DerivedRowJson:
    texts = messages_of({"name": row.title, "help": row.help})
    return {**thread_json(number, track), "help": row.help, "texts": texts}


def open_derived(rows: Sequence[Row], trace: Timeline) -> Derived:
    """The rows that are not empty as a layer of a trace.

    Its files are removed at once: what is mapped stays readable, and the memory stays free.
    """
    slices = [row for row in rows if isinstance(row, SliceRow) and len(row.start)]
    counters = [row for row in rows if isinstance(row, CounterRow) and len(row.time)]
    with tempfile.TemporaryDirectory(dir=scratch()) as path:
        folder = Path(path)
        found = _save_slices(folder, slices, len(counters))
        none = np.zeros(0, dtype=np.int64)
        flows = Flows(none, none, none.astype(np.int32), none, none, none, {})
        for name, values in (("source", none), ("target", none), ("kind", none), ("by_target", none)):
            save(folder, f"flow_{name}", values)
        meta: dict[str, Any] = {
            "base_ns": trace.base_ns,
            "end_ns": trace.end_ns,
            "tracks": [*map(_slice_track, slices), *_counter_tracks(counters)],
            "events": 0,
            "slices": len(found.start),
            "flow_kinds": [],
            "steps": [],
            "scanner": "",
            "source": "",
            "levels": save_levels(folder, SliceColumns.load(folder), found),
            "arrows": save_arrows(folder, flows, found),
            "curves": _save_counters(folder, counters),
        }
        (folder / META).write_text(json.dumps(meta), encoding="utf-8")
        timeline = Timeline.open(folder, folder)
        timeline.names.load()
    return Derived(timeline, [*slices, *counters], trace)


def _save_slices(folder: Path, rows: Sequence[SliceRow], counters: int) -> RowTable:
    """Write the columns of all slices."""
    names = list(dict.fromkeys(name_of(row.id, part.id) for row in rows for part in row.parts))
    place = {name: number for number, name in enumerate(names)}
    codes = [np.array([place[name_of(row.id, part.id)] for part in row.parts])[row.part] for row in rows]
    start, dur = _joined([row.start for row in rows]), _joined([row.end - row.start for row in rows])
    count = len(start)
    first = np.cumsum([0, *(len(row.start) for row in rows)])
    columns = {
        "start": start,
        "dur": dur,
        "self": dur,
        "busy": np.append(0, np.cumsum(dur)),
        "name": _joined(codes).astype(np.int32),
        "category": np.full(count, -1, dtype=np.int16),
        "parent": np.full(count, -1, dtype=np.int32),
        "waits": np.zeros(1, dtype=np.bool_),
        "args_offset": np.full(count, -1, dtype=np.int64),
        "args_length": np.zeros(count, dtype=np.uint32),
        "row_first": first,
        "track_row": np.append(np.arange(len(rows) + 1), np.full(counters, len(rows))),
    }
    for name, values in columns.items():
        save(folder, name, values)
    save_texts(folder, "names", names)
    save_texts(folder, "categories", [])
    return RowTable(*(load(folder, name) for name in ROWS))


def _save_counters(folder: Path, rows: Sequence[CounterRow]) -> list[tuple[int, int]]:
    """Write the points of all curves. Returns what save_curves does."""
    time = _joined([row.time for row in rows])
    value = np.concatenate([np.zeros(0), *(row.value for row in rows)])
    save(folder, "counter_time", time)
    save(folder, "counter_value", value)
    return save_curves(folder, time, value, np.cumsum([len(row.time) for row in rows], dtype=np.int64))


def _slice_track(row: SliceRow) -> dict[str, Any]:
    return {**_track(row, "slices"), "slices": len(row.start), "series": [], "unit": "", "max_value": None}


def _counter_tracks(rows: Sequence[CounterRow]) -> list[dict[str, Any]]:
    ends = np.cumsum([0, *(len(row.time) for row in rows)]).tolist()
    return [
        {
            **_track(row, "counter"),
            **track_fields([row.unit], row.value),
            "unit": row.unit,
            "slices": len(row.time),
            "series": [(row.title, number, ends[number], ends[number + 1])],
        }
        for number, row in enumerate(rows)
    ]


def _track(row: Row, kind: str) -> dict[str, Any]:
    return {"process": "", "pid": "", "label": "", "name": row.title, "tid": row.title, "kind": kind, "rows": 1}


def _joined(columns: Sequence[IntArray]) -> IntArray:
    return np.concatenate([np.zeros(0, dtype=np.int64), *columns])
