"""Views of hand-made spans: parameters, fallbacks, what is unknown."""

from __future__ import annotations

import csv
import json
import typing
from typing import Any

import pytest

from tb_npu_plugin.errors import BadRequest, NotFound
from tb_npu_plugin.model import Capture
from tb_npu_plugin.schema.registry import TABLES
from tb_npu_plugin.tables import Table, empty
from tb_npu_plugin.views import data_pipeline, diagnosis, diff, distributed, kernel, memory, operator, step_trace
from tb_npu_plugin.views.availability import facts_of_span, is_available
from tb_npu_plugin.views.base import View, ViewInput, ViewResult
from tb_npu_plugin.views.capture import capture_json
from tb_npu_plugin.views.distributed import RankStateJson
from tb_npu_plugin.views.registry import VIEWS
from tb_npu_plugin.views.tables_json import inline_tables
from tests.support.fixtures import FIXTURES
from tests.support.span import TestSpan, found_spans, table_of
from tests.support.trace import event, open_trace

KERNELS = table_of(
    "kernels",
    [
        {"step": "1", "name": "a", "type": "A", "core": "AI_CORE", "start_ns": 100, "dur_ns": 10},
        {"step": "2", "name": "a", "type": "A", "core": "AI_CORE", "start_ns": 120, "dur_ns": 30},
        {"step": None, "name": "h", "type": "hcom", "core": "HCCL", "start_ns": 160, "dur_ns": 5},
    ],
)
STATISTIC = table_of("op_statistic", [{"type": "X", "core": "Y", "calls": 1, "total_ns": 9}])


def build(view: Any, *spans: TestSpan, **params: str) -> ViewResult:
    return view.build(ViewInput(spans, params))  # type: ignore[no-any-return]


def test_kernel_of_a_statistic_alone_names_its_file_and_knows_no_step() -> None:
    """It named a file of another kind of result, and showed the whole for any step."""
    span = TestSpan({"op_statistic": STATISTIC})
    data = build(kernel, span).data
    assert (data["source"], data["types_source"], data["computing_ns"]) == ("op_statistic.csv", "op_statistic.csv", 9)
    assert (data["communication_calls"], data["communication_ns"]) == (None, None)  # not in that file: no zero
    for step in ("2", "null"):
        with pytest.raises(BadRequest, match="is not a step"):
            build(kernel, span, step=step)


@pytest.mark.parametrize("step", ["9", "null", "mean", " 1"])
def test_the_course_of_a_step_that_is_not_there_is_refused(step: str) -> None:
    """It was that of the mean."""
    span = TestSpan({"kernels": KERNELS})
    assert build(step_trace, span).data["chosen"] is None and build(step_trace, span, step="2").data["chosen"] == "2"
    with pytest.raises(BadRequest, match="is not a step"):
        build(step_trace, span, step=step)


def test_points_of_the_metadata_are_shown_where_no_file_has_them() -> None:
    capture = Capture(metadata={"FP_POINT": "net/MatMul-op0", "BP_POINT": 3})
    data = build(step_trace, TestSpan({"kernels": KERNELS}, capture)).data
    assert (data["fp_point"], data["bp_point"]) == ("net/MatMul-op0", None)


def test_operator_source_and_stacks() -> None:
    rows = [
        {"name": "mm", "input_shapes": "1", "call_stack": "f", "host_self_ns": 1},
        {"name": "mm", "input_shapes": None, "call_stack": "g", "host_self_ns": 2},
    ]
    table = table_of("operators", rows)
    rebuilt = TestSpan({"operators": table}, files=["ASCEND_PROFILER_OUTPUT/trace_view.json"])
    read = TestSpan({"operators": table}, files=["ASCEND_PROFILER_OUTPUT/operator_details.csv.gz"])

    def stacks(**params: str) -> list[str | None]:
        return operator.stacks(ViewInput([read], params)).table.text("call_stack").tolist()

    assert build(operator, rebuilt).data["source"] == "trace_view.json"
    assert build(operator, read).data["source"] == "operator_details.csv"
    assert build(operator, read).data["device_self_ns"] is None
    assert stacks(name="mm") == ["f", "g"]
    assert stacks(name="mm", input_shapes="1") == ["f"]
    assert stacks(name="mm", input_shapes="null") == ["g"]
    assert stacks(name="other") == []
    with pytest.raises(NotFound, match="no operators"):  # the view is there all the same, with the calls of CANN
        operator.stacks(ViewInput([TestSpan()], {"name": "mm"}))


