"""Raw data without PyTorch: what cannot be used says why."""

from __future__ import annotations

from pathlib import Path

import pytest

from tb_npu_plugin.capture.backend import RAW_FOLDER, Settings
from tb_npu_plugin.capture.mock.host import CAPTURE, HostData, read
from tb_npu_plugin.capture.mock.kineto import LIST, Reader
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


def test_an_interrupted_capture_says_so(folder: Path) -> None:
    HostData(Settings(), 1, 0, 5).write(folder)
    with pytest.raises(BadFile, match="interrupted"):
        read(folder)


@pytest.mark.parametrize("content", ["", "{}", '{"format": 2}', "[]"])
def test_other_files_are_bad(folder: Path, content: str) -> None:
    (folder / RAW_FOLDER / CAPTURE).write_text(content)
    with pytest.raises(BadFile):
        read(folder)


def test_times_keep_their_nanoseconds_and_a_bad_event_is_skipped(tmp_path: Path) -> None:
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


def test_invalid_utf8_in_a_name_is_replaced(tmp_path: Path) -> None:
    events = ",".join(EVENT.format(name=name, ts="1.000") for name in ("aten::cat", "model@.py(1): f"))
    path = tmp_path / "t.json"
    path.write_bytes(FRAME.format(events=events).encode().replace(b"@", b"\xe9"))
    recorded = Reader().read(path, lambda done: None)
    assert [call.signature.name for call in recorded.calls] == ["aten::cat", "model\ufffd.py(1): f"]
    assert recorded.lost == 0
