"""Any two settings of tb-npu mock meet in one of these runs: the invariants hold in each, as text and as database, and
every view opens it. Source: docs/facts/ascend_pt.md, Invariants."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import pytest

from tb_npu_plugin.capture.command import METRICS
from tb_npu_plugin.capture.models.catalog import Sizes
from tb_npu_plugin.capture.models.run import Recipe, write_run
from tb_npu_plugin.capture.writers.built_in_marks import COMMUNICATION, DATALOADER
from tb_npu_plugin.capture.writers.dialect import Options
from tests.support.invariants import check_all
from tests.support.pairs import Axes, covering
from tests.support.views import open_all
from tests.unit.store.results import settle

_OFF_ON = (False, True)
#: Model, ranks, tp, pp; the last rank is written.
_RUNS = (("tiny", 1, 1, 1), ("tiny", 8, 2, 2), ("resnet50", 2, 1, 1), ("linear", 2, 1, 1))
_SIZES = {"tiny": Sizes(layers=2, hidden=64, sequence=64), "resnet50": Sizes(layers=4, batch=4), "linear": Sizes()}
_FAULTS = (
    None,
    "slow-rank:0:3",
    "slow-link:0-1",
    "gc-pause:0:3",
    "slow-loader:0:5",
    "ai-cpu",
    "memory-leak:3",
    "dynamic-shapes",
    "fragmentation",
)
AXES: Axes = {
    "run": _RUNS,
    "fault": _FAULTS,
    "level": (-1, 0, 1, 2),
    "metrics": ("PipeUtilization", "MemoryAccess", "AiCoreNone"),
    "chip": ("910A", "910B4", "310P"),
    "steps": (1, 2),
    "task_queue": (0, 1, 2),
    "mstx": _OFF_ON,
    "l2_cache": _OFF_ON,
    "sys_io": _OFF_ON,
    "sys_interconnection": _OFF_ON,
    "memory": _OFF_ON,
    "stack": _OFF_ON,
    "shapes": _OFF_ON,
    "seed": (0, 7),
}
#: Faults that cannot be: one rank has no links, and the shapes of "linear" do not change.
_REFUSED = (("slow-link:0-1", 1), ("dynamic-shapes", "linear"))
_SWITCHES = ("level", "l2_cache", "sys_io", "sys_interconnection", "memory", "stack", "shapes")


def recipe(row: dict[str, Any]) -> Recipe:
    """What a row asks for, as the command line makes it."""
    model, ranks, tp, pp = row["run"]
    fault = (
        row["fault"] if (row["fault"], ranks if row["fault"] == "slow-link:0-1" else model) not in _REFUSED else None
    )
    options = Options(
        metrics=METRICS[row["metrics"] if row["level"] > 0 else "AiCoreNone"],
        export=("text", "db"),
        gc_threshold=0.0 if str(fault).startswith("gc-pause") else None,
        built_in_marks=(COMMUNICATION, DATALOADER) if row["mstx"] else (),
        **{name: row[name] for name in _SWITCHES},
    )
    return Recipe(
        model,
        ranks,
        tp,
        pp,
        row["steps"],
        chip=row["chip"],
        seed=row["seed"],
        faults=(fault,) if fault else (),
        sizes=_SIZES[model],
        options=options,
        only=(ranks - 1,),
        task_queue=row["task_queue"],
    )


PARTS = 10


@cache
def rows() -> list[dict[str, Any]]:
    return covering(AXES)


@pytest.mark.parametrize("part", [0, *(pytest.param(part, marks=pytest.mark.full) for part in range(1, PARTS))])
def test_any_combination_of_settings_gives_a_whole_result(part: int, tmp_path: Path) -> None:
    for number, row in enumerate(rows()[part::PARTS]):
        run = (
            tmp_path / str(number) / ("task_queue_0" if row["task_queue"] == 0 else "run")
        )  # as support.mock.queued knows
        write_run(recipe(row), run, jobs=1)
        (folder,) = run.glob("*_ascend_pt")
        settle(folder)
        try:
            check_all(folder)
            open_all(run)
        except AssertionError as problem:
            raise AssertionError(row) from problem
