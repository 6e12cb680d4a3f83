"""Operator times rebuilt from the trace: against operator_details.csv of real captures, and small cases."""

from __future__ import annotations

import csv
import os
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path

import numpy as np
import pytest

from tb_npu_plugin.analysis.operators.tree import FRACTION, OperatorEvents, rebuild, with_children
from tb_npu_plugin.problems import ProblemLog
from tb_npu_plugin.scan import scan_trace
from tb_npu_plugin.scan.args import ArgsFile
from tb_npu_plugin.store.timeline.operators import load_operators, read_operators, write_operators
from tb_npu_plugin.tables import NULL_INT

REAL = Path(os.environ.get("NPU_REAL_DATA") or Path(__file__).parents[4] / "shared" / "real-data")
TIMES = {
    "host_self_ns": "Host Self Duration(us)",
    "host_total_ns": "Host Total Duration(us)",
    "device_self_ns": "Device Self Duration(us)",
    "device_total_ns": "Device Total Duration(us)",
    "device_self_aicore_ns": "Device Self Duration With AICore(us)",
    "device_total_aicore_ns": "Device Total Duration With AICore(us)",
}


def nanos(text: str) -> int:
    """The file prints float sums, e.g. 425.06850000000003: without the noise, in ns, half to even."""
    return round(round(Decimal(text) * 1000, 6))


@pytest.mark.parametrize("rank", [0, 1])
def test_reproduces_operator_details(rank: int, tmp_path: Path) -> None:
    folder = REAL / f"ascend_pt_text_level1/rank{rank}_ascend_pt/ASCEND_PROFILER_OUTPUT"
    if not folder.is_dir():
        pytest.skip(f"real data are not at {REAL}")
    csv.field_size_limit(1 << 24)
    with (folder / "operator_details.csv").open(newline="", encoding="utf-8") as file:
        wanted = list(csv.DictReader(file))
    trace = folder / "trace_view.json"
    events = scan_trace(trace, ProblemLog(), lambda n: None)
    with ArgsFile(trace) as args:
        write_operators(tmp_path, events, read_operators(tmp_path, events, args))
    table = load_operators(tmp_path)
    assert len(table) == len(wanted) == 859
    assert table.text("name").tolist() == [row["Name"] for row in wanted]
    for key, header in TIMES.items():
        assert table.ints(key).tolist() == [nanos(row[header]) for row in wanted], key
    for key, header in (("input_shapes", "Input Shapes"), ("call_stack", "Call Stack")):
        found = [(text or "").replace("\r\n", "\n") for text in table.text(key).tolist()]
        assert found == [row[header].replace("\r\n", "\n") for row in wanted]


def times(
    ops: list[tuple[int, int, int]],
    enqueues: list[tuple[int, int, int]] = [],  # noqa: B006 - never changed
    dequeues: list[tuple[int, int, int]] = [],  # noqa: B006
    launches: list[tuple[int, int, bool]] = [],  # noqa: B006
) -> Callable[[str], list[int]]:
    def column(rows: list, index: int, dtype: type = np.int64) -> np.ndarray:
        return np.array([row[index] for row in rows], dtype=dtype)

    result = rebuild(
        OperatorEvents(
            *(column(ops, index) for index in range(3)),
            *(column(enqueues, index) for index in range(3)),
            *(column(dequeues, index) for index in range(3)),
            column(launches, 0),
            column(launches, 1) * FRACTION,
            column(launches, 2, bool),
        )
    )
    return lambda name: getattr(result, name).tolist()


def test_operators_of_another_thread_nest_too() -> None:
    found = times([(0, 100, 1), (10, 20, 2), (40, 10, 1), (200, 5, 1)])
    assert found("parent") == [-1, 0, 0, -1]
    assert found("host_self") == [70, 20, 10, 5]


def test_an_entry_belongs_to_the_innermost_operator_of_its_own_thread() -> None:
    ops = [(0, 100, 1), (10, 20, 1), (50, 20, 2)]
    enqueues = [(15, 1, 7), (55, 1, 8), (90, 1, 9)]  # the second falls into an operator of thread 2: not counted
    dequeues = [(200, 10, 7), (220, 10, 8), (240, 10, 9)]
    launches = [(205, 1000, True), (206, 100, False), (225, 10, True), (245, 1, True), (300, 5, True)]
    found = times(ops, enqueues, dequeues, launches)
    assert found("device_self") == [1, 1100, 0]
    assert found("device_total") == [1101, 1100, 0]
    assert found("device_self_aicore") == [1, 1000, 0]
    assert found("device_total_aicore") == [1001, 1000, 0]


def test_a_task_launched_at_the_very_end_of_a_dequeue_belongs_to_it() -> None:
    found = times(
        [(0, 100, 1)], [(15, 1, 7), (20, 1, 8)], [(200, 10, 7), (211, 10, 9)], [(210, 5, True), (211, 3, True)]
    )
    assert found("device_self") == [5]


def test_entries_without_a_number_are_nobodys() -> None:
    found = times(
        [(0, 100, 1)],
        [(15, 1, NULL_INT), (20, 1, 8)],
        [(200, 10, NULL_INT), (220, 10, 8)],
        [(205, 5, True), (225, 3, True)],
    )
    assert found("device_self") == [3]


def test_without_a_task_queue_the_operator_that_runs_launches() -> None:
    found = times([(0, 100, 1), (10, 20, 1)], launches=[(15, 40, True), (90, 2, False), (500, 1, True)])
    assert found("device_self") == [2, 40]
    assert found("device_total") == [42, 40]
    assert found("device_total_aicore") == [40, 40]


def test_durations_that_cannot_be_do_not_end_it() -> None:
    """Ten times 146 years are more than int64 holds in ns."""
    parent, none = np.array([-1, *[0] * 10]), np.zeros(11, dtype=np.int64)
    assert (with_children(parent, np.full(11, 2**62)) > 0).all()
    assert with_children(parent, none + 3).tolist() == [33, *[3] * 10]


def test_no_device_data_give_zeros_and_no_operators_nothing() -> None:
    assert times([(0, 10, 1)])("device_total") == [0]
    assert times([])("host_self") == []


def test_entries_from_before_the_recording_belong_to_nothing() -> None:
    assert times([(0, 100, 1)], [], [(200, 10, 7)], [(205, 5, True)])("device_self") == [0]