MEMORY = TestSpan(
    {
        "memory_record": table_of(
            "memory_record",
            [
                {"component": "PTA", "time_ns": time, "allocated_bytes": size, "reserved_bytes": 100, "device": device}
                for time, size, device in ((1000, 10, "NPU:0"), (1010, 30, "NPU:0"), (1020, 20, "NPU:1"))
            ],
        ),
    }
)


@pytest.mark.parametrize(("t0", "t1", "times"), [("-9", "-5", [0]), ("50", "60", [10]), ("5", "5", [0, 10])])
def test_memory_of_a_range(t0: str, t1: str, times: list[int]) -> None:
    data = build(memory, MEMORY, device="NPU:0", t0=t0, t1=t1).data
    assert [curve["time"] for curve in data["curves"]] == [times]


@pytest.mark.parametrize(
    "params",
    [
        {"t0": "x"},
        {"t1": "1.5"},
        {"points": "-"},
        {"live_at": "9" * 30},
        {"t0": "20", "t1": "10"},
        {"device": "NPU:5"},
    ],
)
def test_memory_refuses_what_is_no_number_no_range_and_no_device(params: dict[str, str]) -> None:
    with pytest.raises(BadRequest):
        build(memory, MEMORY, **params)


def test_distributed_orders_ranks_and_keeps_steps_that_only_one_file_has() -> None:
    step_trace = table_of("step_trace", [{"step": "9", "computing": 4}])
    ops = table_of(
        "comm_ops",
        [
            {"step": step, "name": "hcom_x_1", "elapse_ns": 9, "transit_ns": 4, "wait_ns": 3, "sync_ns": 1}
            for step in ("9", "10")
        ],
    )
    first = TestSpan({"step_trace": step_trace, "comm_ops": ops}, Capture(rank=1), token="b")
    second = TestSpan({"op_statistic": STATISTIC}, Capture(rank=0), token="a")
    data = build(distributed, first, second).data
    assert [(rank["span"], rank["state"]) for rank in data["ranks"]] == [("a", "missing"), ("b", "ready")]
    assert data["ranks"][0]["reason"]
    assert data["steps"] == ["9", "10"]
    assert [(budget["step"], budget["computing"], budget["wait"]) for budget in data["budgets"]] == [
        ("9", 4, 2),
        ("10", None, 2),
    ]


def test_diff_pairs_the_nth_steps() -> None:
    rows = [{"step": step, "name": "k", "start_ns": 0, "dur_ns": 1} for step in ("7", "8", "9")]
    shifted = table_of("kernels", rows)
    data = build(diff, TestSpan({"kernels": KERNELS}), TestSpan({"kernels": shifted})).data
    assert [(step["baseline_step"], step["experimental_step"]) for step in data["steps"]] == [
        (None, None),
        ("1", "7"),
        ("2", "8"),
    ]
    assert [step["id"] for step in data["steps"]] == ["mean", "1", "2"]
    for step, total in zip(data["steps"], (20, 20, 30)):  # the mean leaves out the last, incomplete step
        assert step["baseline_ns"] == sum(entry["baseline_ns"] for entry in step["classes"]) == total


def test_diff_of_different_numbers_of_steps_is_of_the_mean_step() -> None:
    def span(steps: int) -> TestSpan:
        kernels = [{"step": str(step), "name": "k", "start_ns": 9 * step, "dur_ns": 6} for step in range(steps)]
        operators = [{"name": "mm", "host_self_ns": 3}] * steps
        return TestSpan({"kernels": table_of("kernels", kernels), "operators": table_of("operators", operators)})

    result = build(diff, span(2), span(3))
    assert result.data["shown"] == "mean"
    assert [result.data[side]["step_count"] for side in ("baseline", "experimental")] == [2, 3]
    for name, time in (("kernels", 6), ("operators", 3)):
        table = result.tables[name].table
        kind = "" if name == "kernels" else "_host_self"
        assert table.ints(f"baseline{kind}_ns").tolist() == table.ints(f"experimental{kind}_ns").tolist() == [time]
        assert table.floats("baseline_calls").tolist() == table.floats("experimental_calls").tolist() == [1.0]
    assert build(diff, span(3), span(3)).data["shown"] == "mean"


