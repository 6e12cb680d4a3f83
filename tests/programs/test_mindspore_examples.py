"""The examples of the vendor's documents on MindSpore run unchanged."""

from __future__ import annotations

import csv
import json
import re
from pathlib import Path

import pytest

from tb_npu_plugin.capture.mindspore.raw_data import read
from tests.conftest import ROOT
from tests.programs.mindspore import EXAMPLES, POINTS, run_example
from tests.support.cli import shown as show_json
from tests.support.invariants import check_all
from tests.support.span import found_spans

DOCUMENTS = ROOT.parent / "shared/vendor-docs"
MARKED = re.compile(r"^ *# vendor\n(.*?)^ *# end$", re.M | re.S)


@pytest.mark.skipif(not DOCUMENTS.exists(), reason=f"no vendor documentation: {DOCUMENTS} is missing")
@pytest.mark.parametrize(
    ("document", "example"),
    [
        ("000", "model_train.py"),
        ("002", "mindformers.yaml"),
        ("003", "callback.py"),
        ("003", "schedule.py"),
        ("003", "dynamic.py"),
        ("003", "profiler_config.json"),
        ("003", "environment.sh"),
    ],
)
def test_code_is_the_vendors(document: str, example: str) -> None:
    (path,) = DOCUMENTS.glob(f"{document}_*.txt")
    vendor = re.sub(r"\s", "", path.read_text(encoding="utf-8"))
    text = (EXAMPLES / example).read_text()
    blocks = MARKED.findall(text) if example.endswith(".py") else [text]
    assert blocks
    for block in blocks:
        assert re.sub(r"\s", "", block) in vendor


def steps_of(result: Path) -> list[str]:
    with (result / "ASCEND_PROFILER_OUTPUT" / "step_trace_time.csv").open(newline="") as file:
        return [row["Step"] for row in csv.DictReader(file)]


#: Example -> steps of each of its results; "0" is a capture without steps.
STEPS = {
    "model_train": [["0"]],
    "callback": [["0"]],
    "schedule": [["0", "1"]],
    "dynamic": [["1", "2", "3", "4"], ["1", "2", "3"]],
    "environment": [["0"]],
    "mindformers_profile": [[str(number) for number in range(1, 11)]],
}


@pytest.mark.full
@pytest.mark.parametrize("name", STEPS)
def test_example(tmp_path: Path, name: str) -> None:
    printed = run_example(name, tmp_path / "run")
    assert "still records" not in printed
    assert printed.count("FP_POINT and BP_POINT are ignored") == (name in ("callback", "schedule"))
    results = sorted(tmp_path.rglob("*_ascend_ms"))
    assert [steps_of(result) for result in results] == STEPS[name]
    for result in results:
        data = read(result)
        assert data.launches and all(launch.tid for launch in data.launches), "the runtime profiler recorded"
        assert {"05", "07", "08"} <= check_all(result)
        metadata = json.loads((result / "profiler_metadata.json").read_text())
        assert {key: metadata.get(key) for key in POINTS} == (
            POINTS if name == "model_train" else dict.fromkeys(POINTS)
        )
    assert not list(tmp_path.glob("run/rank_*")), "files of the runtime profiler beside the script"
    if name == "model_train":
        shown = show_json("step_trace", tmp_path)["data"]
        assert (shown["fp_point"], shown["bp_point"]) == tuple(POINTS.values())
    if name == "dynamic":
        assert [result.parent.name for result in results] == ["rank0_start2_stop5", "rank0_start8_stop10"]
    if name == "mindformers_profile":
        assert results[0].parent == tmp_path / "run/output/profile/rank_0"
        assert list((tmp_path / "run/output/summary/rank_0").glob("events.out.events.summary.*_MS"))
    assert len(found_spans(tmp_path)) == len(results)
