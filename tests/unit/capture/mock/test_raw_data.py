"""Raw data without PyTorch: what cannot be used says why."""

from __future__ import annotations

import json
import threading
from pathlib import Path

import pytest

from tb_npu_plugin.capture.backend import RAW_FOLDER, Settings
from tb_npu_plugin.capture.mock import operators
from tb_npu_plugin.capture.mock.host import CAPTURE, TRACE, HostData, read
from tb_npu_plugin.capture.mock.kineto import LIST, Reader, Signature
from tb_npu_plugin.capture.mock.recorder import MockRecorder
from tb_npu_plugin.capture.mock.replay import Clock
from tb_npu_plugin.capture.simulation.chips import CHIPS, DEFAULT_CHIP
from tb_npu_plugin.capture.simulation.kernels import KernelFactory
from tb_npu_plugin.errors import BadFile

EVENT = """
  {{
    "ph": "X", "cat": "cpu_op", "name": "{name}", "pid": 7, "tid": 8,
    "ts": {ts}, "dur": 1.501
    ,
    "args": {{
      "Sequence number": 3, "Input type": ["float", "TensorList", "Scalar"], "Input Dims": [[2, 3], [[4], [5]], []]
    }}
  }}"""
FRAME = '{{"schemaVersion": 1,\n"baseTimeNanoseconds": 1000000000000000000,\n"traceEvents": [{events}\n  ],"traceName": "x"}}'


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / RAW_FOLDER).mkdir()
    return tmp_path


def test_a_thread_that_opens_a_range_does_not_disturb_the_end() -> None:
    # stop() goes through the open ranges: one that came meanwhile was an error that cost the capture.
    recorder = MockRecorder()
    thread = threading.Thread(target=recorder.range_start, args=(1, "late", "default", None))
    with recorder._lock:
        thread.start()
        thread.join(0.2)
        assert recorder._ranges == {}, "it waits"
    thread.join()
    assert list(recorder._ranges) == [1]


def test_an_interrupted_capture_says_so(folder: Path) -> None:
    HostData(Settings(), 1, 0, 5).write(folder)
    with pytest.raises(BadFile, match="interrupted"):
        read(folder)


def test_host_data_come_back(folder: Path) -> None:
    data = HostData(Settings(rank=3, world=8, export_types=("db",)), 1, 3, 5, 2, 9, collections=[(6, 7, 2)])
    data.write(folder)
    (folder / RAW_FOLDER / TRACE).touch()
    found = read(folder)
    assert found.settings == data.settings
    assert (found.start, found.end, list(map(tuple, found.collections))) == (5, 9, [(6, 7, 2)])


def test_a_mark_that_is_no_utf8_costs_its_letter_only(folder: Path) -> None:
    # no result file takes half of a surrogate pair: it cost the capture
    data = HostData(Settings(environment={"HCCL_ALGO": "\udc80"}), 1, 0, 5, end=9)
    data.marks = [(6, 7, 2, "load dat\udcff\u00e9", "default", None)]
    data.write(folder)
    (folder / RAW_FOLDER / TRACE).touch()
    found = read(folder)
    assert [mark[3] for mark in found.marks] == ["load dat?\u00e9"]
    assert found.settings.environment == {"HCCL_ALGO": "?"}


@pytest.mark.parametrize("content", ["", "{}", '{"format": 2}', "[]"])
def test_other_files_are_bad(folder: Path, content: str) -> None:
    (folder / RAW_FOLDER / CAPTURE).write_text(content)
    with pytest.raises(BadFile):
        read(folder)


def test_times_keep_their_nanoseconds_and_a_bad_event_costs_itself(tmp_path: Path) -> None:
    events = [
        EVENT.format(name="aten::cat", ts="4400792140206.152"),
        EVENT.format(name="bad", ts="oops"),
        EVENT.format(name="aten::add", ts="4400792140207.153"),
    ]
    path = tmp_path / "t.json"
    path.write_text(FRAME.format(events=",".join(events)))
    recorded = Reader().read(path, lambda done: None)
    assert recorded.lost == 1
    assert [(call.signature.name, call.start, call.end - call.start) for call in recorded.calls] == [
        ("aten::cat", 1004400792140206152, 1501),
        ("aten::add", 1004400792140207153, 1501),
    ]
    signature = recorded.calls[0].signature
    assert signature.tensors == (((2, 3), "float"), ((4,), LIST), ((5,), LIST))
    assert signature.shapes == "2,3;\r\n4;\r\n5;\r\n"
    assert signature.types == "float;\r\nTensorList;\r\nTensorList;\r\nScalar"


@pytest.mark.parametrize("ts", ["0.001", "7889399999999.999", "4400792140206.007", "12.000"])
def test_no_nanosecond_is_lost_in_a_quarter_of_a_year(tmp_path: Path, ts: str) -> None:
    path = tmp_path / "t.json"
    path.write_text(FRAME.format(events=EVENT.format(name="aten::cat", ts=ts)))
    (call,) = Reader().read(path, lambda done: None).calls
    assert call.start == 10**18 + int(ts.replace(".", ""))


def test_a_name_that_is_no_utf8_costs_its_letters_only(tmp_path: Path) -> None:
    events = ",".join(EVENT.format(name=name, ts="1.000") for name in ("aten::cat", "model@.py(1): f"))
    path = tmp_path / "t.json"
    path.write_bytes(FRAME.format(events=events).encode().replace(b"@", b"\xe9"))
    recorded = Reader().read(path, lambda done: None)
    assert [call.signature.name for call in recorded.calls] == ["aten::cat", "model\ufffd.py(1): f"]
    assert recorded.lost == 0


def test_no_trace_is_bad(tmp_path: Path) -> None:
    path = tmp_path / "t.json"
    path.write_text(json.dumps({"a": 1}))
    with pytest.raises(BadFile):
        Reader().read(path, lambda done: None)


def test_a_wait_moves_what_comes_after_it() -> None:
    clock = Clock()
    clock.wait(100, 150)
    clock.wait(200, 220)  # in the past: nothing to wait for
    clock.wait(300, 360)
    assert [clock(at) for at in (99, 100, 299, 300, 301)] == [99, 150, 349, 360, 361]


def test_kernels_of_a_strided_convolution() -> None:
    values = ("", "", "", "[2, 2]", "[1, 1]", "[1, 1]", "False", "[0, 0]", "1")
    tensors = tuple((shape, "float") for shape in ((2, 3, 9, 9), (8, 3, 3, 3)))
    found = operators.launches(KernelFactory(CHIPS[DEFAULT_CHIP]), Signature("aten::convolution", tensors, values))
    assert [(launch.kernel.type, launch.kernel.outputs) for launch in found][2] == ("Conv2D", "2,1,5,5,8")


@pytest.mark.parametrize("name", ["aten::view", "aten::empty", "aten::matmul", "autograd::engine::evaluate", "a range"])
def test_what_launches_nothing(name: str) -> None:
    signature = Signature(name, (((2, 2), "float"), ((2, 2), "float")))
    assert operators.launches(KernelFactory(CHIPS[DEFAULT_CHIP]), signature) == ()
