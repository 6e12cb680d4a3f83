"""Diff: device times of both sides are the sums of their kernels, and the differences add up."""

from __future__ import annotations

import json
from collections import defaultdict
from pathlib import Path

import pytest

from tb_npu_plugin.capture.models.run import TRUTH
from tests.oracle.figures import us
from tests.oracle.raw import REAL_RUN, raw
from tests.oracle.shown import show
from tests.support.fixtures import FIXTURES

RUNS = [
    pytest.param(run, id=run.name)
    for run in (
        *(FIXTURES / "results" / name for name in ("two_ranks", "old_spellings", "new_spellings")),
        *(FIXTURES / "demo" / name for name in ("transformer_910b", "transformer_910b_tuned")),
    )
]
PAIRS = [*RUNS, pytest.param(REAL_RUN, id="real")]


def _pair(run: Path) -> tuple[Path, Path]:
    raw(run)  # skips where the real data are absent
    first, second = sorted(run.glob("*_ascend_pt"))
    return first, second


def _device(folder: Path) -> int:
    return sum(us(row["Duration(us)"]) or 0 for row in raw(folder).kernels)


@pytest.mark.parametrize("run", PAIRS)
def test_device_times_sum_to_the_kernels(run: Path) -> None:
    pair = _pair(run)
    shown = show("diff", *pair)
    for side, folder in zip(("baseline", "experimental"), pair):
        assert shown.data[side]["device_ns"] == _device(folder) > 0
        assert shown.data[side]["kernels"] == len(raw(folder).kernels)
        assert sum(row[f"{side}_ns"] for row in shown.tables["kernels"]) == _device(folder)
        assert sum(row[f"{side}_calls"] for row in shown.tables["kernels"]) == len(raw(folder).kernels)
    difference = _device(pair[1]) - _device(pair[0])
    assert sum(row["difference_ns"] for row in shown.tables["kernels"]) == difference != 0


@pytest.mark.parametrize("run", PAIRS)
def test_classes_sum_to_the_whole_and_run_up(run: Path) -> None:
    pair = _pair(run)
    whole = show("diff", *pair).data["steps"][-1]
    assert (whole["baseline_step"], whole["experimental_step"]) == (None, None)
    busy = [entry for entry in whole["classes"] if entry["id"] != "idle"]
    for side, folder in zip(("baseline", "experimental"), pair):
        assert sum(entry[f"{side}_ns"] for entry in busy) == _device(folder)
        free = [us(row["Free"]) or 0 for row in raw(folder).csv("step_trace_time.csv")]
        assert sum(entry[f"{side}_ns"] for entry in whole["classes"]) == _device(folder) + sum(free)
    running = 0
    for entry in whole["classes"]:
        running += entry["experimental_ns"] - entry["baseline_ns"]
        assert (entry["difference_ns"], entry["running_ns"]) == (
            entry["experimental_ns"] - entry["baseline_ns"],
            running,
        )


@pytest.mark.parametrize("run", PAIRS)
def test_operators_have_device_times(run: Path) -> None:
    pair = _pair(run)
    sums: dict[str, list[int]] = defaultdict(lambda: [0, 0])
    for side, folder in enumerate(pair):
        for row in raw(folder).csv("operator_details.csv"):
            sums[row["Name"]][side] += us(row["Device Self Duration(us)"]) or 0
    shown = show("diff", *pair).tables["operators"]
    found = {row["name"]: [row["baseline_device_self_ns"], row["experimental_device_self_ns"]] for row in shown}
    assert found == sums
    assert any(before and after and before != after for before, after in found.values())


def test_tuning_of_the_demo_shows() -> None:
    """The fused optimizer is new, the operators that it took before and those on the AI CPU are gone, and the device
    computes for as much less time as the simulation says."""
    before, after = (
        min((FIXTURES / "demo" / name).glob("*_ascend_pt")) for name in ("transformer_910b", "transformer_910b_tuned")
    )
    every = show("diff", before, after).tables["kernels"]
    rows = {row["type"]: row for row in every}
    assert rows["ApplyAdamWV2"]["baseline_calls"] == 0 < rows["ApplyAdamWV2"]["experimental_ns"]
    for gone in ("ForeachLerpScalar", "NonZero"):
        assert rows[gone]["experimental_calls"] == 0 < rows[gone]["baseline_ns"]
    computing = [row for row in every if not row["type"].startswith("hcom_")]
    for side, folder in (("baseline", before), ("experimental", after)):
        truth = json.loads((folder.parent / TRUTH).read_text())["ranks"]["0"]["computing"]
        assert sum(row[f"{side}_ns"] for row in computing) == sum(truth)
    assert sum(row["difference_ns"] for row in computing) < 0
