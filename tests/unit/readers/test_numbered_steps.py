"""A step that is no number costs its row of the step times, and a kernel its step; both are reported."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.scanners import both_scanners
from tests.unit.readers.files import KERNELS, codes, kernel_row, kernels, read

pytestmark = both_scanners

STEPS = "Step,Computing,Free\r\n11,12.0,1\r\n#&x,12.0,1\r\n,12.0,1\r\n12.0,12.0,1\r\n1e3,12.0,1\r\n"


def test_rows_of_step_times_are_lost(tmp_path: Path) -> None:
    tables, problems = read(tmp_path, "step_trace_time.csv", STEPS.encode())
    assert tables["step_trace"].text("step").tolist() == ["11", None, "12.0"]
    assert codes(problems) == ["bad_required_cell x2"]
    assert [(problem.where, problem.found) for problem in problems] == [("Step and 1 more", "#&x")]


@pytest.mark.parametrize("step", ["50", ""])
def test_a_kernel_keeps_its_row(tmp_path: Path, step: str) -> None:
    rows = [kernel_row("a"), kernel_row("b")]
    assert rows[0].startswith("50,")
    tables, problems = read(tmp_path, KERNELS, kernels(rows[0], rows[1].replace("50,", f"{step},", 1)))
    assert tables["kernels"].text("step").tolist() == ["50", step or None]
    assert codes(problems) == []
    tables, problems = read(tmp_path, KERNELS, kernels(rows[0], rows[1].replace("50,", "5O,", 1)))
    assert tables["kernels"].text("step").tolist() == ["50", None]
    assert tables["kernels"].text("name").tolist() == ["a", "b"]
    assert codes(problems) == ["bad_cell x1"]
