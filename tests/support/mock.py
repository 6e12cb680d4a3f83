"""Runs that the mock wrote: made once in a test run, in a folder of their own."""

from __future__ import annotations

import atexit
import shutil
import tempfile
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

from tb_npu_plugin.capture.models.catalog import Sizes
from tb_npu_plugin.capture.models.run import Recipe, write_run
from tb_npu_plugin.capture.writers.options import Options
from tb_npu_plugin.capture.writers.result import COMMUNICATION, DATALOADER
from tb_npu_plugin.schema.chips import CHIPS
from tb_npu_plugin.schema.settings import STORED_METRICS
from tests.unit.store.results import settle

ONE = Recipe("tiny", steps=2, options=Options(l2_cache=True))
CLUSTER = Recipe("tiny", ranks=8, tp=2, pp=2, steps=2, sizes=Sizes(micro=3), only=(0, 3, 6))
#: Traffic over HCCS, PCIe and the network: four nodes with two halves each; two ranks and their next pipeline stages.
LINKED = Recipe("tiny", ranks=32, tp=2, pp=2, steps=2, chip="910A", sizes=Sizes(micro=3), only=(5, 9, 21, 25))
RESNET = Recipe("resnet50", ranks=2, steps=2, sizes=Sizes(layers=4, batch=8))


def _with(recipe: Recipe, **options: Any) -> Recipe:
    return replace(recipe, options=replace(recipe.options, **options))


#: Each level with each switch of the profiler on (or off) alone, as text and database: one of two ranks that communicate,
#: with kernels on the AI CPU.
LEVELS = {"level_none": -1, "level0": 0, "level1": 1, "level2": 2}
SWITCHES: dict[str, dict[str, Any]] = {
    "plain": {},
    "no_shapes": {"shapes": False},
    "no_memory": {"memory": False},
    "no_stack": {"stack": False},
    "l2_cache": {"l2_cache": True},
    "gc": {"gc_threshold": 0.0},
    "cpu_only": {"npu": False},
    "npu_only": {"cpu": False},
}
_MARKS = (COMMUNICATION, DATALOADER)
SMALL = Recipe("tiny", 2, tp=2, steps=2, sizes=Sizes(layers=1), faults=("ai-cpu", "gc-pause:1:2"), only=(1,))


def switched(level: str, switch: str) -> str:
    """Name of that run."""
    return f"both_{level}_{switch}"


def _matrix() -> dict[str, Recipe]:
    out = {}
    for level, number in LEVELS.items():
        metrics = STORED_METRICS["PipeUtilization" if number >= 1 else "AiCoreNone"]
        for switch, options in SWITCHES.items():
            both = _with(SMALL, level=number, metrics=metrics, export=("text", "db"))
            out[switched(level, switch)] = _with(both, **options)
    return out


#: Name -> what is simulated: beside the pairs of tests/unit/capture/models/test_pairs.py every aic_metrics and every chip.
RUNS: dict[str, Recipe] = {
    **{f"metrics_{name}": _with(replace(ONE, steps=1), metrics=stored) for name, stored in STORED_METRICS.items()},
    **{f"chip_{name}": replace(ONE, chip=name) for name in CHIPS},
    "cluster": CLUSTER,
    "cluster_level0": _with(replace(CLUSTER, only=(1,)), level=0),
    "cluster_910a": replace(CLUSTER, chip="910A", only=(0, 5)),
    "resnet": RESNET,
    "dynamic_shapes": replace(RESNET, faults=("dynamic-shapes",), only=(1,)),
    "db_only": _with(ONE, export=("db",)),
    **{
        f"both_{name}": _with(recipe, export=("text", "db"))
        for name, recipe in (
            ("level0", _with(ONE, level=0, metrics=STORED_METRICS["AiCoreNone"])),
            ("level2", _with(ONE, level=2)),
            ("cluster", CLUSTER),
            ("resnet", replace(RESNET, only=(1,))),
            ("no_memory", _with(ONE, memory=False)),
            ("gc", _with(replace(ONE, faults=("gc-pause:0:5",)), gc_threshold=0.0)),
            ("links", _with(LINKED, level=2, sys_io=True, sys_interconnection=True)),
        )
    },
    **_matrix(),
    **{f"both_task_queue_{level}": replace(_with(ONE, export=("text", "db")), task_queue=level) for level in (0, 2)},
    "both_task_queue_0_level0": replace(
        _with(SMALL, level=0, metrics=STORED_METRICS["AiCoreNone"], export=("text", "db")), task_queue=0
    ),
    "both_mstx": _with(replace(CLUSTER, only=(3,)), export=("text", "db"), built_in_marks=_MARKS),
    "both_mstx_level0": _with(
        SMALL, level=0, metrics=STORED_METRICS["AiCoreNone"], export=("text", "db"), built_in_marks=_MARKS
    ),
    "both_mstx_level_none": _with(
        SMALL, level=-1, metrics=STORED_METRICS["AiCoreNone"], export=("text", "db"), built_in_marks=_MARKS
    ),
    "both_not_synced": replace(_with(CLUSTER, export=("text", "db")), step_sync=False, steps=3, only=(3,)),
}


@cache
def _root() -> Path:
    root = Path(tempfile.mkdtemp(prefix="npu-mock-"))
    atexit.register(shutil.rmtree, root, ignore_errors=True)
    return root


@cache
def run(name: str) -> tuple[Path, dict[str, Any]]:
    """Folder and truth of a run."""
    return _write(RUNS[name], _root() / name)


def written(recipe: Recipe) -> tuple[Path, dict[str, Any]]:
    """Folder and truth of a recipe that has no name."""
    return _write(recipe, Path(tempfile.mkdtemp(dir=_root())))


def _write(recipe: Recipe, folder: Path) -> tuple[Path, dict[str, Any]]:
    truth = write_run(recipe, folder, jobs=1)
    settle(folder)  # else a server reads it, and reads it again two seconds later
    return folder, truth


def rank_folder(folder: Path, rank: int) -> Path:
    """The result folder of one rank of a run."""
    (info,) = folder.glob(f"*/profiler_info_{rank}.json")
    return info.parent
