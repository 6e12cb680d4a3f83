from __future__ import annotations

import gzip
import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tb_npu_plugin.capture.api.enums import AiCMetrics, ProfilerActivity
from tb_npu_plugin.capture.api.experimental_config import _ExperimentalConfig
from tb_npu_plugin.capture.api.profile import profile
from tb_npu_plugin.capture.backend import MemoryAction
from tests.unit.capture.api.conftest import QUIET, Recorded, Said

MEMORY = {"record_shapes": True, "profile_memory": True, "with_stack": True}


@pytest.fixture
def captured(recorded: Recorded, said: Said) -> Iterator[profile]:
    """A capture that is over, with stacks and memory."""
    with profile(experimental_config=QUIET, **MEMORY) as prof:
        pass
    said()
    yield prof


def test_chrome_trace(captured: profile, said: Said) -> None:
    captured.export_chrome_trace("deep/er/trace.json")
    assert json.loads(Path("deep/er/trace.json").read_text()) == [{"name": "aten::add", "ph": "X"}]
    assert [path.name for path in Path("deep/er").iterdir()] == ["trace.json"]  # nothing else stays
    assert said() == []


def test_a_chrome_trace_is_a_json_file(captured: profile, said: Said) -> None:
    captured.export_chrome_trace("trace.txt")
    assert said() == [
        (
            "ERROR",
            "Call export_chrome_trace failed. Exception: Invalid parameter output_path, which must be a json file.",
        )
    ]


def test_a_chrome_trace_of_a_capture_for_the_database(recorded: Recorded, said: Said) -> None:
    config = _ExperimentalConfig(aic_metrics=AiCMetrics.AiCoreNone, export_type="db")
    with profile(experimental_config=config) as prof:
        pass
    said()
    prof.export_chrome_trace("trace.json")
    assert Path("trace.json").is_file()
    [(kind, text)] = said()
    assert kind == "WARNING"
    assert "ignored" in text


@pytest.mark.parametrize("export", ["export_chrome_trace", "export_stacks", "export_memory_timeline"])
def test_before_and_while_it_records(export: str, recorded: Recorded, said: Said) -> None:
    prof = profile(experimental_config=QUIET, **MEMORY)
    getattr(prof, export)("out.log" if export == "export_stacks" else "out.json")
    assert said() == [("WARNING", "Invalid profiling path.")]
    with prof:
        said()
        getattr(prof, export)("out.log" if export == "export_stacks" else "out.json")
        assert said() == [("WARNING", "The capture has not ended: call stop() first. Nothing is parsed or exported.")]
    prof.export_chrome_trace("trace.json")
    assert Path("trace.json").is_file()  # the capture itself is whole


def test_stacks(captured: profile, said: Said) -> None:
    captured.export_stacks("cpu.log")
    captured.export_stacks("npu.log", "self_npu_time_total")
    assert Path("cpu.log").read_text() == "outer.py(1): main;inner.py(3): f 12\nouter.py(1): main;inner.py(4): g 3"
    assert Path("npu.log").read_text() == "outer.py(1): main;inner.py(3): f 40"
    assert said() == []


def test_stacks_with_a_wrong_metric_and_suffix(captured: profile, said: Said) -> None:
    captured.export_stacks("a/stacks.txt", "time")
    assert said() == [
        (
            "WARNING",
            "Metric should be self_cpu_time_total or self_npu_time_total. "
            "Here it is presumed to be self_cpu_time_total.",
        ),
        ("WARNING", "The file of export_stacks must be a .log file, it is written to a/stacks.log."),
    ]
    assert " 12\n" in Path("a/stacks.log").read_text()


def test_an_export_that_fails_says_so_in_its_bar(
    captured: profile, said: Said, capsys: pytest.CaptureFixture[str]
) -> None:
    (Path(captured.prof_if.prof_path) / "FRAMEWORK/raw.json").write_text("{")
    captured.export_chrome_trace("trace.json")
    written = capsys.readouterr()
    assert "[ERROR]" in written.out
    assert "failed" in written.err


def test_stacks_need_stacks(recorded: Recorded, said: Said) -> None:
    with profile(experimental_config=QUIET) as prof:
        pass
    said()
    prof.export_stacks("stacks.log")
    assert said() == [("WARNING", "Function export_stacks() requires with_stack=True.")]
    assert not Path("stacks.log").exists()


@pytest.mark.parametrize(
    ("switches", "missing"),
    [
        ({}, "record_shapes=True, profile_memory=True, with_stack=True or with_modules=True"),
        ({"record_shapes": True, "with_modules": True}, "profile_memory=True"),
    ],
)
def test_a_memory_timeline_needs(switches: dict[str, bool], missing: str, recorded: Recorded, said: Said) -> None:
    with profile(experimental_config=QUIET, **switches) as prof:
        pass
    said()
    prof.export_memory_timeline("memory.json")
    assert said() == [("WARNING", f"{missing} required for memory profiling.")]


ACTIONS = [
    MemoryAction(-1, "PREEXISTING", 100, "PARAMETER"),
    MemoryAction(5_000_900, "CREATE", 10, "UNKNOWN"),
    MemoryAction(5_001_200, "INCREMENT_VERSION", -10, "UNKNOWN"),
    MemoryAction(5_001_200, "INCREMENT_VERSION", 10, "GRADIENT"),
    MemoryAction(7_000_000, "DESTROY", -10, "GRADIENT"),
]
TIMELINE = [
    [5000, 5001, 7000],
    [[0, 100, 0, 0, 0, 0, 0, 0, 10], [0, 100, 0, 0, 0, 0, 10, 0, 0], [0, 100, 0, 0, 0, 0, 0, 0, 0]],
]


def test_a_memory_timeline_as_json(captured: profile, recorded: Recorded, said: Said) -> None:
    recorded.recorders[0].actions = ACTIONS
    captured.export_memory_timeline("memory.json")
    captured.export_memory_timeline("memory.json.gz", device="npu:0")
    assert json.loads(Path("memory.json").read_text()) == TIMELINE
    assert json.loads(gzip.decompress(Path("memory.json.gz").read_bytes())) == TIMELINE
    assert said() == []


def test_no_picture_without_matplotlib(captured: profile, recorded: Recorded, said: Said, monkeypatch: Any) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    monkeypatch.setitem(sys.modules, "matplotlib.backends.backend_agg", None)
    recorded.recorders[0].actions = ACTIONS
    captured.export_memory_timeline("memory.html")
    assert said() == [("ERROR", "matplotlib.pyplot was not found.")]
    assert not Path("memory.html").exists()


def test_a_memory_timeline_without_data(recorded: Recorded, said: Said) -> None:
    with profile(experimental_config=QUIET, activities=[ProfilerActivity.CPU], **MEMORY) as prof:
        pass
    said()
    prof.export_memory_timeline("memory.json")
    assert said() == [("ERROR", "No memory timeline data of cpu.")]


def test_a_file_that_cannot_be_written(captured: profile, recorded: Recorded, said: Said) -> None:
    Path("file").touch()
    captured.export_chrome_trace("file/trace.json")
    [(kind, text)] = said()
    assert kind == "ERROR"
    assert text.startswith("Call export_chrome_trace failed. Exception: [Errno")


def test_a_memory_timeline_as_a_picture(captured: profile, recorded: Recorded) -> None:
    pytest.importorskip("matplotlib", reason="the picture of a memory timeline needs matplotlib")
    recorded.recorders[0].actions = ACTIONS
    captured.export_memory_timeline("memory.html")
    assert re.search(r'<img src="data:image/png;base64,iVBOR[^"]+">', Path("memory.html").read_text())
