"""Views of hand-made spans: parameters, fallbacks, what is unknown."""

from __future__ import annotations

import json
import typing
from typing import Any

import pytest

from tb_npu_plugin.errors import BadRequest, NotFound
from tb_npu_plugin.model import Capture
from tb_npu_plugin.schema.registry import TABLES
from tb_npu_plugin.tables import empty
from tb_npu_plugin.views import data_pipeline, diff, distributed, kernel, memory, operator, overview, step_trace
from tb_npu_plugin.views.availability import facts_of_span, is_available
from tb_npu_plugin.views.base import View, ViewInput, ViewResult
from tb_npu_plugin.views.registry import VIEWS, find_view
from tb_npu_plugin.views.tables_json import inline_tables
from tests.support.span import TestSpan, table_of

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


def test_kernel_shows_the_files_statistic_only_while_no_step_is_chosen() -> None:
    span = TestSpan({"kernels": KERNELS, "op_statistic": STATISTIC})

    whole, one = build(kernel, span), build(kernel, span, step="2")

    assert whole.data["types_source"] == "op_statistic.csv"
    assert whole.tables["types"].table.text("type").tolist() == ["X"]
    assert one.data["types_source"] == "kernel_details.csv"
    assert one.tables["types"].table.text("type").tolist() == ["A"]
    assert (one.data["kernels"], one.data["computing_ns"], one.data["communication_ns"]) == (1, 30, 0)
    assert one.data["steps"] == whole.data["steps"] == ["1", "2", None]


def test_kernels_of_no_step() -> None:
    result = build(kernel, TestSpan({"kernels": KERNELS}), step="null")

    assert result.tables["all"].table.text("name").tolist() == ["h"]
    assert result.data["cores"] == [{"core": "HCCL", "calls": 1, "total_ns": 5, "communication": True}]


@pytest.mark.parametrize("step", ["9", "null", "mean", " 1"])
def test_the_course_of_a_step_that_is_not_there_is_refused(step: str) -> None:
    """It was that of the mean."""
    span = TestSpan({"kernels": KERNELS})
    assert build(step_trace, span).data["chosen"] is None and build(step_trace, span, step="2").data["chosen"] == "2"
    with pytest.raises(BadRequest, match="is not a step"):
        build(step_trace, span, step=step)


def test_overview_without_step_trace_computes_the_steps_and_is_reported() -> None:
    data = build(overview, TestSpan({"kernels": KERNELS})).data

    assert data["steps_source"] == "kernel_details.csv"
    assert [(step["step"], step["computing"], step["bubble"]) for step in data["steps"]] == [
        ("1", 10, None),
        ("2", 30, None),
    ]


def test_overview_falls_back_to_the_files_statistic() -> None:
    tables = build(overview, TestSpan({"op_statistic": STATISTIC})).tables

    assert tables["kernels"].table.text("type").tolist() == ["X"]


def test_a_type_without_a_total_does_not_lead() -> None:
    rows = [{"type": "unknown", "core": "Y"}, {"type": "X", "core": "Y", "total_ns": 9}]
    tables = build(overview, TestSpan({"op_statistic": table_of("op_statistic", rows)})).tables

    assert tables["kernels"].table.text("type").tolist() == ["X", "unknown"]


def test_capture_facts() -> None:
    capture = Capture(
        rank=3,
        aic_metrics="ACL_AICORE_MEMORY_UB",
        switches={"with_stack": True, "l2_cache": False},
        start_ns=1_700_000_000_000_000_001,
        end_ns=1_700_000_000_000_000_009,
    )
    table = table_of("memory_record", [{"component": "APP", "time_ns": 1, "device": "NPU:5"}])

    facts = build(overview, TestSpan({"memory_record": table}, capture)).data["capture"]

    assert (facts["rank"], facts["aic_metrics"]) == (3, "MemoryUB")
    assert (facts["recorded"], facts["not_recorded"]) == (["with_stack"], ["l2_cache"])
    assert (facts["start_ns"], facts["duration_ns"]) == ("1700000000000000001", 8)
    assert facts["device_ids"] == [5]


