"""Captures on the simulated NPU, in processes that have it; raw data that are no good; a process without the device."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from tb_npu_plugin.capture.backend import RAW_FOLDER
from tb_npu_plugin.capture.recording import raw_data
from tb_npu_plugin.capture.recording.host_lane import HostLane
from tb_npu_plugin.errors import BadFile
from tests.oracle.raw import FULL, Event, Raw
from tests.support.invariants import check_all
from tests.unit.capture.device.test_device import RUN, run
from tests.unit.capture.scripts import ROOT, needs_torch, run_python

HERE = Path(__file__).parent
EVENT = """
  {
    "ph": "X", "cat": "cpu_op", "name": "%s", "pid": 7, "tid": 8,
    "ts": %s, "dur": 1.501
    ,
    "args": {
      "Sequence number": 3, "Input type": ["float", "TensorList", "Scalar"], "Input Dims": [[2, 3], [[4], [5]], []]
    }
  }"""
FRAME = '{"schemaVersion": 1,\n"baseTimeNanoseconds": 1000000000000000000,\n"traceEvents": [%s\n  ],"traceName": "x"}'


@needs_torch
@pytest.mark.parametrize("which", ["not full", pytest.param("full", marks=FULL)])
def test_inside(which: str) -> None:
    """All tests of the folder `inside`, in a process that has the device."""
    inside = [*RUN, "-m", "pytest", "-p", "no:cacheprovider", "-m", which, HERE / "inside"]
    out, _ = run(inside, ROOT, PYTEST_ADDOPTS="")
    assert "100%" in out and "s" not in out.partition("[100%]")[0]  # none is skipped


def test_the_trace_keeps_nanoseconds_and_replaces_invalid_utf8_and_skips_a_bad_event(tmp_path: Path) -> None:
    names = (("aten::cat", "4400792140206.152"), ("bad", "oops"), ("model@.py(1): f", "4400792140207.153"))
    content = FRAME % ",".join(EVENT % name for name in names)
    (tmp_path / "t.json").write_bytes(content.encode().replace(b"@", b"\xe9"))
    recorded = HostLane(tmp_path / "t.json", lambda done: None)
    assert recorded.lost == 1
    assert [(call.info.name, call.start, call.end - call.start) for call in recorded.calls] == [
        ("aten::cat", 1004400792140206152, 1501),
        ("model\ufffd.py(1): f", 1004400792140207153, 1501),
    ]
    signature = recorded.calls[0].info
    assert signature.shapes == "2,3;\r\n4;\r\n5;\r\n"
    assert signature.types == "float;\r\nTensorList;\r\nTensorList;\r\nScalar"


@pytest.mark.parametrize("content", ["", "{}", '{"format": 4}', '{"format": 3}', "[[1]]"])
def test_raw_data_of_another_format(tmp_path: Path, content: str) -> None:
    (tmp_path / RAW_FOLDER).mkdir()
    (tmp_path / RAW_FOLDER / raw_data.CAPTURE).write_text(content)
    with pytest.raises(BadFile):
        raw_data.read(tmp_path)


#: Two captures of a script that has no device.
WITHOUT = """
import torch
from tb_npu_plugin.capture import pytorch as profiler
for _ in range(2):
    with profiler.profile(on_trace_ready=profiler.tensorboard_trace_handler("result")):
        torch.ones(4, 4) @ torch.ones(4, 4)
"""


@needs_torch
def test_a_process_without_the_device_is_told_so_once_and_shows_the_host(tmp_path: Path) -> None:
    done = run_python(WITHOUT, tmp_path, TB_NPU_BACKEND="mock")
    assert done.stderr.count("This process has no simulated NPU") == 1
    raw = Raw(next((tmp_path / "result").glob("*_ascend_pt")))
    assert "aten::mm" in {event["name"] for event in raw.slices} and not raw.has("kernel_details.csv")


#: A capture that ends in an exception; before, a child that the process forked inside it computes and goes.
ENDED = """
import os, torch, torch_npu
x = torch.ones(4, 4, device="npu")
with torch_npu.profiler.profile(on_trace_ready=torch_npu.profiler.tensorboard_trace_handler("result")):
    x @ x
    if not os.fork():
        torch.ones(4).exp()
        os._exit(0)
    assert os.wait()[1] == 0
    x.relu()
    raise ValueError("mine")
