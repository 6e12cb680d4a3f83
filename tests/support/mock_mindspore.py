"""Results of MindSpore that the mock wrote: made once in a test run."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

from tb_npu_plugin.capture.models.catalog import Sizes
from tb_npu_plugin.capture.models.run import Recipe
from tb_npu_plugin.capture.writers.options import Options
from tests.support.mock import written

BOTH = ("text", "db")
ONE = Recipe("tiny", steps=2, framework="mindspore", options=Options(l2_cache=True, export=BOTH))
CLUSTER = replace(ONE, ranks=8, tp=2, pp=2, sizes=Sizes(micro=3), only=(0, 3, 6), options=Options(export=BOTH))
DATA = Recipe(
    "resnet50",
    ranks=2,
    steps=4,
    sizes=Sizes(layers=4, batch=8),
    framework="mindspore",
    faults=("slow-loader:1",),
    options=Options(data_process=True),
)


def _with(recipe: Recipe, **options: Any) -> Recipe:
    return replace(recipe, options=replace(recipe.options, **options))


RUNS: dict[str, Recipe] = {
    "level_none": _with(ONE, level=-1, metrics="ACL_AICORE_NONE", export=("text",)),
    "level0": _with(ONE, level=0, metrics="ACL_AICORE_NONE"),
    "level1": ONE,
    "level2": _with(replace(ONE, faults=("ai-cpu",)), level=2),
    "no_memory": _with(ONE, memory=False, export=("text",)),
    "no_shapes": _with(ONE, shapes=False, stack=False, export=("text",)),
    "cluster": CLUSTER,
    "data": DATA,
    "db_only": _with(replace(DATA, only=(0,)), export=("db",)),
}


@cache
def run(name: str) -> tuple[Path, dict[str, Any]]:
    """Folder and truth of a run."""
    return written(RUNS[name])


def folders(name: str) -> list[Path]:
    """Result folders of a run, by rank."""
    return sorted(run(name)[0].glob("*_ascend_ms"))
