"""Captures on the simulated NPU, in processes that have it; raw data that are no good; a process without the device."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tb_npu_plugin.capture.backend import RAW_FOLDER
from tb_npu_plugin.capture.recording import raw_data
from tb_npu_plugin.capture.recording.host_lane import Reader
from tb_npu_plugin.errors import BadFile
from tests.oracle.raw import FULL, Raw
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
    recorded = Reader().read(tmp_path / "t.json", lambda done: None)
    assert recorded.lost == 1
    assert [(call.signature.name, call.start, call.end - call.start) for call in recorded.calls] == [
        ("aten::cat", 1004400792140206152, 1501),
        ("model\ufffd.py(1): f", 1004400792140207153, 1501),
    ]
    signature = recorded.calls[0].signature
    assert signature.shapes == "2,3;\r\n4;\r\n5;\r\n"
    assert signature.types == "float;\r\nTensorList;\r\nTensorList;\r\nScalar"


@pytest.mark.parametrize("content", ["", "{}", '{"format": 2}', '{"format": 1}', "[[1]]"])
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
