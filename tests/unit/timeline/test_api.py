"""The timeline routes: parameters, answers, and the trace view."""

from __future__ import annotations

import tracemalloc
from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Optional

import pytest

from tb_npu_plugin.analysis.kernels.bound import BOUND
from tb_npu_plugin.errors import BadRequest, NotFound, NotReady
from tb_npu_plugin.model import Capture
from tb_npu_plugin.schema.registry import TABLES
from tb_npu_plugin.server.timeline.binary import Scale
from tb_npu_plugin.server.timeline.slices import kernel_facts
from tb_npu_plugin.store.timeline import quantiles
from tb_npu_plugin.store.timeline.levels import EVERYTHING
from tb_npu_plugin.store.timeline.members import Members
from tb_npu_plugin.store.timeline.open import Timeline
from tb_npu_plugin.store.timeline.stats import RangePart, stats
from tb_npu_plugin.tables import from_lists
from tb_npu_plugin.views.base import ViewInput
from tb_npu_plugin.views.trace import VIEW
from tests.support.ask import ask, bars
from tests.support.trace import event, flow, metadata, open_trace


@pytest.fixture(scope="module")
def timeline(tmp_path_factory: pytest.TempPathFactory) -> Timeline:
    events: list[dict[str, Any]] = [
        metadata("process_name", 1, name="Python"),
        event("aten::Add", 1000, 100, args={"a": 1}),
        event("aten::add_", 1010, 20),
        event("mul", 1040, 10),
        event("add", 1200, 10, 2),
        *(
            {"ph": "C", "name": "mem", "pid": 1, "ts": 1000 + t, "args": {"KB": v}}
            for t, v in ((0, 5), (10, 7), (11, 9), (12, 3), (300, 1))
        ),
    ]
    return open_trace(events, tmp_path_factory.mktemp("api"))[0]


def test_the_trace_view_lists_the_rows(timeline: Timeline) -> None:
    span = SimpleNamespace(
        timeline=timeline, trace_version="1", base_ns=1_000_500, capture=Capture(), rows=lambda table: None
    )
    result = VIEW.build(ViewInput([span], {}))  # type: ignore[list-item]
    assert result.data["zero"] == 500
    assert result.base_ns == 1_000_000
    assert (result.data["start"], result.data["end"], result.data["slices"]) == (0, 300_000, 4)
    assert (result.data["slices_start"], result.data["slices_end"]) == (0, 210_000), "counters run longer"
    (process,) = result.data["processes"]
    assert [(t["track"], t["name"], t["kind"], t["rows"], t["slices"]) for t in process["threads"]] == [
        (0, "tid 1", "slices", 2, 3),
        (1, "tid 2", "slices", 1, 1),
        (2, "mem", "counter", 1, 0),
    ]
    with pytest.raises(NotReady):
        VIEW.build(ViewInput([SimpleNamespace(timeline=None)], {}))  # type: ignore[list-item]


def test_what_began_long_before_the_window_does_not_cost_its_precision(tmp_path: Path) -> None:
    timeline, _ = open_trace([event("long", 0, 100_000_000), event("short", 90_000_000.001, 0.003)], tmp_path)
    t0 = 90_000_000_000
    header, found = bars(timeline, t0=t0, t1=t0 + 10, px=1)
    base = int(header["base"]) - timeline.base_ns
    assert header["unit"] == 1
    assert (int(found["start"][1]) + base, found["dur"][1]) == (t0 + 1, 3)
    assert (found["start"][0], found["end"][0]) == (0, 2**32 - 1)
    assert header["far"] == [[0, 0, 100_000_000_000]], "its own times are told apart"


def test_times_of_a_long_window_are_multiples_of_their_unit(tmp_path: Path) -> None:
    """Twice 8 s are 2^32 units of 4 ns, less a margin."""
    timeline, _ = open_trace([event("a", 0, 8_000_000)], tmp_path)
    header, found = bars(timeline, t0=0, t1=8_000_000_000, px=1)
    assert (header["unit"], found["dur"].tolist()) == (4, [2_000_000_000])


