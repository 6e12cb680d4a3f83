"""Steps in which nothing computes or communicates: torch_npu writes -1 us less their start for their preparation."""

from __future__ import annotations

from pathlib import Path

import pytest

from tb_npu_plugin.analysis.steps.step_trace import from_figures
from tb_npu_plugin.model import Capture
from tb_npu_plugin.problems import ProblemLog
from tb_npu_plugin.readers.formats import READERS
from tb_npu_plugin.readers.shared.row_checks import check_rows
from tb_npu_plugin.readers.text.steps import _starts
from tb_npu_plugin.schema.formats import MINDSPORE, TORCH_NPU
from tb_npu_plugin.tables import NULL_INT
from tests.unit.readers.files import read

STEPS = (
    "Device_id,Step,Computing,Communication(Not Overlapped),Overlapped,Communication,Free,Stage,Bubble,"
    "Communication(Not Overlapped and Exclude Receive),Preparing\r\n"
    "0,1,12.0,0,0,0,0,12.0,0,0,8.25\r\n"
    "0,2,0,0,0,0,15.0,15.0,0,0,-1700000000000011.0\r\n"
    "0,3,0,5.0,0,5.0,15.0,20.0,0,5.0,4.0\r\n"
)


@pytest.mark.parametrize("kind", [TORCH_NPU.id, MINDSPORE.id])
def test_its_preparation_is_unknown(tmp_path: Path, kind: str) -> None:
    tables, _ = read(tmp_path, "step_trace_time.csv", STEPS.encode())
    log = ProblemLog()
    steps = READERS[kind].finish(check_rows(tables, {}, log), Capture(), log)["step_trace"]
    assert not log.list()
    assert steps.ints("preparing").tolist() == [8250, NULL_INT, 4000]
    assert steps.ints("free").tolist() == [0, 15_000, 15_000]
    if kind == TORCH_NPU.id:
        assert [step.total_ns for step in from_figures(steps).steps] == [12_000, 15_000, 20_000]


@pytest.mark.parametrize(
    ("steps", "starts"),
    [
        ([(0, 80, 100), (100, 180, 100)], [0, 100]),
        ([(0, 80, 80), (100, 180, 100)], [0, 80]),
        ([(0, 80, 80), (100, 180, 80)], [0, 100]),
        ([(0, 80, 100), (100, 180, 100), (200, 280, 80)], [0, 100, 200]),
    ],
    ids=["of the step before", "of the step behind", "of neither", "of the step before, in the middle"],
)
def test_free_time_between_two_steps_belongs_to_the_one_that_it_explains(
    steps: list[tuple[int, int, int]], starts: list[int]
) -> None:
    assert _starts(steps) == starts
