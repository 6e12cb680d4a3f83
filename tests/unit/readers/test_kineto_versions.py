"""Traces as older versions of PyTorch wrote them: names of categories and keys, and what ids mean."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tb_npu_plugin.problems import ProblemLog
from tb_npu_plugin.readers.formats import READERS
from tb_npu_plugin.schema.formats import KINETO
from tb_npu_plugin.store.timeline.build import build_timeline
from tb_npu_plugin.tables import Table


def _tables(tmp_path: Path, events: list[dict[str, Any]], **head: Any) -> dict[str, Table]:
    trace, out = tmp_path / "node_1.pt.trace.json", tmp_path / "timeline"
    trace.write_text(json.dumps({"schemaVersion": 1, **head, "traceEvents": events}))
    out.mkdir()
    log, reader = ProblemLog(), READERS[KINETO.id]
    tables = build_timeline(trace, out, log, lambda _: None, None, reader.scan, reader.derive)
    assert not [problem for problem in log.list() if problem.severity != "info"]
    return tables


def _slice(cat: str, name: str, pid: int, tid: Any, ts: int, dur: int, **args: Any) -> dict[str, Any]:
    return {"ph": "X", "cat": cat, "name": name, "pid": pid, "tid": tid, "ts": ts, "dur": dur, "args": args}


def _device_self(tables: dict[str, Table]) -> dict[str | None, int]:
    operators = tables["operators"]
    return dict(zip(operators.text("name").tolist(), operators.ints("device_self_ns").tolist()))


def test_categories_of_torch_1_8(tmp_path: Path) -> None:
    """They were capitalised, steps were operators, streams were texts, and the device spelled its id in lower case."""
    tables = _tables(
        tmp_path,
        [
            _slice("Operator", "ProfilerStep#1", 9, "123", 50, 400, **{"External id": 1}),
            _slice("Operator", "aten::to", 9, "123", 200, 60, **{"Input dims": [[2, 8], []], "External id": 3}),
            _slice("Operator", "aten::add", 9, "123", 300, 60, **{"External id": 4}),
            _slice("Runtime", "cudaMemcpyAsync", 9, "123", 210, 20, **{"correlation": 334, "external id": 3}),
            _slice(
                "Memcpy",
                "Memcpy HtoD (Pageable -> Device)",
                0,
                "stream 7",
                265,
                10,
                **{"stream": 7, "correlation": 334, "external id": 3},
            ),
            _slice("Runtime", "cudaMemsetAsync", 9, "123", 310, 4, **{"correlation": 40344, "external id": 4}),
            _slice(
                "Memset",
                "Memset (Device)",
                0,
                "stream 7",
                320,
                5,
                **{"stream": 7, "correlation": 40344, "external id": 4},
            ),
            _slice("Runtime", "cudaLaunchKernel", 9, "123", 320, 4, **{"correlation": 40348, "external id": 4}),
            _slice(
                "Kernel",
                "gemm",
                0,
                "stream 7",
                330,
                15,
                **{"stream": 7, "correlation": 40348, "external id": 4, "device": 0},
            ),
        ],
    )
    assert _device_self(tables) == {"aten::to": 10_000, "aten::add": 20_000}
    assert tables["operators"].text("input_shapes").tolist() == ["2,8;", None]
    assert tables["kernels"].text("core").tolist() == ["MEMCPY", "MEMSET", "KERNEL"]
    assert tables["kernels"].text("step").tolist() == ["1"] * 3
    assert tables["step_trace"].ints("computing").tolist() == [15_000]


def test_external_ids_of_torch_1_13(tmp_path: Path) -> None:
    """The device and its calls repeat their correlation there, which may be the number of another operator: the one
    that ran on the thread of the call owns the kernel."""
    tables = _tables(
        tmp_path,
        [
            _slice("cpu_op", "aten::relu", 9, 9, 1000, 50, **{"External id": 7}),
            _slice("cpu_op", "AddmmBackward0", 9, 24922, 2000, 100, **{"External id": 8}),
            _slice("cpu_op", "aten::mm", 9, 24922, 2010, 58, **{"External id": 9}),
            _slice("cuda_runtime", "cudaLaunchKernel", 9, 9, 1010, 10, **{"External id": 8, "correlation": 8}),
            _slice("cuda_runtime", "cudaLaunchKernel", 9, 24922, 2020, 10, **{"External id": 7, "correlation": 7}),
            _slice("kernel", "relu_kernel", 0, 7, 1100, 11, **{"External id": 8, "device": 0, "correlation": 8}),
            _slice("kernel", "gemm", 0, 7, 2100, 45, **{"External id": 7, "device": 0, "correlation": 7}),
        ],
    )
    assert _device_self(tables) == {"aten::relu": 11_000, "AddmmBackward0": 0, "aten::mm": 45_000}
    assert tables["operators"].ints("device_total_ns").tolist() == [11_000, 45_000, 45_000]


def test_kernels_launched_by_an_annotation(tmp_path: Path) -> None:
    """They name the annotation, which is no operator: the operator around it owns them."""
    tables = _tables(
        tmp_path,
        [
            _slice("cpu_op", "outer", 9, 9, 1000, 100, **{"External id": 70}),
            _slice("user_annotation", "Optimizer.step#SGD.step", 9, 9, 1005, 80, **{"External id": 71}),
            _slice("cuda_runtime", "cudaLaunchKernel", 9, 9, 1010, 10, **{"External id": 71, "correlation": 8}),
            _slice("kernel", "foreach", 0, 7, 1100, 11, **{"External id": 71, "device": 0, "correlation": 8}),
        ],
    )
    assert _device_self(tables) == {"outer": 11_000}


def test_a_recorded_call_stack_comes_first(tmp_path: Path) -> None:
    """Some exporters write it at the operator."""
    tables = _tables(
        tmp_path,
        [
            _slice("python_function", "a.py(1): main", 9, 9, 1000, 900),
            _slice("cpu_op", "aten::add", 9, 9, 1110, 10, **{"Call stack": "b.py(2): forward;a.py(1): main"}),
        ],
    )
    assert tables["operators"].text("call_stack").tolist() == ["b.py(2): forward;\r\na.py(1): main"]


def test_correlation_0_is_none(tmp_path: Path) -> None:
    """Calls that launch nothing have it: work without a call belongs to the step in which it ran."""
    tables = _tables(
        tmp_path,
        [
            _slice("user_annotation", "ProfilerStep#1", 9, 9, 1000, 100),
            _slice("user_annotation", "ProfilerStep#2", 9, 9, 1100, 100),
            _slice("cpu_op", "aten::relu", 9, 9, 1010, 50, **{"External id": 7}),
            _slice("cuda_runtime", "cudaDeviceSynchronize", 9, 9, 1020, 10, **{"correlation": 0}),
            _slice("kernel", "relu_kernel", 0, 7, 1150, 11, **{"device": 0, "correlation": 0}),
        ],
    )
    assert tables["kernels"].text("step").tolist() == ["2"]
    assert _device_self(tables) == {"aten::relu": 0}


def test_figures_that_are_none(tmp_path: Path) -> None:
    """Older versions write N/A, inf and nan without quotation marks: their events were lost, or their ids."""
    trace, out = tmp_path / "node_1.pt.trace.json", tmp_path / "timeline"
    trace.write_text(
        '{"schemaVersion": 1, "traceEvents": ['
        '{"ph": "X", "cat": "cpu_op", "name": "aten::copy_", "pid": 9, "tid": 9, "ts": 1, "dur": 9, "args": {"External id": 3}},'
        '{"ph": "X", "cat": "gpu_memcpy", "name": "Memcpy", "pid": 0, "tid": 7, "ts": 2, "dur": 4, "args": {"External id": 3,'
        ' "device": 0, "stream": 7, "correlation": 8, "bytes": 64, "memory bandwidth (GB/s)": N/A, "x": inf, "y": -nan}}]}'
    )
    out.mkdir()
    log, reader = ProblemLog(), READERS[KINETO.id]
    tables = build_timeline(trace, out, log, lambda _: None, None, reader.scan, reader.derive)
    assert _device_self(tables) == {"aten::copy_": 4000}
    assert tables["kernels"].ints("copied_bytes").tolist() == [64]
    assert "bandwidth" not in [column.key for column in tables["kernels"].columns]
    assert [problem.code for problem in log.list()] == ["bad_json"]


def test_the_end_of_the_window_is_no_event(tmp_path: Path) -> None:
    """It stood 30 days after the last event, and so did the end of the timeline."""
    far = {"ph": "i", "s": "g", "name": "Record Window End", "pid": "", "tid": "", "ts": 30 * 86400 * 10**6}
    _tables(tmp_path, [_slice("cpu_op", "aten::relu", 9, 9, 1000, 50), far])
    meta = json.loads((tmp_path / "timeline" / "meta.json").read_text())
    assert meta["end_ns"] == 1_050_000
