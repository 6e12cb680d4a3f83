from __future__ import annotations

import gzip
import json
import re
import sys
from pathlib import Path
from typing import Any

import pytest

from tb_npu_plugin.capture.api.options import ProfilerActivity
from tb_npu_plugin.capture.api.profile import profile, tensorboard_trace_handler
from tests.unit.capture.api.conftest import Recorded, Said, make_profile, quiet

MEMORY = {"record_shapes": True, "profile_memory": True, "with_stack": True}
FAILED = "Call export_chrome_trace failed. Exception: "
METRIC = "Metric should be self_cpu_time_total or self_npu_time_total. Here it is presumed to be self_cpu_time_total."
DATABASE = "The export_type db in experimental_config is ignored by export_chrome_trace and export_stacks."
NO_DATA = "No memory timeline data of cpu."
NEEDS_ALL = "record_shapes=True, profile_memory=True, with_stack=True or with_modules=True"


@pytest.fixture
def captured(recorded: Recorded, said: Said) -> profile:
    """A capture that is over, with stacks and memory."""
    with make_profile(**MEMORY) as prof:
        pass
    said()
    return prof


def test_chrome_trace(captured: profile, said: Said) -> None:
    captured.export_chrome_trace("deep/er/trace.json")
    assert json.loads(Path("deep/er/trace.json").read_text()) == [{"name": "aten::add", "ph": "X"}]
    assert [path.name for path in Path("deep/er").iterdir()] == ["trace.json"]  # nothing else stays
    assert said() == []


def test_stacks(captured: profile, said: Said) -> None:
    captured.export_stacks("cpu.log")
    captured.export_stacks("npu.log", "self_npu_time_total")
    assert Path("cpu.log").read_text() == "outer.py(1): main;inner.py(3): f 12\nouter.py(1): main;inner.py(4): g 3"
    assert Path("npu.log").read_text() == "outer.py(1): main;inner.py(3): f 40"
    assert said() == []
    captured.export_stacks("a/stacks.txt", "time")
    assert said() == [
        ("WARNING", METRIC),
        ("WARNING", "The file of export_stacks must be a .log file, it is written to a/stacks.log."),
    ]
    assert Path("a/stacks.log").read_text() == Path("cpu.log").read_text()


@pytest.mark.parametrize(("types", "lines"), [(["text"], 2), (["db"], 0)])
def test_exports_of_a_result_without_raw_data(types: list[str], lines: int, recorded: Recorded, said: Said) -> None:
    """data_simplification has deleted them: what the result has is copied."""
    handler = tensorboard_trace_handler("result")
    with make_profile(on_trace_ready=handler, experimental_config=quiet(export_type=types), **MEMORY) as prof:
        pass
    assert not list(Path("result").glob("*/FRAMEWORK")) and said.errors() == []
    prof.export_chrome_trace("trace.json")
    prof.export_stacks("stacks.log")
    assert Path("trace.json").exists() == bool(lines)
    assert lines == (len(Path("stacks.log").read_text().splitlines()) if Path("stacks.log").exists() else 0)
    assert all("its raw data are deleted" in text for text in said.errors())


#: Arguments of the profile, export, its file, beginning of the only line that is printed.
LINES: list[tuple[dict[str, Any], str, str, str]] = [
    ({}, "chrome_trace", "trace.txt", f"ERROR: {FAILED}Invalid parameter output_path, which must be a json file."),
    ({}, "chrome_trace", "file/trace.json", f"ERROR: {FAILED}[Errno"),
    ({"experimental_config": quiet(export_type="db")}, "chrome_trace", "trace.json", f"WARNING: {DATABASE}"),
    ({}, "stacks", "stacks.log", "WARNING: Function export_stacks() requires with_stack=True."),
    ({}, "memory_timeline", "all.json", f"WARNING: {NEEDS_ALL} required for memory profiling."),
    ({**MEMORY, "profile_memory": False}, "memory_timeline", "one.json", "WARNING: profile_memory=True required for"),
    ({**MEMORY, "activities": [ProfilerActivity.CPU]}, "memory_timeline", "m.json", f"ERROR: {NO_DATA}"),
]


@pytest.mark.parametrize(("arguments", "export", "path", "line"), LINES)
def test_what_an_export_says(
    arguments: dict[str, Any], export: str, path: str, line: str, recorded: Recorded, said: Said
) -> None:
    Path("file").touch()
    with make_profile(**arguments) as prof:
        pass
    said()
    getattr(prof, f"export_{export}")(path)
    [(kind, text)] = said()
    assert f"{kind}: {text}".startswith(line)
    assert Path(path).is_file() == (DATABASE in line)


@pytest.mark.parametrize("export", ["export_chrome_trace", "export_stacks", "export_memory_timeline"])
def test_before_and_while_it_records(export: str, recorded: Recorded, said: Said) -> None:
    prof = make_profile(**MEMORY)
    path = "out.log" if export == "export_stacks" else "out.json"
    getattr(prof, export)(path)
    assert said() == [("WARNING", "Invalid profiling path.")]
    with prof:
        said()
        getattr(prof, export)(path)
        assert said() == [("WARNING", "The capture has not ended: call stop() first. Nothing is parsed or exported.")]
    prof.export_chrome_trace("trace.json")
    assert Path("trace.json").is_file()  # the capture itself is whole


TIMELINE = [
    [5000, 5001, 7000],
    [[0, 100, 0, 0, 0, 0, 0, 0, 10], [0, 100, 0, 0, 0, 0, 10, 0, 0], [0, 100, 0, 0, 0, 0, 0, 0, 0]],
]


def test_a_memory_timeline_as_json(captured: profile, recorded: Recorded, said: Said) -> None:
    recorded.recorders[0].timeline = TIMELINE
    captured.export_memory_timeline("memory.json")
    captured.export_memory_timeline("memory.json.gz", device="npu:0")
    assert json.loads(Path("memory.json").read_text()) == TIMELINE
    assert json.loads(gzip.decompress(Path("memory.json.gz").read_bytes())) == TIMELINE
    assert said() == []


@pytest.mark.parametrize("installed", [True, False])
def test_a_memory_timeline_as_a_picture(
    installed: bool, captured: profile, recorded: Recorded, said: Said, monkeypatch: Any
) -> None:
    recorded.recorders[0].timeline = TIMELINE
    if installed:
        pytest.importorskip("matplotlib", reason="the picture of a memory timeline needs matplotlib")
    else:
        monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
        monkeypatch.setitem(sys.modules, "matplotlib.backends.backend_agg", None)
    captured.export_memory_timeline("memory.html")
    assert said() == ([] if installed else [("ERROR", "matplotlib.pyplot was not found.")])
    page = Path("memory.html").read_text() if installed else '<img src="data:image/png;base64,iVBOR=">'
    assert re.search(r'<img src="data:image/png;base64,iVBOR[^"]+">', page)
    assert Path("memory.html").exists() == installed