"""


@needs_torch
def test_a_script_that_forks_and_ends_in_an_exception_leaves_a_whole_result(tmp_path: Path) -> None:
    (tmp_path / "script.py").write_text(ENDED)
    _, errors = run([sys.executable, "-m", "tb_npu_plugin.capture.run", "script.py"], tmp_path, 1)
    assert errors.rstrip().endswith("ValueError: mine")
    (result,) = (tmp_path / "result").glob("*_ascend_pt")
    names = [row["Name"] for row in Raw(result).csv("kernel_details.csv")]
    assert [next(part for part in ("MatMul", "Relu") if part in name) for name in names] == ["MatMul", "Relu"]


@FULL
@needs_torch
def test_the_tutorial(tmp_path: Path) -> None:
    text = (ROOT / "docs" / "tutorial_capture.md").read_text()
    (tmp_path / "finetune.py").write_text(text.split("```python\n")[1].split("```")[0])
    run([*RUN, "finetune.py"], tmp_path)
    (result,) = (tmp_path / "result").glob("*_ascend_pt")
    check_all(result)
    types = {kernel["Type"] for kernel in Raw(result).kernels}
    assert {"FlashAttentionScore", "FlashAttentionScoreGrad", "LayerNormV3", "MatMulV3", "Cast"} <= types
    said = json.loads((result / "profiler_metadata.json").read_text())["tb_npu_simulated"]
    assert (said["operators_without_rule"], said["lost_records"]) == ([], 0)


#: What sets the task queue and the level; a capture on two streams with an event.
STREAMS = """
import os, torch, torch_npu
npu = torch_npu.profiler
level = npu._ExperimentalConfig(profiler_level=getattr(npu.ProfilerLevel, os.environ["LEVEL"]), export_type=["text", "db"])
x, stream = torch.ones(256, 256, device="npu"), torch.npu.Stream()
w = torch.ones(256, 256, device="npu", requires_grad=True)
with npu.profile(on_trace_ready=npu.tensorboard_trace_handler("result"), experimental_config=level):
    done = torch.npu.Event()
    with torch.npu.stream(stream):
        for _ in range(20):
            y = x @ x
        done.record()
    torch.npu.current_stream().wait_event(done)
    y.relu()
    (w @ x).sum().backward()
    torch.npu.synchronize()
"""


@FULL
@needs_torch
@pytest.mark.parametrize(("level", "queue"), [("Level0", "2"), ("Level2", "0"), ("Level2", "2")])
def test_a_stream_waits_for_the_event_of_another(level: str, queue: str, tmp_path: Path) -> None:
    """inside/test_real_run.py has Level1 and the usual queue."""
    (tmp_path / "script.py").write_text(STREAMS)
    run([*RUN, "script.py"], tmp_path, TASK_QUEUE_ENABLE=queue, LEVEL=level)
    check_wait(tmp_path, queue != "0")  # the invariants know by the name of a folder that there is no queue


def check_wait(folder: Path, with_invariants: bool = True) -> None:
    """The result of STREAMS in this folder: the last task begins when those of the other stream have ended."""
    (result,) = (folder / "result").glob("*_ascend_pt")
    if with_invariants:
        check_all(result)
    slices = Raw(result).slices

    def tasks(kind: str) -> list[Event]:
        return [event for event in slices if event.get("args", {}).get("Task Type") == kind]

    computing = tasks("AI_CORE")
    (last,) = [task for task in computing if "Relu" in task["name"]]
    others = [task for task in computing if task["tid"] != last["tid"]]
    assert len(others) == 20 and len({task["tid"] for task in others}) == 1
    (wait,) = [task for task in tasks("EVENT_WAIT_SQE") if task["tid"] == last["tid"]]
    done = max(task["ts"] + task["dur"] for task in others)
    assert done <= wait["ts"] + wait["dur"] <= last["ts"]
