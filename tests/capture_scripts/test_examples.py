"""The examples of the vendor's documentation run with only their import changed."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tests.unit.capture.scripts import ROOT, needs_torch, run_python

DOCUMENT = ROOT.parent / "shared/vendor-docs/001_604926c0bd83b9cf.txt"
EXAMPLES = Path(__file__).parent / "examples/examples.py"
MARKED = re.compile(r"^ *# vendor\n(.*?)^ *# end$", re.M | re.S)


@pytest.mark.skipif(not DOCUMENT.exists(), reason=f"no vendor documentation: {DOCUMENT} is missing")
def test_code_is_the_vendors() -> None:
    vendor = re.sub(r"\s", "", DOCUMENT.read_text(encoding="utf-8"))
    blocks = MARKED.findall(EXAMPLES.read_text())
    assert len(blocks) == 7
    for block in blocks:
        assert re.sub(r"\s", "", block) in vendor


def _results(folder: Path) -> list[Path]:
    """Result folders, each parsed."""
    found = sorted(folder.glob("*_ascend_pt"))
    assert all((result / "ASCEND_PROFILER_OUTPUT/analyse.done").is_file() for result in found)
    return found


def _names(place: Path) -> set[str]:
    """Names of the events of a trace, or of the trace of a result."""
    trace = place / "ASCEND_PROFILER_OUTPUT/trace_view.json" if place.is_dir() else place
    return {event["name"] for event in json.loads(trace.read_text())}


@pytest.mark.full
@needs_torch
def test_examples(tmp_path: Path) -> None:
    done = run_python(EXAMPLES.read_text(), tmp_path, TB_NPU_BACKEND="mock")
    assert done.returncode == 0, done.stderr
    assert "[ERROR]" not in done.stdout
    output = dict(part.split("\n", 1) for part in done.stdout.split("example ")[1:])

    found = _results(tmp_path / "schedule/result")
    assert len(found) == 2  # repeat=2
    config = json.loads((found[0] / "profiler_info.json").read_text())["config"]
    assert config["common_config"]["schedule"]["skip_first"] == 10
    assert config["experimental_config"]["_data_simplification"] is False
    steps = [name for result in found for name in _names(result) if "ProfilerStep" in name]
    assert sorted(steps) == [f"ProfilerStep#{number}" for number in (12, 13, 16, 17)]

    assert {path.name for path in (tmp_path / "kineto").iterdir()} == {"result_dir", "resule_dir"}
    assert "aten::addmm" in _names(tmp_path / "kineto/result_dir/trace.json")
    lines = (tmp_path / "kineto/resule_dir/stack.log").read_text().splitlines()
    assert lines and all(re.fullmatch(r"[^;]+(;[^;]+)* \d+", line) for line in lines)

    assert "Start parsing profiling data in sync mode at: " in output["offline"]
    [result] = _results(tmp_path / "offline/result_data")
    metadata = json.loads((result / "profiler_metadata.json").read_text())
    assert [metadata[f"test_key{number}"] for number in (1, 2, 3)] == ["test_value1", [1, 2, 3], [1, 2, 3]]
    assert metadata["tb_npu_simulated"]