def test_bars_have_the_category_of_their_longest_slice(tmp_path: Path) -> None:
    """A name of two categories is there twice; without categories, each name once."""
    kinds = ["cpu_op", "", "enqueue"]
    events = [
        event(f"op{at % 2}", 10 * at, 1 + at % 5, **({"cat": kinds[at % 3]} if at % 3 != 1 else {})) for at in range(60)
    ]
    timeline, _ = open_trace(events, tmp_path)
    for px in (1, 40_000):
        header, found_bars = bars(timeline, t0=0, t1=1_000_000, px=px)
        found = [(header["names"][one], header["categories"][one]) for one in found_bars["name"].tolist()]
        assert found == [(timeline.brief(one)["name"], timeline.category_of(one)) for one in found_bars["id"].tolist()]
    assert len(header["names"]) == len(header["categories"]) == len(header["meanings"]) == len(set(found)) > 2
    plain, _ = open_trace([event("a", 0, 1), event("a", 5, 1)])
    header, _ = bars(plain, t0=0, t1=9000, px=1)
    assert (header["names"], header["categories"]) == (["a"], [""])


def test_search_is_by_start_and_counts_all(timeline: Timeline) -> None:
    answer: Any = ask(timeline, "search", q="ADD", limit=2)
    found = [(answer["names"][hit[5]], *hit[1:5]) for hit in answer["hits"]]
    assert (answer["total"], found) == (3, [("aten::Add", 0, 100_000, 0, 0), ("aten::add_", 10_000, 20_000, 0, 1)])
    none = ask(timeline, "search", q="no")
    assert (none["total"], none["hits"], [part["total"] for part in none["parts"]]) == (0, [], [0])


def test_a_slice_without_a_duration_takes_no_time() -> None:
    timeline, _ = open_trace([event("moment", 1, 0), event("a", 2, 3)])
    found = stats([RangePart(timeline, 0, 10_000, range(1))]).table
    assert dict(zip(found.text("name").tolist(), found.ints("clipped_self").tolist())) == {"moment": 0, "a": 3000}


def test_only_so_many_members_are_counted(timeline: Timeline, monkeypatch: pytest.MonkeyPatch) -> None:
    def total() -> int:
        return int(ask(timeline, "members", name="aten::add_", t0=0, t1=300_000)["total"])

    every = total()
    monkeypatch.setattr("tb_npu_plugin.store.timeline.slice_list.MAX_ROW", every - 1)
    assert total() == every - 1


def test_search_near_a_moment(timeline: Timeline) -> None:
    def hits(near: int) -> tuple[int, list[int]]:
        answer: Any = ask(timeline, "search", q="add", limit=2, near=near)
        assert answer["total"] == 3
        return answer["first"], [hit[1] for hit in answer["hits"]]

    assert hits(0) == (0, [0, 10_000])
    assert hits(10_000) == (0, [0, 10_000])
    assert hits(11_000) == (1, [10_000, 200_000])
    assert hits(2**53 - 1) == (1, [10_000, 200_000])


