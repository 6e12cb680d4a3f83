"""Runs on the simulated NPU: the files of a result agree, and what the API calls record is in them."""

from __future__ import annotations

import gzip
import json
import os
import threading
import warnings
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest import mock

import pytest
from click.testing import CliRunner

from tb_npu_plugin import __version__
from tb_npu_plugin.capture import pytorch as profiler
from tb_npu_plugin.capture.recording import torch_profiler
from tb_npu_plugin.capture.recording.parse import parse
from tb_npu_plugin.cli.entry import cli
from tests.oracle.raw import Raw, ns
from tests.support.invariants import check_all, query
from tests.unit.capture.recording.test_recording import STREAMS, check_wait
from tests.unit.store.results import settle

ALL = {"record_shapes": True, "profile_memory": True, "with_stack": True, "with_modules": True}


def train(
    out: Path,
    export: tuple[str, ...] = ("text",),
    npu: bool = True,
    active: int = 2,
    warmup: int = 1,
    **switches: Any,
) -> Path:
    """Train 2 steps and `active` more, which are recorded into a result folder below `out`; gives the folder."""
    import torch

    torch.set_num_threads(1)
    torch.manual_seed(0)
    image = torch.nn.Sequential(torch.nn.Conv2d(3, 16, 4, 4), torch.nn.BatchNorm2d(16), torch.nn.GELU()).npu()
    layer = torch.nn.TransformerEncoderLayer(16, 2, 32, dropout=0.1, batch_first=True).npu()
    head = torch.nn.Linear(16, 5).npu()
    optimizer = torch.optim.AdamW([*image.parameters(), *layer.parameters(), *head.parameters()])
    x, y = torch.randn(2, 3, 16, 16).npu(), torch.tensor([0, 1]).npu()
    settings = profiler._ExperimentalConfig(
        profiler_level=profiler.ProfilerLevel.Level1,
        export_type=list(export),
        aic_metrics=profiler.AiCMetrics.PipeUtilization,
        gc_detect_threshold=0.0,
        data_simplification=False,
    )
    with profiler.profile(
        activities=[profiler.ProfilerActivity.CPU] + [profiler.ProfilerActivity.NPU] * npu,
        schedule=profiler.schedule(wait=2 - warmup, warmup=warmup, active=active, repeat=1),
        on_trace_ready=profiler.tensorboard_trace_handler(str(out)),
        experimental_config=settings,
        **switches,
    ) as profile:
        for _ in range(2 + active):
            optimizer.zero_grad()
            loss = torch.nn.functional.cross_entropy(head(layer(image(x).flatten(2).transpose(1, 2)).mean(1)), y)
            loss.backward()
            optimizer.step()
            loss.item()
            profile.step()
    return next(out.glob("*_ascend_pt"), out)


def kernels(folder: Path) -> list[tuple[str, ...]]:
    """Step, name, type and shapes of the kernels of a result."""
    return [(row.get("Step Id", ""), row["Name"], row["Type"], row["Input Shapes"]) for row in Raw(folder).kernels]


