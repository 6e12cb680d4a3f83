"""Any two settings of tb-npu mock meet in one of these runs: the invariants hold in each, as text and as database, and
every view opens it. Source: docs/facts/ascend_pt.md, Invariants."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import pytest

from tb_npu_plugin.capture.models.catalog import Sizes
from tb_npu_plugin.capture.models.run import Recipe, write_run
from tb_npu_plugin.capture.writers.options import Options
from tb_npu_plugin.capture.writers.result import COMMUNICATION, DATALOADER
from tb_npu_plugin.schema.settings import STORED_METRICS
from tests.support.invariants import check_all
from tests.support.pairs import Axes, covering
from tests.support.views import open_all
from tests.unit.store.results import settle

PARTS = 10
_OFF_ON = (False, True)
#: Model, ranks, tp, pp; the last rank is written.
_RUNS = (("tiny", 1, 1, 1), ("tiny", 8, 2, 2), ("resnet50", 2, 1, 1), ("linear", 2, 1, 1))
_SIZES = {"tiny": Sizes(layers=2, hidden=64, sequence=64), "resnet50": Sizes(layers=4, batch=4), "linear": Sizes()}
_LINK, _SHAPES = "slow-link:0-1", "dynamic-shapes"
_FAULTS = (
    "slow-rank:0:3",
    _LINK,
    "gc-pause:0:3",
    "slow-loader:0:5",
    "ai-cpu",
    "memory-leak:3",
    _SHAPES,
    "fragmentation",
)
_SWITCHES = ("l2_cache", "sys_io", "sys_interconnection", "memory", "stack", "shapes")
AXES: Axes = {
    "run": _RUNS,
    "fault": (None, *_FAULTS),
    "level": (-1, 0, 1, 2),
    "metrics": ("PipeUtilization", "MemoryAccess", "AiCoreNone"),
    "chip": ("910A", "910B4", "310P"),
    "steps": (1, 2),
    "task_queue": (0, 1, 2),
    "seed": (0, 7),
    **dict.fromkeys(("mstx", "batches", "named_groups", *_SWITCHES), _OFF_ON),
}


def recipe(row: dict[str, Any]) -> Recipe:
    """What a row asks for, as the command line makes it."""
    model, ranks, tp, pp = row["run"]
    # one rank has no links, and the shapes of "linear" do not change
    is_refused = (row["fault"] == _LINK and ranks == 1) or (row["fault"] == _SHAPES and model == "linear")
    faults = () if row["fault"] is None or is_refused else (row["fault"],)
    options = Options(
        metrics=STORED_METRICS[row["metrics"] if row["level"] > 0 else "AiCoreNone"],
        export=("text", "db"),
        gc_threshold=0.0 if any("gc-pause" in fault for fault in faults) else None,
        built_in_marks=(COMMUNICATION, DATALOADER) if row["mstx"] else (),
        **{name: row[name] for name in ("level", "batches", *_SWITCHES)},
    )
    same = {name: row[name] for name in ("chip", "seed", "steps", "task_queue", "named_groups")}
    only = (ranks - 1,)
    return Recipe(model, ranks, tp, pp, faults=faults, sizes=_SIZES[model], options=options, only=only, **same)


@cache
def rows() -> list[dict[str, Any]]:
    return covering(AXES)


@pytest.mark.parametrize("part", [0, *(pytest.param(part, marks=pytest.mark.full) for part in range(1, PARTS))])
def test_any_combination_of_settings_gives_a_whole_result(part: int, tmp_path: Path) -> None:
    for number, row in enumerate(rows()[part::PARTS]):
        # as has_task_queue() of the invariants knows it
        run = tmp_path / str(number) / ("task_queue_0" if row["task_queue"] == 0 else "run")
        write_run(recipe(row), run, jobs=1)
        (folder,) = run.glob("*_ascend_pt")
        settle(folder)
        try:
            check_all(folder)
            open_all(run)
        except AssertionError as problem:
            raise AssertionError(row) from problem