def test_statistics_are_bounded_and_whole_as_csv(timeline: Timeline, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tb_npu_plugin.server.timeline.ranges.MAX_STATS", 2)
    params = {"t0": 0, "t1": 300_000}
    table = ask(timeline, "stats", **params)["table"]
    assert (table["data"]["name"], table["rows"], table["total"]) == (["aten::Add", "aten::add_"], 2, 4)
    lines = ask(timeline, "stats", format="csv", **params).splitlines()
    assert (len(lines), lines[0].split(",")[:3]) == (5, ["run", "worker", "name"])


def test_find_means_the_slice_of_a_record(tmp_path: Path) -> None:
    found, _ = open_trace([event("a", 0, 100), event("a", 10, 20), event("a", 200, 5), event("ab", 12, 1)], tmp_path)

    def start(at: int) -> int:
        return int(found.rows.start[ask(found, "find", name="a", at=at)["id"]])

    # Files round times to 1 ns; 30_000: the end of a slice still belongs to it
    times = (9_998, 9_999, 10_001, 12_000, 30_000, 40_000, 150_000, 999_999)
    assert [start(at) for at in times] == [0, 10_000, 10_000, 10_000, 10_000, 0, 200_000, 200_000]
    assert ask(found, "find", name="A") == {"id": None}
    with pytest.raises(BadRequest):
        ask(found, "find")


def test_chain_goes_over_queue_and_launch_to_the_frame(tmp_path: Path) -> None:
    python, cann, device = 1, 2, 3

    def arrow(kind: str, pids: tuple[int, int], tids: tuple[int, int], times: tuple[float, float]) -> list[Any]:
        return [
            {"ph": phase, "name": kind, "cat": kind, "id": 7, "pid": pid, "tid": tid, "ts": time, "bp": "e"}
            for phase, pid, tid, time in zip("sf", pids, tids, times)
        ]

    found, log = open_trace(
        [
            *(
                metadata("process_name", pid, name=name)
                for pid, name in ((python, "Python"), (cann, "CANN"), (device, "Ascend Hardware"))
            ),
            event("frame", 0, 100, 11, python, cat="python_function"),
            event("aten::mm", 10, 50, 11, python, cat="cpu_op"),
            event("Enqueue@mm", 20, 5, 11, python, cat="enqueue"),
            event("Dequeue@mm", 30, 20, 12, python, cat="dequeue"),
            event("AscendCL@mm", 32, 10, 12, cann),
            event("Node@launch", 33, 5, 12, cann),
            event("kernel", 70, 9, 2, device),
            event("MmBackward0", 200, 9, 13, python, cat="cpu_op"),
            *arrow("async_task_queue", (python, python), (11, 12), (20, 30)),
            *arrow("HostToDevice", (cann, device), (12, 2), (34, 70)),
            *arrow("async_npu", (python, device), (11, 2), (10, 70)),
            *arrow("fwdbwd", (python, python), (11, 13), (10, 200)),
        ],
        tmp_path,
    )
    assert log == []

    def chain(name: str) -> Any:
        return ask(found, "chain", id=ask(found, "find", name=name)["id"])

    kernel = chain("kernel")
    assert [(link["name"], link["via"]) for link in kernel["links"]] == [
        ("frame", ""),
        ("aten::mm", ""),
        ("Enqueue@mm", "async_task_queue"),
        ("Dequeue@mm", ""),
        ("AscendCL@mm", ""),
        ("Node@launch", "HostToDevice"),
        ("kernel", ""),
    ]
    assert (kernel["forward"], kernel["backward"]["name"]) == (None, "MmBackward0")
    assert chain("MmBackward0")["forward"]["name"] == "aten::mm"
    assert [link["name"] for link in chain("frame")["links"]] == ["frame"]


WINDOW = {"t0": 0, "t1": 10}
ROWS = {**WINDOW, "px": 1, "rows": [[0, 0, 0]]}


@pytest.mark.parametrize(
    ("question", "fields", "error"),
    [
        ("nothing", {}, NotFound),
        ("rows", {**ROWS, "rows": ["x"]}, BadRequest),
        ("rows", {**ROWS, "rows": [[0, 0]]}, BadRequest),
        ("rows", {**ROWS, "t1": 0}, BadRequest),
        ("rows", {**ROWS, "t1": 10**30}, BadRequest),
        ("rows", {**ROWS, "t1": 9.5}, BadRequest),
        ("rows", {**ROWS, "px": 0}, BadRequest),
        ("rows", {**ROWS, "px": float("nan")}, BadRequest),
        ("rows", {**ROWS, "px": 1e300}, BadRequest),
        ("rows", {**ROWS, "new": 1}, BadRequest),
        ("rows", {**ROWS, "zero": "1e3"}, BadRequest),
        ("rows", {**ROWS, "zero": "9" * 19}, BadRequest),
        ("rows", {**ROWS, "rows": [[0, 0, 0]] * 3, "t1": 2**62 - 1, "zero": str(1 - 2**62)}, None),
        ("rows", {**ROWS, "t1": 2**62}, BadRequest),
        ("rows", {**ROWS, "counters": [0]}, NotFound),
        ("slice", {"id": 4}, NotFound),
        ("slice", {"id": -1}, NotFound),
        ("slice", {"id": 1.5}, BadRequest),
        ("flows", {}, BadRequest),
        ("stats", {**WINDOW, "tracks": [0, "x"]}, BadRequest),
        ("stats", {**WINDOW, "tracks": [2]}, NotFound),
        ("stats", {**WINDOW, "by": "x"}, BadRequest),
        ("members", {**WINDOW, "page": {"sort": "id"}}, BadRequest),
        ("members", {**WINDOW, "page": {"limit": -1}}, BadRequest),
        ("members", {**WINDOW, "format": "xlsx"}, BadRequest),
        ("counters", {"t0": 5, "t1": 5}, BadRequest),
        ("descent", {"id": 4}, NotFound),
        ("search", {}, BadRequest),
        ("search", {"q": " "}, BadRequest),
        ("search", {"q": "a", "limit": 0}, BadRequest),
        ("search", {"q": "a", "near": "x"}, BadRequest),
    ],
)
def test_questions_out_of_range(
    question: str, fields: dict[str, Any], error: Optional[type[Exception]], timeline: Timeline
) -> None:
    with pytest.raises(error) if error else nullcontext():
        ask(timeline, question, **fields)


def test_memory_of_statistics_does_not_grow_with_the_range(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    count = 40_000
    timeline, _ = open_trace([event(f"op{n % 50}", n * 2, 1, n % 8) for n in range(count)], tmp_path)
    monkeypatch.setattr("tb_npu_plugin.store.timeline.stats.TILE", 2_000)
    peaks = []
    for slices in (count // 10, count):
        tracemalloc.start()
        assert stats([RangePart(timeline, 0, 2000 * slices, range(8))]).slices == slices
        assert Members(timeline, range(8), 0, 2000 * slices).page("dur", True, 0, 10)[1] == slices
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] < 1.3 * peaks[0] + 50_000 < 96 * count / 4


#: Columns of the table of kernels, which adds facts to a slice.
FACTS = ("name", "start_ns", "dur_ns", "core", "block_dim", "wait_ns", "input_shapes", "bound")
KERNELS = [
    ("MatMul", 1000, 50, "AI_CORE", 20, 7, "2,3", "Cube"),
    ("MatMul", 1050, 10, "AI_VECTOR_CORE", None, None, None, None),
    ("Add", 1050, 10, "AI_VECTOR_CORE", 1, 0, "4", None),
]


def span_of(rows: list[tuple[Any, ...]] | None, file: str = "kernel_details.csv") -> Any:
    columns = [column for column in (*TABLES["kernels"], BOUND) if column.key in FACTS]
    lists = {key: [row[place] for row in rows or ()] for place, key in enumerate(FACTS)}
    table = None if rows is None else from_lists(columns, lists)
    return SimpleNamespace(table=lambda name: table, source=lambda name: file)


def test_a_kernel_is_found_by_name_and_start() -> None:
    facts, second = (kernel_facts(span_of(KERNELS), "MatMul", start) for start in (1001, 1050))
    assert facts is not None and second is not None
    keys = ("source", "core", "block_dim", "wait_ns", "input_shapes", "output_shapes", "bound")
    assert [facts[key] for key in keys] == ["kernel_details.csv", "AI_CORE", 20, 7, "2,3", None, "Cube"]
    assert [second[key] for key in keys[1:4]] == ["AI_VECTOR_CORE", None, None]
    found = kernel_facts(span_of(KERNELS, "ascend_pytorch_profiler_0.db"), "Add", 1050)
    assert found is not None and found["source"] == "ascend_pytorch_profiler_0.db"


def test_other_slices_have_no_facts() -> None:
    assert kernel_facts(span_of(KERNELS), "MatMul", 1002) is None
    assert kernel_facts(span_of(KERNELS), "Sub", 1050) is None
    assert kernel_facts(span_of(None), "MatMul", 1000) is None


def test_the_first_slice_of_a_trace_may_be_a_cause(tmp_path: Path) -> None:
    found, _ = open_trace(
        [
            *(metadata("process_name", pid, name=name) for pid, name in ((1, "Python"), (2, "CANN"))),
            event("frame", 0, 100, 11, 1, cat="python_function"),
            event("AscendCL@mm", 10, 5, 11, 2),
        ],
        tmp_path,
    )
    call = ask(found, "find", name="AscendCL@mm")["id"]
    links = ask(found, "chain", id=call)["links"]
    assert [(link["id"], link["name"]) for link in links] == [(0, "frame"), (call, "AscendCL@mm")]


def test_statistics_of_a_range_without_slices_are_empty(timeline: Timeline) -> None:
    found = ask(timeline, "stats", t0=250_000, t1=260_000)
    assert (found["slices"], found["wall"], found["table"]["total"]) == (0, 10_000, 0)


def test_statistics_are_the_same_tile_by_tile(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found, _ = open_trace([event("long", 0, 1000), *(event("a", 20 * at, 10) for at in range(50))], tmp_path)
    range_ = {"t0": 0, "t1": 1_000_000}
    whole = ask(found, "stats", **range_)
    assert whole["table"]["data"]["self"] == [500_000, 500_000]
    monkeypatch.setattr("tb_npu_plugin.store.timeline.stats.TILE", 8)
    assert ask(found, "stats", **range_) == whole


def test_percentiles_are_durations_that_so_many_slices_do_not_exceed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However few bins count the slices: of 1 to 100 us, 50 us and 95 us."""
    monkeypatch.setattr(quantiles, "COUNTERS", 8)
    found, _ = open_trace([event("a", 200 * dur, dur) for dur in range(1, 101)], tmp_path)
    data = ask(found, "stats", t0=0, t1=30_000_000)["table"]["data"]
    assert (data["p50"], data["p95"]) == ([50_000], [95_000])


def test_a_call_leads_to_the_slices_inside_it_and_to_the_tasks_they_launch(tmp_path: Path) -> None:
    """A slice that ends with the call is inside it. One that ends later is not, nor what it launches."""
    found, _ = open_trace(
        [
            *(metadata("process_name", pid, name=name) for pid, name in ((1, "Python"), (3, "Ascend Hardware"))),
            event("call", 0, 100),
            event("first", 10, 20),
            event("last", 99.999, 0.001),
            event("after", 200, 10),
            *(event("task", start, 5, 1, 3) for start in (300, 310, 320)),
            *(flow("s", number, start, cat="HostToDevice") for number, start in enumerate((12, 15, 205))),
            *({**flow("f", number, 300 + 10 * number, cat="HostToDevice", bp="e"), "pid": 3} for number in range(3)),
        ],
        tmp_path,
    )
    call = ask(found, "find", name="call")["id"]
    led = ask(found, "descent", id=call)
    nested, tasks = led["nested"]["data"], led["tasks"]["data"]
    assert (nested["name"], nested["tasks"]) == (["first", "last"], [2, 0])
    assert tasks["start"] == [300_000, 310_000] and (led["device_ns"], led["last"]) == (10_000, 315_000)
    none = ask(found, "descent", id=ask(found, "find", name="after")["id"])
    assert none["nested"]["data"]["name"] == [] and none["tasks"]["data"]["start"] == [320_000]


def test_each_level_is_coarser_than_the_one_before(tmp_path: Path) -> None:
    levels = open_trace([event("a", 10 * at, 5) for at in range(5_000)], tmp_path)[0].levels
    shifts = sorted(levels._levels)
    assert len(shifts) > 1
    assert [levels.coarser(shift) for shift in shifts] == [*shifts[1:], EVERYTHING]


def test_rows_of_a_track_end_where_the_next_track_begins(timeline: Timeline) -> None:
    assert [timeline.row_number(0, depth) for depth in (-1, 0, 1, 2)] == [-1, 0, 1, -1]
    assert [timeline.row_number(1, depth) for depth in (0, 1)] == [2, -1]


@pytest.mark.parametrize(
    ("window", "unit", "margin"),
    [(1, 1, 1), (2**31, 1, 2**31 - 1), (2**32 - 1, 1, 0), (2**32, 4, 2**32), (2**34, 16, 2**34)],
)
def test_the_unit_of_a_window(window: int, unit: int, margin: int) -> None:
    scale = Scale(2**40, 2**40 + window, 0)
    assert (scale.unit, 2**40 - scale.base) == (unit, margin)