@pytest.fixture(scope="module")
def result(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The result folder of a run with all switches, as text and database."""
    with mock.patch.dict(os.environ, {"RANK": "0"}):
        made = train(tmp_path_factory.mktemp("run"), export=("text", "db"), **ALL)
    settle(made)
    return made


def test_the_files_agree_and_say_that_they_are_simulated(result: Path) -> None:
    assert check_all(result) == {f"{number:02}" for number in range(1, 17)} - {"12"}
    output = CliRunner().invoke(cli, ["doctor", str(result.parent)]).output
    assert "1 taken, 0 not taken, 0 problems" in output
    said = json.loads((result / "profiler_metadata.json").read_text())["tb_npu_simulated"]
    assert said == {"by": f"tb-npu-plugin {__version__}", "operators_without_rule": [], "lost_records": 0}
    assert json.loads(dict(query(result, "SELECT name, value FROM META_DATA"))["tb_npu_simulated"]) == said


def test_the_backward_pass_has_a_thread_and_the_device_the_kernels_of_the_operators(result: Path) -> None:
    raw = Raw(result)
    (convolution, *_) = [row for row in raw.csv("operator_details.csv") if row["Name"] == "aten::conv2d"]
    assert convolution["Input Shapes"].startswith("2,3,16,16;\r\n16,3,4,4;\r\n16;\r\n")
    assert "test_real_run.py" in convolution["Call Stack"]
    backward = [event for event in raw.slices if event["name"] == "ConvolutionBackward0"]
    main_tid = next(event["tid"] for event in raw.slices if event["name"] == "aten::conv2d")
    assert [event["tid"] != main_tid and bool(event["args"]["Fwd thread id"]) for event in backward] == [True, True]
    kernels = raw.kernels
    (convolution, *_) = [row for row in kernels if row["Type"] == "Conv2D"]
    assert convolution["Input Shapes"] == '"2,1,16,16,8;16,1,16,8"'
    assert convolution["Output Shapes"] == '"2,2,4,4,8"'
    assert {"Conv2DBackpropFilter", "MatMulV2", "LayerNormV3", "Gelu"} <= {row["Type"] for row in kernels}
    assert {row["Step Id"] for row in kernels} == {"2", "3"}


def test_the_same_raw_data_give_the_same_files(result: Path, tmp_path: Path) -> None:
    parse(result, tmp_path, ["text"], lambda progress: None)
    for path in tmp_path.iterdir():
        assert path.read_bytes() == (result / "ASCEND_PROFILER_OUTPUT" / path.name).read_bytes(), path.name


def test_marks_and_ranges_are_on_the_host_and_with_a_stream_on_the_device(tmp_path: Path) -> None:
    import torch

    mstx, stream = profiler.mstx, SimpleNamespace(npu_stream=0)
    x = torch.ones(64, 64, device="npu", requires_grad=True)
    config = profiler._ExperimentalConfig(
        profiler_level=profiler.ProfilerLevel.Level1, mstx=True, mstx_domain_exclude=["no"], export_type=["text", "db"]
    )

    def work() -> None:
        with mstx.annotate("everywhere", stream, "mine"):
            y = x @ x
            with mstx.annotate("host only"):
                y = y.relu()
        mstx.mark("point", stream)
        mstx.mark("excluded", stream, "no")
        y.sum().backward()
        mstx.range_start("still open", stream)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        raw = record(tmp_path, work, experimental_config=config)
    device = [event for event in raw.slices if event.get("args", {}).get("Task Type") == "MsTx"]
    assert [event["name"] for event in device] == ["everywhere", "point"]
    since, until = device[0]["ts"], device[0]["ts"] + device[0]["dur"]
    tasks = [event for event in raw.slices if event.get("args", {}).get("Task Type") == "AI_CORE"]
    inside = [event["name"] for event in tasks if since <= event["ts"] and event["ts"] + event["dur"] <= until]
    assert all(any(name in task for task in inside) for name in ("MatMul", "Relu"))
    rows = query(
        raw.folder,
        "SELECT m.value, d.value, e.name, x.endNs > x.startNs, TASK.startNs, TASK.endNs FROM MSTX_EVENTS AS x "
        "JOIN STRING_IDS AS m ON m.id = message JOIN STRING_IDS AS d ON d.id = domainId "
        "JOIN ENUM_MSTX_EVENT_TYPE AS e ON e.id = eventType LEFT JOIN TASK ON TASK.connectionId = x.connectionId",
    )
    assert {row[:4] for row in rows} == {
        ("everywhere", "mine", "start/end", 1),
        ("host only", "default", "start/end", 1),
        ("point", "default", "marker_ex", 0),
        ("still open", "default", "start/end", 1),
    }
    shown = {(event["name"], ns(event["ts"]), ns(event["ts"] + event["dur"])) for event in device}
    assert {(row[0], row[4], row[5]) for row in rows if row[4] is not None} == shown


def test_a_stream_waits_for_the_event_of_another(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("LEVEL", "Level1")
    exec(STREAMS, {})
    check_wait(tmp_path)


def record(out: Path, work: Callable[[], Any], **switches: Any) -> Raw:
    """The result of a capture without a schedule."""
    with profiler.profile(on_trace_ready=profiler.tensorboard_trace_handler(str(out)), **switches):
        work()
    return Raw(next(out.glob("*_ascend_pt")))


@pytest.mark.parametrize("moment", ["start_trace", "stop"])
def test_control_c_leaves_no_profiler_of_pytorch_behind(
    moment: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In a notebook the next capture begins; a folder in which nothing was recorded is gone, one that was is kept."""
    import torch

    owner: Any = torch.profiler._KinetoProfile if moment == "start_trace" else torch_profiler
    do, interrupts = getattr(owner, moment), [KeyboardInterrupt]

    def interrupted(*arguments: Any) -> None:
        if moment != "stop" or not interrupts:
            do(*arguments)
        if interrupts:
            raise interrupts.pop()

    monkeypatch.setattr(owner, moment, interrupted)
    plan = None if moment == "start_trace" else profiler.schedule(0, 2, 1)
    handler = profiler.tensorboard_trace_handler(str(tmp_path))
    with pytest.raises(KeyboardInterrupt), profiler.profile(on_trace_ready=handler, schedule=plan) as prof:
        prof.step()
    assert not torch_profiler.is_running()
    left = {path.name for path in tmp_path.iterdir()}
    assert len(left) == (moment == "stop")
    name = "back\\slash \udc80"  # PyTorch does not take such names
    raw = record(tmp_path / name, lambda: torch.ones(4, 4, device="npu") @ torch.ones(4, 4, device="npu"))
    assert "aten::mm" in [row["Name"] for row in raw.csv("operator_details.csv")]
    assert {path.name for path in tmp_path.iterdir()} == {name, *left}


def test_threads_that_ask_for_it_are_recorded(tmp_path: Path) -> None:
    import torch

    def thread() -> None:
        torch.zeros(3, device="npu").sin()
        profiler.profile.enable_profiler_in_child_thread()
        torch.zeros(3, device="npu").cos()
        profiler.profile.disable_profiler_in_child_thread()
        torch.zeros(3, device="npu").tan()

    def work() -> None:
        one = threading.Thread(target=thread)
        one.start()
        one.join()
        torch.zeros(3, device="npu").exp()

    raw = record(tmp_path, work)
    math = ("aten::sin", "aten::cos", "aten::tan", "aten::exp")
    shown = {event["name"]: event["tid"] for event in raw.slices if event["name"] in math}
    assert shown.keys() == {"aten::cos", "aten::exp"} and shown["aten::cos"] != shown["aten::exp"]
    kernels = [row["Name"] for row in raw.csv("kernel_details.csv")]
    assert all(any(name in kernel for kernel in kernels) for name in ("Cos", "Exp"))


def test_a_memory_timeline_is_that_of_torch_profiler(tmp_path: Path) -> None:
    import torch

    model = torch.nn.Sequential(torch.nn.Linear(64, 64), torch.nn.ReLU(), torch.nn.Linear(64, 8)).npu()
    optimizer = torch.optim.Adam(model.parameters())
    with profiler._KinetoProfile(record_shapes=True, profile_memory=True, with_stack=True) as profile:
        for _ in range(2):
            optimizer.zero_grad()
            model(torch.randn(16, 64, device="npu")).sum().backward()
            optimizer.step()
    recorder: Any = profile.prof_if.recorded

    for name in ("raw.json.gz", "plain.json"):
        contents = []
        for side, owner, device in (("ours", profile, "npu:0"), ("torch", recorder._profiler, "npu:0")):
            path = tmp_path / f"{side}.{name}"
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                owner.export_memory_timeline(str(path), device=device)
            data = path.read_bytes()
            contents.append(json.loads(gzip.decompress(data) if name.endswith(".gz") else data))
        ours, theirs = contents
        assert ours == theirs
        assert name != "raw.json.gz" or len({category for *_, category in theirs}) > 4