def test_diff_without_marks_of_steps_is_of_whole_captures() -> None:
    marked, bare = (
        table_of("kernels", [{"step": step, "name": "k", "start_ns": at, "dur_ns": 6} for step, at in rows])
        for rows in ([("1", 0), ("2", 10)], [(None, 0), (None, 9)])
    )
    result = build(diff, TestSpan({"kernels": marked}), TestSpan({"kernels": bare}))
    assert [(step["id"], step["baseline_ns"], step["experimental_ns"]) for step in result.data["steps"]] == [
        ("*", 16, 15)
    ]
    assert result.tables["kernels"].table.ints("experimental_ns").tolist() == [12]


def test_diff_kernels_of_a_step() -> None:
    span = TestSpan({"kernels": KERNELS})
    assert build(diff, span, span, step="2").tables["kernels"].table.ints("baseline_ns").tolist() == [30]
    assert build(diff, span, span).tables["kernels"].table.ints("baseline_ns").tolist() == [10]
    with pytest.raises(BadRequest):
        build(diff, span, span, step="3")


def test_diff_shows_what_both_sides_have() -> None:
    rich = TestSpan({"kernels": KERNELS, "operators": table_of("operators", [{"name": "mm", "host_self_ns": 1}])})
    poor = TestSpan({"operators": table_of("operators", [{"name": "mm", "host_self_ns": 3}])})
    result = build(diff, rich, poor)
    assert set(result.tables) == {"operators"}
    assert result.tables["operators"].sort == "difference_host_self_ns"
    assert result.data["steps"] == []  # one side has no step


@pytest.mark.parametrize("view", [view for view in VIEWS if ("trace",) not in view.needs], ids=lambda view: view.id)
def test_tables_without_rows_give_a_view_and_valid_json(view: View) -> None:
    span = TestSpan({name: empty(columns) for name, columns in TABLES.items()})
    assert is_available(view, facts_of_span(span))
    result = view.build(ViewInput([span, span] if view.scope == "diff" else [span], {}))
    json.dumps({"data": result.data, "tables": inline_tables(view.id, result)}, allow_nan=False)
    assert set(result.data) == set(typing.get_type_hints(view.contract))


def test_waiting_for_data_is_a_part_of_the_time_with_the_first_preparation_and_of_one_device() -> None:
    """Of files without marks. The device's time alone made it more than all; two devices halved it."""
    figures = {"computing": 10, "communication_not_overlapped": 5, "free": 85, "preparing": 90}
    rows = [{"device_id": device, "step": step, **figures} for device in (0, 1) for step in ("9", "10")]
    loads = [{"name": "enumerate(DataLoader)#_", "host_total_ns": 90}] * 2

    def loader(steps: list[dict[str, Any]]) -> Any:
        tables = {"operators": table_of("operators", loads), "step_trace": table_of("step_trace", steps)}
        return build(data_pipeline, TestSpan(tables)).data["loader"]

    assert (loader(rows)["total_ns"], loader(rows)["steps_ns"]) == (180, 90 + 2 * 100)
    assert loader([{**rows[0], "free": None}, *rows[1:]])["steps_ns"] is None


def test_waiting_for_data_is_a_part_of_the_time_between_the_marks_of_a_timeline() -> None:
    timeline, _ = open_trace([event("ProfilerStep#8", 100, 50), event("ProfilerStep#7", 10, 80), event("x", 0, 999)])
    loads = table_of("operators", [{"name": "enumerate(DataLoader)#_", "host_total_ns": 90}])
    assert build(data_pipeline, TestSpan({"operators": loads}, timeline=timeline)).data["loader"]["steps_ns"] == 140_000


def test_kernel_shows_fused_operators_and_communication_by_type() -> None:
    (span,) = found_spans(FIXTURES / "results" / "msprof_pieces")
    tables = build(kernel, span).tables
    for name, pattern, key, header in (
        ("fusion_op", "fusion_op_*.csv", "original", "Original Ops"),
        ("communication_statistic", "communication_statistic_*.csv", "type", "OP Type"),
    ):
        (path,) = (FIXTURES / "results" / "msprof_pieces").rglob(pattern)
        with path.open(newline="") as file:
            assert tables[name].table.text(key).tolist() == [row[header] for row in csv.DictReader(file)]


