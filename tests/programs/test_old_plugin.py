"""torch-tb-profiler-ascend, the plugin that ours replaces, opens what `tb-npu mock` writes and shows the same figures."""

from __future__ import annotations

import gzip
import json
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Callable
from urllib.parse import urlencode

import pytest

from benchmarks.server import tensorboard
from tb_npu_plugin.capture.models.run import Recipe
from tests.oracle.raw import Raw
from tests.programs import python_of
from tests.support.mock import rank_folder, written
from tests.unit.capture.scripts import needs_torch, run_python

pytestmark = pytest.mark.full
RECIPE = Recipe("tiny", 4, tp=2, steps=2, faults=("slow-rank:2:3",))
Get = Callable[..., Any]


#: An unchanged script on the simulated device.
SCRIPT = """
import torch
from tb_npu_plugin.capture.pytorch import torch_npu
model = torch.nn.Sequential(torch.nn.Linear(64, 64), torch.nn.ReLU(), torch.nn.Linear(64, 8)).npu()
optimizer = torch.optim.AdamW(model.parameters())
profiler = torch_npu.profiler
config = profiler._ExperimentalConfig(profiler_level=profiler.ProfilerLevel.Level1)
with profiler.profile(
    schedule=profiler.schedule(wait=0, warmup=1, active=2, repeat=1), record_shapes=True, profile_memory=True,
    with_stack=True, experimental_config=config, on_trace_ready=profiler.tensorboard_trace_handler("capture"),
) as prof:
    for _ in range(4):
        model(torch.randn(16, 64).npu()).square().mean().backward()
        optimizer.step()
        optimizer.zero_grad()
        prof.step()
"""


@pytest.fixture(scope="module")
def results() -> Path:
    return written(RECIPE)[0]


@pytest.fixture(scope="module")
def get(results: Path) -> Iterator[Get]:
    yield from _asked(results)


def _asked(results: Path) -> Iterator[Get]:
    """Ask the old plugin: its route and parameters to the JSON that it answers."""
    with tensorboard(results, {"PYTHONPATH": ""}, python_of("old-plugin")) as server:

        def ask(route: str, **params: str) -> Any:
            url = f"{server.url}data/plugin/pytorch_profiler/{route}?{urlencode({'run': results.name, **params})}"
            with urllib.request.urlopen(url, timeout=300) as answer:
                content = answer.read()
            return json.loads(gzip.decompress(content) if content[:2] == b"\x1f\x8b" else content)

        end = time.monotonic() + 300
        while ask("runs") != {"runs": [results.name], "loading": False}:
            assert time.monotonic() < end, server.said(50)
            time.sleep(0.1)
        yield ask
        assert not [line for line in server.said(500).splitlines() if line.startswith("E") or "Traceback" in line]


@pytest.fixture(scope="module")
def of_rank(get: Get, results: Path) -> Get:
    """The same for one rank: its number and the route."""

    def ask(rank: int, view: str, route: str, **params: str) -> Any:
        worker = worker_of(results, rank)
        assert worker in get("workers", view=view)
        (span,) = get("spans", worker=worker)
        return get(route, worker=worker, span=span, **params)

    return ask


def worker_of(results: Path, rank: int) -> str:
    return "_".join(rank_folder(results, rank).name.split("_")[:2])


def test_it_offers_all_its_views_of_the_run(get: Get) -> None:
    found = get("views")
    assert found["device_target"] == "Ascend"
    assert set(found["views"]) == {"Operator", "Kernel", "Trace", "Distributed", "Memory"}


@pytest.mark.parametrize("rank", [0, 3])
def test_figures_are_those_of_the_files(of_rank: Get, results: Path, rank: int) -> None:
    raw = Raw(rank_folder(results, rank))
    rows = raw.csv("operator_details.csv")
    shown = {row["name"]: row for row in of_rank(rank, "Operator", "operation/table", group_by="Operation")["data"]}
    assert set(shown) == {row["Name"] for row in rows}
    for name, row in shown.items():
        own = [found for found in rows if found["Name"] == name]
        assert row["calls"] == len(own)
        for key, header in (
            ("host_self_duration", "Host Self Duration(us)"),
            ("device_self_duration", "Device Self Duration(us)"),
        ):
            assert row[key] == pytest.approx(sum(float(found[header]) for found in own), abs=0.005 * len(own) + 0.01)
    assert of_rank(rank, "Operator", "operation/stack", group_by="Operation", op_name="aten::matmul")["data"]
    assert len(of_rank(rank, "Kernel", "kernel/table", group_by="Kernel")["data"]["rows"]) == len(raw.kernels)
    assert of_rank(rank, "Trace", "trace") == raw.json("trace_view.json")
    blocks = of_rank(rank, "Memory", "memory_events")["operator"]["rows"][f"NPU:{rank}"]
    assert len(blocks) == len(raw.csv("operator_memory.csv"))
    total = dict(of_rank(rank, "Kernel", "kernel")["total"]["rows"])
    expected = sum(float(row["Duration(us)"]) for row in raw.kernels)
    assert sum(total.values()) == pytest.approx(expected, abs=0.01 * len(total))


def test_distributed_shows_the_slow_rank(get: Get, results: Path) -> None:
    assert get("workers", view="Distributed") == ["All"]
    (span,) = get("spans", worker="All")
    overlap, waits, operators = (
        get(f"distributed/{name}", worker="All", span=span)["data"] for name in ("overlap", "waittime", "commops")
    )
    computing = {worker: times[0] for worker, times in overlap["all"].items()}
    raw, slow = Raw(rank_folder(results, 2)), worker_of(results, 2)
    assert len(computing) == 4 and max(computing, key=lambda worker: computing[worker]) == slow
    expected = sum(float(row["Computing"]) for row in raw.csv("step_trace_time.csv"))
    assert overlap["2"][slow][0] == pytest.approx(expected)
    assert sum(row[1] for row in operators[slow]["rows"]) == len(raw.communicating)
    assert set(waits["all"]) == set(computing)


@needs_torch
def test_capture_of_a_script_opens(tmp_path: Path) -> None:
    done = run_python(SCRIPT, tmp_path, TB_NPU_BACKEND="mock")
    assert done.returncode == 0, done.stderr
    (result,) = (tmp_path / "capture").iterdir()
    raw = Raw(result)
    for get in _asked(tmp_path / "capture"):
        assert set(get("views")["views"]) == {"Operator", "Kernel", "Trace", "Memory"}
        (worker,) = get("workers", view="Kernel")
        (span,) = get("spans", worker=worker)
        assert len(get("kernel/table", worker=worker, span=span, group_by="Kernel")["data"]["rows"]) == len(raw.kernels)
        assert get("trace", worker=worker, span=span) == raw.json("trace_view.json")
        names = get("operation/table", worker=worker, span=span, group_by="Operation")["data"]
        assert {row["name"] for row in names} == {row["Name"] for row in raw.csv("operator_details.csv")}
