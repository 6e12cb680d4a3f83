"""Derived rows of the timeline: what they show, their numbers in requests, and the facts about a slice."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from tb_npu_plugin.analysis.communication.waiting import Waits
from tb_npu_plugin.analysis.derived import communication, peers
from tb_npu_plugin.analysis.derived.model import CounterRow, SliceRow
from tb_npu_plugin.analysis.derived.registry import derived_rows
from tb_npu_plugin.analysis.idle.of_span import idle_of
from tb_npu_plugin.errors import NotFound
from tb_npu_plugin.json_encoding import encode_json
from tb_npu_plugin.server.timeline.layers import step_marks
from tb_npu_plugin.tables import NULL_INT
from tb_npu_plugin.views.base import ViewInput
from tb_npu_plugin.views.derived import Derived, open_derived
from tb_npu_plugin.views.registry import VIEWS
from tests.conftest import FIXTURES
from tests.support.ask import ask, part
from tests.support.idle import GC, US, idle_span
from tests.support.span import TestSpan, found_spans, table_of
from tests.support.trace import event, metadata, open_trace

WINDOW = {"t0": 0, "t1": 1_000_000, "px": 1}


def opened(**more: Any) -> tuple[TestSpan, Derived]:
    span = idle_span(GC, launch=890, first=1, **more)
    return span, open_derived(derived_rows(span), span.timeline)


def test_the_idle_row_has_each_interval_with_its_cause() -> None:
    span, derived = opened()
    row = derived.rows[0]
    assert isinstance(row, SliceRow)
    found = [
        (row.parts[part].id, start // US, end // US)
        for part, start, end in zip(row.part.tolist(), row.start.tolist(), row.end.tolist())
    ]
    assert found == [("host_late", 100, 200), ("garbage_collection", 200, 500), ("host_late", 500, 900)]
    assert int((row.end - row.start).sum()) == idle_of(span)[0].total_ns


def test_a_derived_row_is_asked_for_as_a_layer() -> None:
    span, derived = opened()
    layers = {"derived": derived}

    def asked(question: str, **fields: Any) -> Any:
        return ask(span.timeline, question, layers, layer="derived", **fields)

    (first, *_) = derived.rows_json()
    assert (first["track"], first["name"], first["slices"]) == (0, "Idle, by cause", 3)
    header, bars = part(asked("rows", rows=[[0, 0, 0]], **WINDOW), "0")
    assert bars["id"].tolist() == [0, 1, 2]
    _, long = part(asked("rows", rows=[[0, 0, 0]], q="dur>=300us", **WINDOW), "0")
    assert long["id"].tolist() == [1, 2]
    name, start = header["names"][bars["name"][1]], int(bars["start"][1]) + int(header["base"])
    assert asked("find", name=name, at=start - derived.timeline.base_ns) == {"id": 1}
    detail = asked("slice", id=1)
    assert (detail["track"], detail["previous"], detail["next"]) == (0, 0, 2)
    assert detail["derived"] is not None and detail["kernel"] is None
    assert ask(span.timeline, "slice", layers, id=1)["derived"] is None
    assert derived.parts[detail["name"]].id == "garbage_collection"


def test_facts_name_the_late_launch_and_the_slices_behind_it() -> None:
    _, derived = opened()
    facts = derived.facts(1)
    assert [(line["code"], line["params"]) for line in facts["lines"]] == [
        ("derived.idle.gap", {"time": "800.00 µs"}),
        ("derived.idle.late", {"time": "790.00 µs"}),
    ]
    related = {one["role"]: one["slice"]["name"] for one in facts["related"]}
    assert related == {"Shown by": "GC", "Launch of the next task": "Node@launch", "Next task": "next"}
    assert facts["view"] == "idle"


def test_curves_of_a_stream() -> None:
    _, derived = opened()
    curves = {row.id: row for row in derived.rows if isinstance(row, CounterRow)}
    # The first task starts 1 us before its launch: the clock error, and no negative latency.
    assert curves["latency"].time.tolist() == [1 * US, 890 * US]
    assert curves["latency"].value.tolist() == [0, 10]
    assert list(zip(curves["queue"].time.tolist(), curves["queue"].value.tolist())) == [
        (1 * US, 0),
        (890 * US, 1),
        (900 * US, 0),
    ]
    assert "1.00 µs" in curves["queue"].help


def test_communication_is_split_without_overlap() -> None:
    """Two operators overlap; a third has no parts."""
    rows = [
        {"name": name, "start_ns": start, "elapse_ns": took, "sync_ns": sync}
        for name, start, took, sync in (("a", 100, 100, None), ("b", 150, 100, 30), ("c", 400, 50, None))
    ]
    waits = Waits(
        time=np.array([40, 0, NULL_INT]),
        start=np.array([110, 150, NULL_INT]),
        owner=np.full(3, -1),
        peer=np.array([5, -1, -1]),
        until_transfer=np.array([60, NULL_INT, NULL_INT]),
    )
    run = SimpleNamespace(
        collectives=[table_of("comm_ops", rows)],
        waits=[waits],
        names_of_last=lambda at: ["5", None, None],
        lines=[SimpleNamespace(comm_ops=True)],
    )
    source: Any = SimpleNamespace(communication=run, timeline=SimpleNamespace(base_ns=100))
    (row,) = communication.rows(source)
    found = [
        (row.parts[part].id, start, end)
        for part, start, end in zip(row.part.tolist(), row.start.tolist(), row.end.tolist())
    ]
    assert found == [
        ("before_transfer", 0, 10),
        ("waiting 5", 10, 50),
        ("before_transfer", 50, 80),
        ("transfer", 80, 150),
        ("unsplit", 300, 350),
    ]
    assert [part.title for part in row.parts if part.id.startswith("waiting")] == ["Waiting until rank 5 arrives"]
    assert [row.facts_of(at).late_rank for at in range(3)] == [None, 5, None]


def test_tasks_of_a_plane_belong_to_the_peer_that_they_name(tmp_path: Path) -> None:
    """Two planes move data to local 1 at once; it is awaited before, and for a moment meanwhile. Others name no peer."""

    def task(name: str, start: int, dur: int, plane: int, target: Any) -> dict[str, Any]:
        return event(name, start, dur, plane, 1, args={"src rank": 0, "dst rank": target})

    tracks = {1: "Group g Communication", 2: "Plane 0", 3: "Plane 1"}
    events = [
        metadata("process_name", 1, name="Communication"),
        *(metadata("thread_name", 1, tid, name=name) for tid, name in tracks.items()),
        *(metadata("thread_sort_index", 1, tid, sort_index=tid) for tid in tracks),
        event("hcom", 0, 100, 1, 1),
        *(task(*one) for one in [("Notify_Wait", 10, 20, 2, 1), ("Memcpy", 30, 30, 2, 1), ("Memcpy", 50, 20, 3, 1)]),
        *(
            task(*one)
            for one in [("Notify_Wait", 35, 5, 3, 1), ("Reduce", 80, 10, 3, 7), ("Notify_Record", 70, 5, 2, 1)]
        ),
        *(task(*one) for one in [("Local", 0, 5, 2, 0), ("None", 90, 5, 2, 2**32 - 1), ("Text", 95, 2, 2, "1")]),
    ]
    timeline, _ = open_trace(events, tmp_path)
    run = SimpleNamespace(rank_of=lambda group, peer: 5 if (group, peer) == ("g", 1) else None)
    source: Any = SimpleNamespace(communication=run, timeline=timeline)
    found = [
        (row.title, [(row.parts[part].id, start // 1000, end // 1000) for part, start, end in zip(*columns)])
        for row in peers.rows(source)
        for columns in [(row.part.tolist(), row.start.tolist(), row.end.tolist())]
    ]
    assert found == [
        ("Communication with rank 5", [("wait", 10, 30), ("move", 30, 70)]),
        ("Communication with local 7 of g", [("move", 80, 90)]),
    ]
    (changed,) = tmp_path.glob("*/trace_view.json")
    changed.write_text("[]")
    with pytest.raises(NotFound, match="changed"):
        peers.rows(source)


def test_figures_of_derived_rows_and_steps_are_those_of_the_views(tmp_path: Path) -> None:
    folder = min((FIXTURES / "demo" / "transformer_slow_rank").glob("*_ascend_pt"))
    shutil.copytree(folder, tmp_path / "run" / folder.name)
    (span,) = found_spans(tmp_path / "run")
    span.timeline, _ = open_trace((folder / "ASCEND_PROFILER_OUTPUT" / "trace_view.json").read_text(), tmp_path)

    def data(view: str) -> Any:
        chosen = next(one for one in VIEWS if one.id == view)
        result = chosen.build(ViewInput([span], {param.name: param.default for param in chosen.params}))
        return json.loads(encode_json(result.data))

    rows = {row.id: row for row in derived_rows(span) if isinstance(row, SliceRow)}

    def total(row: str, part: str) -> int:
        found = [at for at, one in enumerate(rows[row].parts) if one.id.startswith(part)]
        return int((rows[row].end - rows[row].start)[np.isin(rows[row].part, found)].sum())

    causes = {one["cause"]: one["time_ns"] for one in data("idle")["causes"]}
    assert {cause: total("idle", cause) for cause in causes} == causes
    assert sum(causes.values()) == pytest.approx(sum(step["free"] for step in data("overview")["steps"]), abs=500)
    budgets = data("distributed")["budgets"]
    assert total("communication", "waiting") == sum(one["waiting"] for one in budgets if one["step"] is not None) > 0
    marks = step_marks(span, 0)["steps"]
    assert [(one["step"], one["end"] - one["start"]) for one in marks] == [
        (one["step"], sum(time or 0 for part, time in one["parts"].items() if part != "preparing"))
        for one in data("overview")["steps"]
    ]


def test_nothing_is_derived_without_steps_and_launches() -> None:
    span = idle_span()
    assert derived_rows(TestSpan(timeline=span.timeline)) == []
    assert derived_rows(TestSpan(timeline=span.timeline, format="kineto")) == []
