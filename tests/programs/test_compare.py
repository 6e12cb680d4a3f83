"""`msprof-analyze compare` and Diff on two recorded ranks: the figures that both have are the same."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.oracle.raw import us
from tests.oracle.shown import show
from tests.programs import python_of
from tests.programs.workbooks import Sheets, sheets
from tests.support.real_data import recording

pytestmark = pytest.mark.full
#: It rounds the time of a kernel to this, ns.
ROUNDING = 5


@pytest.fixture(scope="module")
def ranks() -> tuple[Path, Path]:
    folder = recording("ascend_pt_text_level1")
    return folder / "rank0_ascend_pt", folder / "rank1_ascend_pt"


@pytest.fixture(scope="module")
def book(ranks: tuple[Path, Path], tmp_path_factory: pytest.TempPathFactory) -> Sheets:
    """What it says of rank 1 against rank 0."""
    root = tmp_path_factory.mktemp("compare")
    command = ["compare", "-d", str(ranks[1]), "-bp", str(ranks[0]), "-o", str(root / "out"), "--force"]
    runner = Path(__file__).with_name("msprof_runs.py")
    jobs = json.dumps([(str(root / "run"), command)])
    subprocess.run([python_of("msprof-analyze"), runner], input=jobs, text=True, check=True, timeout=300, cwd=root)
    return sheets(next((root / "out").rglob("*.xlsx")), head=1)


def shapes(text: Any) -> str:
    return "" if text in (None, "N/A") else re.sub(r"_x000D_|[\"\s]", "", str(text))


def test_kernels_by_type_and_shape_are_the_same(book: Sheets, ranks: tuple[Path, Path]) -> None:
    ours = {
        (row["type"], shapes(row["input_shapes"])): tuple(
            row[key] for key in ("baseline_ns", "experimental_ns", "baseline_calls", "experimental_calls")
        )
        for row in show("diff", *ranks).tables["shapes"]
    }
    theirs = {
        (row["Kernel"], shapes(row["Input Shape"])): (
            us(row["Total Duration(us)"]),
            us(row["Total Duration(us)2"]),
            float(row["Calls"]),
            float(row["Calls2"]),
        )
        for row in book["KernelCompare"]
        if not row["Kernel"].startswith("hcom_")  # theirs are kernels, too
    }
    assert len(ours) > 100 and ours.keys() == theirs.keys()
    for key, figures in ours.items():
        assert figures == pytest.approx(theirs[key], abs=ROUNDING), key


def test_parts_of_the_step_are_the_same(book: Sheets, ranks: tuple[Path, Path]) -> None:
    (step,) = show("diff", *ranks).data["steps"]
    theirs = {row["Index"].strip(): row for row in book["OverallMetrics"]}
    times = {one["id"]: (one["baseline_ns"], one["experimental_ns"]) for one in step["classes"]}
    beside = ("waiting", "communication", "idle")
    exposed = [sum(times.get(part, (0, 0))[side] for part in beside[:2]) for side in (0, 1)]
    computing = [sum(time[side] for part, time in times.items() if part not in beside) for side in (0, 1)]
    for name, ours in (
        ("Computing Time", computing),
        ("Uncovered Communication Time", exposed),
        ("Free Time", times["idle"]),
        ("E2E Time", (step["baseline_ns"], step["experimental_ns"])),
    ):
        found = [float(theirs[name][f"Duration(ms){more}"]) * 1e6 for more in ("", "2")]
        assert list(ours) == pytest.approx(found, abs=1), name