def test_operators_top_by_host_time_where_nothing_ran_on_a_device() -> None:
    rows = [
        {"name": "a", "host_self_ns": 1, "device_self_ns": 0},
        {"name": "b", "host_self_ns": 2, "device_self_ns": 0},
    ]

    tables = build(overview, TestSpan({"operators": table_of("operators", rows)})).tables

    assert tables["operators"].sort == "host_self_ns"
    assert tables["operators"].table.text("name").tolist() == ["b", "a"]


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
        "op_memory": table_of("op_memory", [{"name": "a", "size_bytes": 7, "alloc_ns": 1005, "device": "NPU:0"}]),
        "module_memory": table_of(
            "module_memory",
            [
                {"component": name, "time_ns": 1000, "reserved_bytes": size, "device": "NPU:0"}
                for name, size in (("HCCL", 5), ("SLOG", 0))
            ],
        ),
    }
)


def test_memory_times_are_offsets() -> None:
    data = build(memory, MEMORY).data

    assert data["devices"] == ["NPU:0", "NPU:1"]
    assert [(curve["device"], curve["time"]) for curve in data["curves"]] == [("NPU:0", [0, 10]), ("NPU:1", [20])]
    assert data["peaks"][0]["allocated_at"] == 10
    assert data["range_ns"] == [0, 20]
    assert data["size_range"] == [7, 7]


@pytest.mark.parametrize(("t0", "t1", "times"), [("-9", "-5", [0]), ("50", "60", [10]), ("5", "5", [0, 10])])
def test_memory_of_a_range(t0: str, t1: str, times: list[int]) -> None:
    data = build(memory, MEMORY, device="NPU:0", t0=t0, t1=t1).data

    assert [curve["time"] for curve in data["curves"]] == [times]


def test_a_range_that_ends_before_it_begins_is_refused() -> None:
    with pytest.raises(BadRequest):
        build(memory, MEMORY, t0="20", t1="10")


def test_memory_of_a_device_that_is_not_there_is_refused() -> None:
    table = table_of("memory_record", [{"component": "APP", "time_ns": 1, "device": "NPU:5"}])
    with pytest.raises(BadRequest, match="device='NPU:0' is not"):
        build(memory, TestSpan({"memory_record": table}), device="NPU:0")


def test_only_modules_that_hold_memory_have_curves_but_all_are_in_the_table() -> None:
    result = build(memory, MEMORY)

    assert [curve["component"] for curve in result.data["module_curves"]] == ["HCCL"]
    assert result.tables["modules"].table.text("component").tolist() == ["HCCL", "SLOG"]


def test_memory_live_at_counts_from_the_base() -> None:
    assert len(build(memory, MEMORY, live_at="4").tables["allocations"].table) == 0
    assert len(build(memory, MEMORY, live_at="5").tables["allocations"].table) == 1


@pytest.mark.parametrize("params", [{"t0": "x"}, {"t1": "1.5"}, {"points": "-"}, {"live_at": "9" * 30}])
def test_memory_refuses_what_is_no_number(params: dict[str, str]) -> None:
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


def test_diff_shows_what_both_sides_have() -> None:
    rich = TestSpan({"kernels": KERNELS, "operators": table_of("operators", [{"name": "mm", "host_self_ns": 1}])})
    poor = TestSpan({"operators": table_of("operators", [{"name": "mm", "host_self_ns": 3}])})

    result = build(diff, rich, poor)

    assert set(result.tables) == {"operators"}
    assert result.tables["operators"].sort == "difference_host_self_ns"
    assert result.data["steps"] == []  # one side has no step
    assert result.data["steps"] == []


@pytest.mark.parametrize("view", [view for view in VIEWS if view.id != "trace"], ids=lambda view: view.id)
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


def test_operators_of_the_host_alone_are_in_the_order_of_its_time() -> None:
    rows = [{"name": name, "host_self_ns": time, "device_self_ns": 0} for name, time in (("a", 1), ("b", 9))]
    for device, order in ((0, "host_self_ns"), (5, "device_self_ns")):
        table = table_of("operators", [*rows, {"name": "c", "host_self_ns": 2, "device_self_ns": device}])
        found = build(operator, TestSpan({"operators": table})).tables
        assert (found["by_name"].sort, found["by_shape"].sort) == (order, order)


def test_find_view() -> None:
    assert find_view("kernel") is kernel.VIEW
    with pytest.raises(NotFound):
        find_view("nothing")