def test_calls_are_shown_where_no_operators_are() -> None:
    (span,) = found_spans(FIXTURES / "results" / "msprof")
    result = build(operator, span)
    assert set(result.tables) == {"api_statistic"} and result.data["calls"] == 0


#: Device 2 computes 10 + 20; device 5 begins its steps earlier and computes longer.
DEVICES = table_of(
    "kernels",
    [
        {"device_id": device, "step": step, "start_ns": start, "dur_ns": dur, "core": "AI_CORE", "name": "k"}
        for device, step, start, dur in (
            *((2, "1", 100, 10), (2, "1", 120, 20), (5, "1", 90, 55)),
            *((2, "2", 160, 30), (5, "2", 170, 25)),
        )
    ],
)


def test_step_trace_takes_the_figures_of_the_device_and_refuses_another() -> None:
    def steps(device: str = "", **tables: Table) -> Any:
        return build(step_trace, TestSpan(tables), device=device).data

    keys = ("device_id", "step", "computing", "communication", "free", "stage", "preparing")
    rows = [dict(zip(keys, row)) for row in ((2, "1", 30, 15, 10, 50, 7), (5, "1", 55, 5, 0, 60, 3))]
    figures = table_of("step_trace", rows)
    both = {"kernels": DEVICES, "step_trace": figures}
    assert [steps(device, **both)["steps"][0]["preparing_ns"] for device in ("2", "5")] == [7, 3]
    alone = [steps(device, step_trace=figures)["steps"] for device in ("", "5")]
    assert [[one["total_ns"] for one in found] for found in alone] == [[50], [60]]
    with pytest.raises(BadRequest):
        steps("3", **both)
    one = steps(kernels=DEVICES.take(DEVICES.ints("device_id") == 2))
    assert (one["devices"], one["device"]) == ([2], None)


def test_what_no_certain_device_did_is_a_budget_of_its_own() -> None:
    ops = table_of("comm_ops", [{"step": "1", "kind": "collective", "name": "a", "group": "g", "elapse_ns": 15}])
    data = build(distributed, TestSpan({"kernels": DEVICES, "comm_ops": ops}, Capture(rank=4))).data
    of_first = [(one["device_id"], one["computing"], one["elapse"]) for one in data["budgets"] if one["step"] == "1"]
    assert of_first == [(2, 30, None), (5, 55, None), (None, None, 15)]


def test_the_device_of_the_settings_stands_in_for_those_of_tables() -> None:
    devices = table_of("memory_record", [{"device": "NPU:3"}])
    assert capture_json(TestSpan(capture=Capture(device_id=5)))["device_ids"] == [5]
    assert capture_json(TestSpan({"memory_record": devices}, Capture(device_id=5)))["device_ids"] == [3]


def test_the_ledgers_of_the_steps_sum_to_that_of_the_mean() -> None:
    spans = found_spans(FIXTURES / "demo" / "transformer_slow_rank")
    mean, *steps = (diagnosis.build(ViewInput(spans, {"step": step})).data for step in ("", "11", "12"))
    assert [one["step"] for one in (mean, *steps)] == [None, "11", "12"]
    assert steps[0]["findings"] == mean["findings"] and not any(
        row["findings"] for one in steps for table in one["layout"]["tables"] for row in table["rows"]
    )
    for at, ledger in enumerate(mean["ledgers"]):
        own = [one["ledgers"][at] for one in steps]
        for one in own:
            assert sum(entry["ns"] for entry in one["entries"]) == one["window_ns"]
        sums = [dict.fromkeys(("computing", "waiting", "transfer"), 0) for _ in range(2)]
        for total, ledgers in zip(sums, ([ledger, ledger], own)):
            for entry in (entry for one in ledgers for entry in one["entries"]):
                total[entry["entry"]] = total.get(entry["entry"], 0) + entry["ns"]
        assert sums[0] == pytest.approx(sums[1], abs=10)
    with pytest.raises(BadRequest, match="is not a step"):
        diagnosis.build(ViewInput(spans, {"step": "99"}))


@pytest.mark.parametrize("view", [one for one in VIEWS if one.scope == "run"], ids=lambda view: view.id)
def test_ranks_of_a_view_of_a_run_are_reading_states(view: View) -> None:
    """The server appends those of ranks that are not read."""
    assert typing.get_type_hints(view.contract)["ranks"] == list[RankStateJson]
