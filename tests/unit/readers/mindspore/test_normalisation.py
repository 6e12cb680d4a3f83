"""What MindSpore's tables are turned into: names, steps, kinds of communication, memory."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from tb_npu_plugin.model import Capture
from tb_npu_plugin.problems import ProblemLog
from tb_npu_plugin.readers.mindspore import kernels, links, marks, memory, steps
from tb_npu_plugin.readers.shared.reading import Reading
from tb_npu_plugin.readers.shared.report import FileReport
from tb_npu_plugin.tables import NULL_INT, Table
from tests.support.span import table_of


@pytest.mark.parametrize(
    ("name", "kernel", "scope"),
    [
        ("Kernel::KernelLaunch::Default/net/MatMul-op1/aclnnMatmul", "aclnnMatmul", "Default/net/MatMul-op1"),
        ("PynativeFramework::LaunchTask::Add/aclnnAdd", "aclnnAdd", "Add"),
        ("Default/net/MatMul-op1", "MatMul-op1", ""),  # a graph's kernel that no launch was found for
        ("hcom_allReduce__974_0_1", "hcom_allReduce__974_0_1", ""),
        ("Kernel::KernelLaunch::Default/", "Kernel::KernelLaunch::Default/", ""),
    ],
)
def test_names_are_split_at_the_last_slash(name: str, kernel: str, scope: str) -> None:
    assert kernels.split(name) == (kernel, scope)


def test_the_full_name_stays_in_a_column() -> None:
    names = ["Kernel::KernelLaunch::Default/a/X-op1/x", "y", "Kernel::KernelLaunch::Default/b/X-op2/x"]
    table = kernels.with_short_names(
        table_of("kernels", [{"name": name, "start_ns": 1, "dur_ns": 1} for name in names])
    )
    assert table.text("name").tolist() == ["x", "y", "x"]
    assert table.text("name").values == ["x", "y"]  # one value for both, so that they are one group
    assert table.text("full_name").tolist() == names
    assert table.text("scope").tolist() == ["Default/a/X-op1", None, "Default/b/X-op2"]


MARKS = [{"step": "0", "start_ns": 100, "end_ns": 200}, {"step": "1", "start_ns": 210, "end_ns": 300}]


def _checked(rows: list[tuple[int, str]]) -> tuple[Table, ProblemLog]:
    log = ProblemLog()
    table = table_of("kernels", [{"name": "x", "start_ns": at, "dur_ns": 1, "step": step} for at, step in rows])
    return steps.remove_impossible_steps(
        table, table_of("step_marks", MARKS), FileReport(log, "kernel_details.csv")
    ), log


def test_a_kernel_counted_to_the_last_step_before_it_began_has_none() -> None:
    table, log = _checked([(50, "1"), (150, "0"), (205, "1"), (220, "1"), (250, "0"), (400, "1")])
    # At 250 one of step 0 still runs; at 400 one may have been launched in step 1: both are as the profiler says.
    assert table.text("step").tolist() == [None, "0", None, "1", "0", "1"]
    assert [(problem.code, problem.count, problem.severity) for problem in log.list()] == [("outside_steps", 2, "info")]


def test_without_marks_the_whole_capture_is_no_step() -> None:
    whole = table_of("step_trace", [{"step": "0", "computing": 1}])
    assert steps.without_whole(whole).text("step").tolist() == [None]
    several = table_of("step_trace", [{"step": "0"}, {"step": "1"}])
    assert steps.without_whole(several) is several


def test_kernels_tell_whether_steps_were_marked() -> None:
    with_steps, without = (
        table_of("kernels", [{"name": "x", "start_ns": 1, "dur_ns": 1, **more}]) for more in ({"step": "0"}, {})
    )
    scheduled = Capture(schedule={"wait": 0, "active": 1})
    assert steps.are_marked(with_steps, Capture())
    assert not steps.are_marked(without, scheduled)  # jit level O2
    assert steps.are_marked(None, scheduled)
    assert not steps.are_marked(None, Capture())


def _trace(*names: str) -> str:
    events = [
        {
            "ph": "X",
            "args": {"a": {"b": "{"}},
            "pid": 1,
            "tid": 7,
            "ts": f"{number + 1}000.500",
            "dur": "10.250",
            "name": name,
        }
        for number, name in enumerate(names)
    ]
    return json.dumps([{"ph": "M", "name": "ProfilerStep#no", "pid": 1}, *events], indent=1)


@pytest.mark.parametrize("packed", [False, True])
def test_marks_are_found_without_reading_the_rest(tmp_path: Path, packed: bool) -> None:
    text = _trace("x" * 40_000, "ProfilerStep#0", "PythonObserved::ProfilerStep#1", "y" * 40_000)
    path = tmp_path / ("trace_view.json.gz" if packed else "trace_view.json")
    path.write_bytes(gzip.compress(text.encode()) if packed else text.encode())
    log = ProblemLog()
    table = marks.read_marks(Reading(path, path.name, log))
    assert table.text("step").tolist() == ["0", "1"]
    assert table.ints("start_ns").tolist() == [2_000_500, 3_000_500]
    assert table.ints("end_ns").tolist() == [2_010_750, 3_010_750]
    assert log.list() == []


@pytest.mark.parametrize("block", range(900, 1100, 7))
def test_a_mark_on_the_border_of_two_blocks_counts_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, block: int
) -> None:
    monkeypatch.setattr(marks, "_BLOCK", block)
    monkeypatch.setattr(marks, "_EVENT", 400)
    path = tmp_path / "trace_view.json"
    path.write_text(_trace(*(f"ProfilerStep#{number}" for number in range(12))), encoding="utf-8")
    found = marks.read_marks(Reading(path, path.name, ProblemLog()))
    assert found.text("step").tolist() == [str(number) for number in range(12)]


def test_sends_are_point_to_point_whatever_the_case() -> None:
    names = ["hcom_send__1", "hcom_receive__2", "hcom_batchSendRecv__3", "hcom_allReduce__4"]
    table = table_of("comm_ops", [{"name": name, "kind": "collective"} for name in names])
    assert links.with_point_to_point(table, "name").text("kind").tolist() == ["p2p", "p2p", "p2p", "collective"]


def _link(op_type: str, stat: str | None, size: int, step: str | None = "1") -> dict[str, object]:
    return {
        "step": step,
        "kind": "collective",
        "op_type": op_type,
        "stat": stat,
        "group": "7",
        "src": 0,
        "dst": 1,
        "transport": "HCCS",
        "size_bytes": size,
        "time_ns": 2 * size,
        "bandwidth": 0.5,
        "op_name": op_type,
    }


def test_links_of_single_operators_are_the_total_of_their_type() -> None:
    rows = [_link("allreduce", "total", 5), _link("allreduce", "top1", 5)]
    for number, size in ((1, 10), (2, 30)):
        for stat in ("top1", "middle", "total"):
            rows.append(_link(f"hcom_send__067_{number}_1@7", stat, size))
    table = links.by_type(table_of("comm_links", rows))
    found = [
        (
            table.text("op_type")[row],
            table.text("stat")[row],
            int(table.ints("size_bytes")[row]),
            int(table.ints("time_ns")[row]),
            float(table.floats("bandwidth")[row]),
        )
        for row in range(len(table))
    ]
    assert found == [
        ("allreduce", "total", 5, 10, 0.5),
        ("allreduce", "top1", 5, 10, 0.5),
        ("send", "total", 40, 80, 0.5),
    ]


def test_links_of_databases_have_no_statistic() -> None:
    rows = [_link("hcom_allReduce__067_1_1", None, 1), _link("hcom_allReduce__067_2_1", None, 2)]
    table = links.by_type(table_of("comm_links", rows))
    assert (table.text("op_type").tolist(), table.ints("size_bytes").tolist()) == (["allreduce"], [3])


def test_what_the_process_allocated_is_unknown() -> None:
    rows = [
        {"component": name, "time_ns": 1, "allocated_bytes": 0, "reserved_bytes": 9, "active_bytes": 0}
        for name in ("APP", "MindSpore")
    ]
    table = memory.without_zeros(table_of("memory_record", rows))
    assert table.ints("allocated_bytes").tolist() == [NULL_INT, 0]
    assert table.ints("active_bytes").tolist() == [NULL_INT, 0]
    assert table.ints("reserved_bytes").tolist() == [9, 9]


def test_columns_that_are_never_recorded_are_left_out() -> None:
    rows = [
        {"name": "a", "size_bytes": 1, "alloc_ns": 1, "active_release_ns": known, "active_dur_ns": None}
        for known in (None, None)
    ]
    assert not memory.without_unknown(table_of("op_memory", rows)).has("active_release_ns")
    rows[0]["active_release_ns"] = 5
    assert memory.without_unknown(table_of("op_memory", rows)).has("active_release_ns")
