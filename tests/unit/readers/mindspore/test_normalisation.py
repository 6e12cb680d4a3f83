"""What MindSpore's tables are turned into: names, steps, kinds of communication, memory."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import numpy as np
import pytest

from tb_npu_plugin.model import Capture
from tb_npu_plugin.problems import ProblemLog
from tb_npu_plugin.readers.mindspore import links, marks, reader
from tb_npu_plugin.readers.shared.reading import Reading
from tb_npu_plugin.readers.shared.report import FileReport
from tests.support.span import table_of
from tests.unit.readers.files import rows


def test_names_are_split_at_the_last_slash_and_kept_in_full() -> None:
    kinds = {
        "Kernel::KernelLaunch::Default/a/X-op1/x": ("x", "Default/a/X-op1"),
        "y": ("y", None),
        "Kernel::KernelLaunch::Default/b/X-op2/x": ("x", "Default/b/X-op2"),
        "PynativeFramework::LaunchTask::Add/aclnnAdd": ("aclnnAdd", "Add"),
        "Default/net/MatMul-op1": ("MatMul-op1", None),  # a graph's kernel that no launch was found for
        "Kernel::KernelLaunch::Default/": ("Kernel::KernelLaunch::Default/", None),
    }
    named = [{"name": name, "start_ns": 1, "dur_ns": 1} for name in kinds]
    table = reader.with_short_names(table_of("kernels", named))
    assert list(zip(table.text("name").tolist(), table.text("scope").tolist())) == [*kinds.values()]
    assert table.text("full_name").tolist() == [*kinds]
    assert table.text("name").values.count("x") == 1  # one value for both, so that they are one group


def test_a_kernel_counted_to_the_last_step_before_it_began_has_none() -> None:
    log = ProblemLog()
    recorded = [{"step": "0", "start_ns": 100, "end_ns": 200}, {"step": "1", "start_ns": 210, "end_ns": 300}]
    counted = [(50, "1"), (150, "0"), (209, "1"), (210, "1"), (250, "0"), (400, "1")]
    launched = [{"name": "x", "start_ns": at, "dur_ns": 1, "step": step} for at, step in counted]
    report = FileReport(log, "kernel_details.csv")
    table = reader.remove_impossible_steps(table_of("kernels", launched), table_of("step_marks", recorded), report)
    # At 250 one of step 0 still runs; at 400 one may have been launched in step 1: both are as the profiler says.
    assert table.text("step").tolist() == [None, "0", None, "1", "0", "1"]
    assert [(one.code, one.count, one.severity, one.found) for one in log.list()] == [
        ("outside_steps", 2, "info", "step 1")
    ]


def test_kernels_tell_whether_steps_were_marked() -> None:
    with_steps, without = (
        table_of("kernels", [{"name": "x", "start_ns": 1, "dur_ns": 1, **more}]) for more in ({"step": "0"}, {})
    )
    scheduled = Capture(schedule={"wait": 0, "active": 1})
    assert reader.are_marked(with_steps, Capture())
    assert not reader.are_marked(without, scheduled)  # jit level O2
    assert reader.are_marked(None, scheduled)
    assert not reader.are_marked(None, Capture())


def _trace(*names: str) -> str:
    of = {"ph": "X", "args": {"a": {"b": "{"}}, "pid": 1, "tid": 7, "dur": "10.250"}
    events = [{**of, "ts": f"{number}000.500", "name": name} for number, name in enumerate(names, 1)]
    return json.dumps([{"ph": "M", "name": "ProfilerStep#no", "pid": 1}, *events], indent=1)


@pytest.mark.parametrize("packed", [False, True])
def test_marks_are_found_without_reading_the_rest(tmp_path: Path, packed: bool) -> None:
    text = _trace("x" * 40_000, "ProfilerStep#0", "PythonObserved::ProfilerStep#1", "y" * 40_000)
    path = tmp_path / ("trace_view.json.gz" if packed else "trace_view.json")
    path.write_bytes(gzip.compress(text.encode()) if packed else text.encode())
    log = ProblemLog()
    assert rows(marks.read_marks(Reading(path, path.name, log))) == [
        {"step": "0", "start_ns": 2_000_500, "end_ns": 2_010_750},
        {"step": "1", "start_ns": 3_000_500, "end_ns": 3_010_750},
    ]
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


def test_links_of_single_operators_are_the_total_of_their_type() -> None:
    of = {"step": "1", "kind": "collective", "group": "7", "src": 0, "dst": 1, "transport": "HCCS"}
    links_ = [("allreduce", "total", 5), ("allreduce", "top1", 5), ("hcom_allGather__067_1_1", None, 7)]
    for number, size in ((1, 10), (2, 30)):
        links_ += [(f"hcom_send__067_{number}_1@7", stat, size) for stat in ("top1", "middle", "total")]
    table = table_of(
        "comm_links",
        [
            {
                **of,
                "op_type": op,
                "stat": stat,
                "size_bytes": size,
                "time_ns": 2 * size,
                "bandwidth": 0.5,
                "op_name": op,
            }
            for op, stat, size in links_
        ],
    )
    assert [
        (row["op_type"], row["stat"], row["size_bytes"], row["time_ns"], row["bandwidth"])
        for row in rows(links.by_type(table))
    ] == [
        ("allreduce", "total", 5, 10, 0.5),
        ("allreduce", "top1", 5, 10, 0.5),
        ("allgather", "total", 7, 14, 0.5),  # databases have no statistic
        ("send", "total", 40, 80, 0.5),
    ]


def test_columns_that_are_never_recorded_are_left_out() -> None:
    allocations = [
        {"name": "a", "size_bytes": 1, "alloc_ns": 1, "active_release_ns": known, "active_dur_ns": None}
        for known in (None, 5)
    ]
    table = table_of("op_memory", allocations)
    assert reader.without_unknown(table).has("active_release_ns")
    assert not reader.without_unknown(table.take(np.array([0]))).has("active_release_ns")
