"""Traces of GPUs: names and ids of older PyTorch versions, unusual steps, damaged figures."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from tb_npu_plugin.analysis.steps.of_span import steps_and_source
from tb_npu_plugin.analysis.steps.partition import from_step_trace
from tb_npu_plugin.problems import Problem, ProblemLog
from tb_npu_plugin.readers.formats import READERS
from tb_npu_plugin.scan import MEMORY
from tb_npu_plugin.schema.formats import KINETO
from tb_npu_plugin.store.timeline.build import build_timeline
from tb_npu_plugin.tables import Table
from tb_npu_plugin.views.base import device_kind
from tests.support.span import TestSpan

READER = READERS[KINETO.id]
NAME = "node_1.pt.trace.json"
Event = dict[str, Any]


def slice_(cat: str, name: str, ts: float, dur: float, tid: Any = 9, pid: int = 9, **args: Any) -> Event:
    return {"ph": "X", "cat": cat, "name": name, "pid": pid, "tid": tid, "ts": ts, "dur": dur, "args": args}


def kernel(number: int, ts: float, dur: float, name: str = "k", **args: Any) -> Event:
    return slice_("kernel", name, ts, dur, 7, 0, correlation=number, device=0, stream=7, **args)


def launch(number: int, ts: float, tid: int = 9, **args: Any) -> Event:
    return slice_("cuda_runtime", "cudaLaunchKernel", ts, 1, tid, correlation=number, **args)


def mark(step: str, start: int, end: int, tid: int = 9) -> Event:
    return slice_("user_annotation", f"ProfilerStep#{step}", start, end - start, tid)


def read_text(folder: Path, text: str) -> tuple[dict[str, Table], list[Problem]]:
    trace, out, log = folder / NAME, folder / "timeline", ProblemLog()
    trace.write_text(text)
    out.mkdir()
    return build_timeline(trace, out, log, lambda _: None, None, READER.scan, READER.derive), log.list()


def read(folder: Path, *events: Event, **head: Any) -> tuple[dict[str, Table], list[Problem]]:
    return read_text(folder, json.dumps({"schemaVersion": 1, **head, "traceEvents": events}))


def sound(folder: Path, *events: Event) -> dict[str, Table]:
    """The tables of events without errors."""
    tables, problems = read(folder, *events)
    assert not [problem for problem in problems if problem.severity != "info"]
    return tables


def device_self(tables: dict[str, Table]) -> dict[str | None, int]:
    operators = tables["operators"]
    return dict(zip(operators.text("name").tolist(), operators.ints("device_self_ns").tolist()))


def test_categories_of_torch_1_8(tmp_path: Path) -> None:
    """Capitalised categories, steps as operators, streams as text, device ids in lower case."""

    def device(cat: str, name: str, ts: int, dur: int, number: int, **args: Any) -> Event:
        return slice_(cat, name, ts, dur, "stream 7", 0, **{"stream": 7, "correlation": number, **args})

    tables = sound(
        tmp_path,
        slice_("Operator", "ProfilerStep#1", 50, 400, "123", **{"External id": 1}),
        slice_("Operator", "aten::to", 200, 60, "123", **{"Input dims": [[2, 8], []], "External id": 3}),
        slice_("Operator", "aten::add", 300, 60, "123", **{"External id": 4}),
        slice_("Runtime", "cudaMemcpyAsync", 210, 20, "123", **{"correlation": 334, "external id": 3}),
        device("Memcpy", "Memcpy HtoD (Pageable -> Device)", 265, 10, 334, **{"external id": 3}),
        slice_("Runtime", "cudaMemsetAsync", 310, 4, "123", **{"correlation": 40344, "external id": 4}),
        device("Memset", "Memset (Device)", 320, 5, 40344, **{"external id": 4}),
        slice_("Runtime", "cudaLaunchKernel", 320, 4, "123", **{"correlation": 40348, "external id": 4}),
        device("Kernel", "gemm", 330, 15, 40348, **{"external id": 4, "device": 0}),
    )
    assert device_self(tables) == {"aten::to": 10_000, "aten::add": 20_000}
    assert tables["operators"].text("input_shapes").tolist() == ["2,8;", None]
    assert tables["kernels"].text("core").tolist() == ["MEMCPY", "MEMSET", "KERNEL"]
    assert tables["kernels"].text("step").tolist() == ["1"] * 3
    assert tables["step_trace"].ints("computing").tolist() == [15_000]


def test_external_ids_of_torch_1_13(tmp_path: Path) -> None:
    """Kernels and calls repeat their correlation there: the operator on the thread of the call owns the kernel."""
    tables = sound(
        tmp_path,
        slice_("cpu_op", "aten::relu", 1000, 50, **{"External id": 7}),
        slice_("cpu_op", "AddmmBackward0", 2000, 100, 24922, **{"External id": 8}),
        slice_("cpu_op", "aten::mm", 2010, 58, 24922, **{"External id": 9}),
        launch(8, 1010, **{"External id": 8}),
        launch(7, 2020, 24922, **{"External id": 7}),
        kernel(8, 1100, 11, **{"External id": 8}),
        kernel(7, 2100, 45, **{"External id": 7}),
    )
    assert device_self(tables) == {"aten::relu": 11_000, "AddmmBackward0": 0, "aten::mm": 45_000}
    assert tables["operators"].ints("device_total_ns").tolist() == [11_000, 45_000, 45_000]


def test_operator_around_an_annotation_owns_its_kernels(tmp_path: Path) -> None:
    tables = sound(
        tmp_path,
        slice_("cpu_op", "outer", 1000, 100, **{"External id": 70}),
        slice_("user_annotation", "Optimizer.step#SGD.step", 1005, 80, **{"External id": 71}),
        launch(8, 1010, **{"External id": 71}),
        kernel(8, 1100, 11, **{"External id": 71}),
    )
    assert device_self(tables) == {"outer": 11_000}


def test_recorded_call_stack_comes_first(tmp_path: Path) -> None:
    stack = {"Call stack": "b.py(2): forward;a.py(1): main"}
    tables = sound(
        tmp_path, slice_("python_function", "a.py(1): main", 1000, 900), slice_("cpu_op", "add", 1110, 10, **stack)
    )
    assert tables["operators"].text("call_stack").tolist() == ["b.py(2): forward;\r\na.py(1): main"]


def test_stacks_of_equal_calls_are_one(tmp_path: Path) -> None:
    """Methods have the address of their object in the name."""
    method = "<built-in method add of Tensor object at 0x7f0{}>"
    tables = sound(
        tmp_path,
        slice_("python_function", "a.py(1): main", 1000, 900),
        *(slice_("python_function", method.format(at), 1100 + 200 * at, 100) for at in (0, 1)),
        *(slice_("cpu_op", "aten::add", 1110 + 200 * at, 10) for at in (0, 1)),
        slice_("cpu_op", "aten::mul", 1500, 10),
        slice_("cpu_op", "AddBackward0", 1500, 10, 10),
    )
    stacks = tables["operators"].text("call_stack")
    add = "<built-in method add of Tensor object>;\r\na.py(1): main"
    assert stacks.tolist() == [add, add, "a.py(1): main", None]
    assert len(stacks.values) == 2


def test_correlation_0_is_no_launch(tmp_path: Path) -> None:
    tables = sound(
        tmp_path,
        mark("1", 1000, 1100),
        mark("2", 1100, 1200),
        slice_("cpu_op", "aten::relu", 1010, 50, **{"External id": 7}),
        slice_("cuda_runtime", "cudaDeviceSynchronize", 1020, 10, correlation=0),
        kernel(0, 1150, 11),
    )
    assert tables["kernels"].text("step").tolist() == ["2"]
    assert device_self(tables) == {"aten::relu": 0}


def test_figures_that_are_no_json(tmp_path: Path) -> None:
    """Older versions write N/A, inf and nan without quotes."""
    tables, problems = read_text(
        tmp_path,
        '{"schemaVersion": 1, "traceEvents": ['
        '{"ph": "X", "cat": "cpu_op", "name": "a", "pid": 9, "tid": 9, "ts": 1, "dur": 9, "args": {"External id": 3}},'
        '{"ph": "X", "cat": "gpu_memcpy", "name": "Memcpy", "pid": 0, "tid": 7, "ts": 2, "dur": 4, "args": '
        '{"External id": 3, "device": 0, "stream": 7, "correlation": 8, "bytes": 64, "memory bandwidth (GB/s)": N/A, '
        '"x": inf, "y": -nan}}]}',
    )
    assert device_self(tables) == {"a": 4000}
    assert tables["kernels"].ints("copied_bytes").tolist() == [64]
    assert "bandwidth" not in [column.key for column in tables["kernels"].columns]
    assert [problem.code for problem in problems] == ["bad_json"]


def test_end_of_the_window_is_no_event(tmp_path: Path) -> None:
    far = {"ph": "i", "s": "g", "name": "Record Window End", "pid": "", "tid": "", "ts": 30 * 86400 * 10**6}
    sound(tmp_path, slice_("cpu_op", "aten::relu", 1000, 50), far)
    assert json.loads((tmp_path / "timeline" / "meta.json").read_text())["end_ns"] == 1_050_000


Row = tuple[Any, ...]
#: Test id: (marks: step, start, end[, thread]; launches: id, time[, thread]; kernels: id, time, duration;
#: (stage, computing, free) of each step; step of each kernel).
STEP_CASES: dict[str, tuple[list[Row], list[Row], list[Row], dict[str, Row], list[str | None]]] = {
    "kernels without a launch belong to the step that runs": (
        [("1", 0, 10), ("2", 10, 20), ("3", 20, 200)],
        [(1, 5), (2, 15), (3, 25)],
        [(0, 12, 3), (1, 30, 20), (0, 52, 8), (2, 70, 20), (0, 95, 2), (3, 100, 10)],
        {"1": (40, 28, 12), "2": (30, 22, 8), "3": (10, 10, 0)},
        [None, "1", "1", "2", "2", "3"],
    ),
    "thread 2 is a step behind, thread 3 (backward) has no marks": (
        [("1", 0, 10), ("2", 10, 20), ("1", 5, 15, 2), ("2", 15, 30, 2)],
        [(1, 2), (2, 12, 2), (3, 12), (4, 25, 3)],
        [(number, 30 + 10 * number, 5) for number in (1, 2, 3, 4)],
        {"1": (20, 10, 10), "2": (15, 10, 5)},
        ["1", "1", "2", "2"],
    ),
    "a repeated name is another step": (
        [("5", 0, 10), ("6", 10, 20), ("5", 20, 30)],
        [(1, 2), (2, 12), (3, 22)],
        [(1, 40, 5), (2, 50, 5), (3, 60, 5)],
        {"5": (10, 5, 5), "6": (10, 5, 5), "5 (2)": (5, 5, 0)},
        ["5", "6", "5 (2)"],
    ),
    "marks of one step while it runs are one step": (
        [("1", 0, 100), ("1", 200, 300)],
        [(1, 10), (2, 210)],
        [(1, 20, 5), (2, 220, 5)],
        {"1": (205, 10, 195)},
        ["1", "1"],
    ),
}


@pytest.mark.parametrize("case", STEP_CASES)
def test_steps(tmp_path: Path, case: str) -> None:
    marks, launches, kernels, expected, kernel_steps = STEP_CASES[case]
    events = [*(mark(*row) for row in marks), *(launch(*row) for row in launches), *(kernel(*row) for row in kernels)]
    tables, _ = read(tmp_path, *events)
    found = from_step_trace(tables["step_trace"])
    figures = {
        one.step: tuple(v // 1000 for v in (one.stage, one.computing, one.free) if v is not None) for one in found
    }
    assert figures == expected
    assert tables["kernels"].text("step").tolist() == kernel_steps


def test_events_with_negative_duration_are_skipped(tmp_path: Path) -> None:
    events = [slice_("cpu_op", "a", 0, -10), slice_("cpu_op", "b", 0, 10), kernel(1, 20, -5), kernel(2, 40, 5)]
    tables, problems = read(tmp_path, *events)
    assert tables["operators"].text("name").tolist() == ["b"]
    assert tables["kernels"].ints("dur_ns").tolist() == [5_000] == tables["step_trace"].ints("stage").tolist()
    assert ("incomplete_event", 2) in {(problem.code, problem.count) for problem in problems}


@pytest.mark.parametrize("base", [10**19, True, "1700000000000000000"])
def test_bad_base_time_leaves_times_as_they_are(tmp_path: Path, base: Any) -> None:
    tables, problems = read(tmp_path, kernel(1, 20, 5), baseTimeNanoseconds=base)
    assert tables["kernels"].ints("start_ns").tolist() == [20_000]
    (found,) = [problem for problem in problems if problem.severity == "warning"]
    assert (found.code, found.where, found.found) == ("bad_base_time", "baseTimeNanoseconds", str(base))


BASE = 1_700_000_000_000_000_000


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize(("moment", "base"), [(20, BASE), (BASE / 1000 + 20, 0)])
def test_base_time_after_the_events(tmp_path: Path, packed: bool, moment: float, base: int) -> None:
    trace = tmp_path / (NAME + ".gz" * packed)
    last = f', "baseTimeNanoseconds": {base}' if base else ""
    text = json.dumps({"schemaVersion": 1, "traceEvents": [kernel(1, moment, 5)]})[:-1] + last + "}"
    trace.write_bytes(gzip.compress(text.encode()) if packed else text.encode())
    assert READER.scan(trace, ProblemLog(), lambda _: None, MEMORY).ts.tolist() == [BASE + 20_000]
    if packed:
        log = ProblemLog()
        trace.write_bytes(trace.read_bytes()[:-9])
        assert len(READER.scan(trace, log, lambda _: None, MEMORY)) == 1
        assert [problem.code for problem in log.list()] == ["truncated_gzip"]


def test_bad_message_sizes_are_unknown(tmp_path: Path) -> None:
    sizes = [(2**62, "Double"), (True, "Float"), (10, "Float")]
    tables, _ = read(
        tmp_path,
        *(
            kernel(number, 10 * number, 5, "ncclDevKernel_AllReduce", **{"In msg nelems": size, "dtype": kind})
            for number, (size, kind) in enumerate(sizes, 2)
        ),
    )
    assert len(tables["comm_ops"]) == 3
    assert tables["comm_bandwidth"].ints("size_bytes").tolist() == [40]
    assert tables["comm_bandwidth"].floats("bandwidth").tolist() == [40 / 5_000]


def test_versions(tmp_path: Path) -> None:
    versions = {
        "cuda_runtime_version": 12040,
        "hip_runtime_version": 60241134,
        "hip_driver_version": 303,
        "cuda_driver_version": 0,
    }
    (tmp_path / NAME).write_text(json.dumps({"schemaVersion": 1, **versions, "traceEvents": []}))
    found = READER.capture(tmp_path, [NAME], ProblemLog()).versions
    assert found == {"CUDA runtime": "12.4", "HIP runtime": "6.2.41134", "HIP driver": "303"}


def test_shapes_with_huge_numbers_are_unknown(tmp_path: Path) -> None:
    events = [slice_("cpu_op", "a", 0, 10, **{"Input Dims": [["SIZE", 2]]}), slice_("cpu_op", "b", 20, 10)]
    text = json.dumps({"schemaVersion": 1, "traceEvents": events}).replace('"SIZE"', "9" * 5000)
    assert read_text(tmp_path, text)[0]["operators"].text("input_shapes").tolist() == [None, None]


def test_mtia_device_is_reported(tmp_path: Path) -> None:
    tables, problems = read(tmp_path, slice_("cpu_op", "add", 0, 10), slice_("mtia_ccp_events", "k", 5, 9, 7))
    assert "kernels" not in tables
    assert [(problem.code, problem.found) for problem in problems] == [("other_device", "events of an MTIA device")]
    assert device_kind(TestSpan(tables, format=KINETO.id)) == ""


def test_communication_without_nccl_is_no_computing(tmp_path: Path) -> None:
    """The reader knows NCCL's kernels; what others mean is asked when answering."""
    name = "void at::native::symm_mem::multimem_all_reduce_kernel<float, 4>(float*)"
    tables = sound(
        tmp_path,
        mark("1", 0, 1000),
        launch(1, 10),
        launch(2, 20),
        launch(3, 30),
        kernel(1, 100, 50, "gemm"),
        kernel(2, 150, 100, name),
        kernel(3, 300, 10, "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)"),
    )
    assert tables["step_trace"].ints("communication").tolist() == [10_000]
    span = TestSpan(tables, format=KINETO.id)
    [step] = steps_and_source(span)[0]
    assert (step.computing, step.communication, step.copying) == (50_000, 110_000, 0)
    assert step.preparing == from_step_trace(tables["step_trace"])[0].preparing
    kernels = span.table("kernels")
    assert kernels is not None
    assert kernels.text("type").tolist() == ["matmul", "collective", "collective"]
