"""Diff: device times of both sides are the sums of their kernels, and the differences add up."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

import pytest

from tests.oracle.raw import FULL, REAL_RUN, raw, us
from tests.oracle.shown import show
from tests.support.fixtures import FIXTURES

#: Parts of a step that are disjoint in time.
PARTS = ("Computing", "Communication(Not Overlapped)", "Free")
RUNS = [FIXTURES / "results" / name for name in ("two_ranks", "old_spellings", "new_spellings")]
RUNS += [FIXTURES / "demo" / name for name in ("transformer_910b", "transformer_910b_tuned")]
PAIRS = [pytest.param(run, id=run.name, marks=FULL if run in RUNS[1:] else ()) for run in (*RUNS, REAL_RUN)]


def _pair(run: Path) -> tuple[Path, Path]:
    raw(run)  # skips where the real data are absent
    first, second = sorted(run.glob("*_ascend_pt"))
    return first, second


def _steps(folder: Path) -> int:
    return len(raw(folder).csv("step_trace_time.csv"))


def _device(folder: Path) -> list[int]:
    return [us(row["Duration(us)"]) or 0 for row in raw(folder).kernels]


@pytest.mark.parametrize("run", PAIRS)
def test_kernels_and_operators_are_means_of_steps(run: Path) -> None:
    pair = _pair(run)
    tables, operators = show("diff", *pair).tables, defaultdict(list)
    for side, folder in zip(("baseline", "experimental"), pair):
        rows, steps = tables["kernels"], _steps(folder)
        assert sum(row[f"{side}_ns"] for row in rows) == pytest.approx(sum(_device(folder)) / steps, abs=len(rows))
        assert sum(row[f"{side}_calls"] for row in rows) == pytest.approx(len(_device(folder)) / steps)
        sums: dict[str, int] = defaultdict(int)
        for row in raw(folder).csv("operator_details.csv"):
            sums[row["Name"]] += us(row["Device Self Duration(us)"]) or 0
        found = {row["name"]: row[f"{side}_device_self_ns"] for row in tables["operators"]}
        assert (
            found == {name: (2 * sums[name] + steps) // (2 * steps) for name in found} and found.keys() >= sums.keys()
        )
        for name, time in found.items():
            operators[name].append(time)
    assert any(0 not in times and times[0] != times[1] for times in operators.values())


@pytest.mark.parametrize("run", PAIRS)
def test_classes_sum_to_the_step_that_the_headline_gives(run: Path) -> None:
    pair = _pair(run)
    for step in show("diff", *pair).data["steps"]:
        for side, folder in zip(("baseline", "experimental"), pair):
            rows = raw(folder).csv("step_trace_time.csv")
            name = step[f"{side}_step"]
            chosen = [row for row in rows if name is None or row["Step"] == name]
            parts = [sum(us(row[part]) or 0 for row in chosen) for part in PARTS]
            assert step[f"{side}_ns"] == (2 * sum(parts) + len(chosen)) // (2 * len(chosen))
            assert sum(entry[f"{side}_ns"] for entry in step["classes"]) == step[f"{side}_ns"]
            found = {entry["id"]: entry[f"{side}_ns"] for entry in step["classes"]}
            bubble = sum(min(us(row["Bubble"]) or 0, us(row[PARTS[1]]) or 0) for row in chosen) / len(chosen)
            communication = sum(found.get(key, 0) for key in ("communication", "bubble", "waiting"))
            assert communication == pytest.approx(parts[1] / len(chosen), abs=1)
            assert found.get("bubble", 0) <= bubble + 1, "what of it is known waiting does not count twice"
            if "waiting" in step["unknown"]:
                assert found.get("bubble", 0) == pytest.approx(bubble, abs=1)
            assert found["idle"] == pytest.approx(parts[2] / len(chosen), abs=1)
        running = 0
        for entry in step["classes"]:
            running += entry["experimental_ns"] - entry["baseline_ns"]
            assert entry["running_ns"] == running
        assert running == step["experimental_ns"] - step["baseline_ns"]
