"""Writes the results of a whole simulated run: what `tb-npu mock` does, for Python."""

from __future__ import annotations

import json
import multiprocessing
import os
import shutil
from collections.abc import Callable, Collection, Sequence
from concurrent.futures import FIRST_COMPLETED, wait
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from tb_npu_plugin.capture.models.catalog import Sizes, workload
from tb_npu_plugin.capture.simulation.chips import DEFAULT_CHIP
from tb_npu_plugin.capture.simulation.cluster import Cluster, Timetable, Truth
from tb_npu_plugin.capture.simulation.data_pipeline import BOTTLENECK, LONG_WAIT, OPERATORS
from tb_npu_plugin.capture.simulation.device import TASK_QUEUES
from tb_npu_plugin.capture.simulation.faults import parse_faults
from tb_npu_plugin.capture.simulation.kernels import KernelFactory
from tb_npu_plugin.capture.simulation.topology import Layout
from tb_npu_plugin.capture.writers.files import Output
from tb_npu_plugin.capture.writers.framework import KINDS, Files, remove
from tb_npu_plugin.capture.writers.options import Options
from tb_npu_plugin.capture.writers.result import FRAMEWORKS, folder_name
from tb_npu_plugin.errors import BadRequest
from tb_npu_plugin.gc_pause import gc_paused
from tb_npu_plugin.process_pool import process_pool
from tb_npu_plugin.schema.chips import CHIPS
from tb_npu_plugin.schema.dialects import Dialect
from tb_npu_plugin.schema.torch_npu_json import DISTRIBUTED, OUTPUT_FOLDER, SIMULATED
from tb_npu_plugin.whole_files import write_whole

#: Begin of the captures, so that the same arguments give the same bytes: 2025-06-15 07:00:00.123 UTC.
START = 1_749_970_800_123_456_780
TRUTH = "truth.json"
#: s between two reports of progress.
_PATIENCE = 0.2
#: Gives what is being done and the share of it that is done.
Report = Callable[[str, float], None]


@dataclass(frozen=True)
class Recipe:
    """What to simulate."""

    model: str = "llama-7b"
    ranks: int = 1
    tp: int = 1
    pp: int = 1
    steps: int = 3
    first_step: int = 11
    chip: str = DEFAULT_CHIP
    seed: int = 0
    faults: tuple[str, ...] = ()  # as on the command line (simulation/faults.py)
    sizes: Sizes = field(default_factory=Sizes)
    options: Options = field(default_factory=Options)
    only: tuple[int, ...] = ()  # ranks to write, all without
    host: str = "node"
    start: int = START
    framework: str = "torch"
    dialect: Dialect | None = None  # of which release, the newest without
    task_queue: int = 1  # TASK_QUEUE_ENABLE of torch_npu
    step_sync: bool = True  # the host reads the loss of each step, and so waits for the device
    named_groups: bool = False  # communicators have names that the script gave
    without: tuple[str, ...] = ()  # kinds of files (writers/framework.py) that are not left

    def cluster(self) -> Cluster:
        """The run. Raises BadRequest for unknown names and incompatible options."""
        given: list[tuple[str, str, Collection[str], str]] = [("chip", self.chip, CHIPS, "Chips")]
        given.append(("framework", self.framework, FRAMEWORKS, "Known"))
        given += [("kind of files", kind, KINDS, "Known") for kind in self.without]
        for what, name, names, title in given:
            if name not in names:
                raise BadRequest(f"Unknown {what} {name!r}", f"{title} are: {', '.join(names)}.")
        if self.task_queue not in TASK_QUEUES:
            raise BadRequest(f"there is no TASK_QUEUE_ENABLE={self.task_queue}", "It is 0, 1 or 2.")
        if self.framework == "torch" and self.options.data_process:
            raise BadRequest("only MindSpore profiles the data pipeline", "Add --framework mindspore.")
        for is_set, what, option in (
            (self.options.batches, "batches of sends and receives are simulated for torch_npu alone", "--bubble zero"),
            (self.options.built_in_marks, "marks of mstx are simulated for torch_npu alone", "--mstx"),
            (self.task_queue != 1, "TASK_QUEUE_ENABLE is a variable of torch_npu", "--task-queue"),
        ):
            if is_set and self.framework != "torch":
                raise BadRequest(what, f"Leave {option} out.")
        wrong = [rank for rank in self.only if not 0 <= rank < self.ranks]
        if wrong:
            raise BadRequest(f"there is no rank {wrong[0]}", f"The run has {self.ranks} ranks, from 0.")
        chip, layout = CHIPS[self.chip], Layout(self.ranks, self.tp, self.pp)
        faults = parse_faults(self.faults, self.ranks)
        kernels = KernelFactory(chip, faults.stalls, faults.blocks)
        model = workload(self.model, self.sizes, layout, kernels, faults, self.step_sync)
        same = ("steps", "start", "seed", "first_step", "task_queue", "named_groups")
        settings = {name: getattr(self, name) for name in same}
        marks = self.options.schedule is not None
        cluster = Cluster(model, layout, chip, faults=faults, npu=self.options.npu, marks=marks, **settings)
        for one, other in faults.slow_links:
            linked = cluster.linked(one)
            if other not in linked:  # nothing would show it
                names = ", ".join(map(str, linked)) or "no other rank"
                what = f"ranks {one} and {other} send each other nothing in this run"
                raise BadRequest(what, f"Rank {one} has links to {names}.")
        return cluster


def write_run(recipe: Recipe, out: Path, jobs: int = 0, progress: Report = lambda what, share: None) -> dict[str, Any]:
    """Write one result folder per rank below `out`, and truth.json beside them. Gives the content of truth.json.

    jobs: processes that write; 0: one per core. Raises BadRequest for unknown names, incompatible options and
    results that already exist, OSError and sqlite3.Error where `out` cannot be written. Incomplete results are removed then.
    """
    run = Run(recipe, recipe.cluster(), out)
    for rank in run.ranks:
        if run.folder(rank).exists():
            raise BadRequest(f"{run.folder(rank)} already exists", "Write into another folder, or remove it first.")
    out.mkdir(parents=True, exist_ok=True)
    is_alone, truths = recipe.ranks == 1, list[Truth]()  # it waits for no other: its times need not be known before
    if not is_alone:
        run.table, truths = run.cluster.times(lambda share: progress("times of all ranks", share))
    if jobs == 1:
        written = [write_rank(run, rank, _part(progress, at, len(run.ranks))) for at, rank in enumerate(run.ranks)]
    else:
        written = _write_beside(run, min(jobs or os.cpu_count() or 1, len(run.ranks)), progress)
    truth = _truth_json(run, written if is_alone else truths)
    write_whole(out / TRUTH, json.dumps(truth, indent=1).encode())
    return truth


@dataclass
class Run:
    """A run that is written below `out`. table: when ranks arrive where they communicate, empty for a single one."""

    recipe: Recipe
    cluster: Cluster
    out: Path
    table: Timetable = field(default_factory=Timetable)

    def __post_init__(self) -> None:
        self.ranks: Sequence[int] = self.recipe.only or range(self.recipe.ranks)  # those that are written
        self.framework = FRAMEWORKS[self.recipe.framework]
        self.dialect = self.recipe.dialect or self.framework.dialect

    def host(self, rank: int) -> str:
        """The server of a rank."""
        return f"{self.recipe.host}{rank // self.cluster.chip.node}"

    def folder(self, rank: int) -> Path:
        """The result folder of a rank."""
        digits, suffix = self.dialect.stamp_digits, self.framework.suffix
        return self.out / folder_name(self.cluster.process(rank), self.host(rank), digits, suffix)


def write_rank(run: Run, rank: int, progress: Callable[[float], None]) -> Truth:
    """Write the result folder of one rank, step by step: it is complete, or not there, since half a result would be taken for
    a whole one."""
    recipe, layout, folder, options = run.recipe, run.cluster.layout, run.folder(rank), run.recipe.options
    process, segments, truth = run.cluster.record(rank, run.table, runtime=options.level >= 2)
    sizes = {"tensor_model": layout.tp, "pipeline_model": layout.pp, "data": layout.dp}
    arguments = {f"{kind}_parallel_size": size for kind, size in sizes.items()}
    arguments |= {"world_size": layout.world, "rank": rank, "sequence_parallel": False}
    schedule = {"wait": 0, "active": recipe.steps, "warmup": 1, "repeat": 1}
    schedule |= {"skip_first": recipe.first_step - 1, "skip_first_wait": 0}
    metadata = {SIMULATED: True, DISTRIBUTED: arguments, **options.metadata}
    # a schedule would switch the data pipeline off
    process.marks, process.host = run.cluster.marks and not options.data_process, run.host(rank)
    options = replace(options, schedule=schedule if process.marks else None, metadata=metadata)
    try:
        with gc_paused():
            output = Output(folder / OUTPUT_FOLDER, process, options, run.dialect)
            files = Files(output, run.framework)
            for number, segment in enumerate(segments, 1):
                if options.gc_threshold is None:  # collections are not recorded
                    segment.gc.clear()
                files.add(segment)
                progress(number / recipe.steps)
            files.close()
            run.framework.write_side_files(output)
            remove(folder, recipe.without)
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    return truth


def _write_beside(run: Run, jobs: int, progress: Report) -> list[Truth]:
    """Write the ranks in worker processes. Returns their truths, in the order in which they end.

    With the first that fails, and when this one is stopped, only results that are complete stay: a process that was ended has not
    removed its own.
    """
    left, written, truths = set(run.ranks), multiprocessing.Value("d", 0.0), list[Truth]()
    try:
        with process_pool(jobs, _begin, run, written) as submit:
            futures = {submit(_write, rank): rank for rank in run.ranks}
            while left:
                for future in wait(futures, _PATIENCE, FIRST_COMPLETED).done:
                    truths.append(future.result())
                    left.discard(futures.pop(future))
                progress("ranks", min(1.0, written.value / len(run.ranks)))
    except BaseException:
        for rank in left:
            shutil.rmtree(run.folder(rank), ignore_errors=True)
        raise
    return truths


def _part(progress: Report, number: int, count: int) -> Callable[[float], None]:
    return lambda share: progress("ranks", (number + share) / count)


#: What a writing process was started with; the last: ranks that are written, with the part of those in work.
_work: list[tuple[Run, Any]] = []


def _begin(*work: Any) -> None:
    _work[:] = [work]


def _write(rank: int) -> Truth:
    (run, written), reported = _work[0], 0.0

    def report(share: float) -> None:
        nonlocal reported
        with written.get_lock():
            written.value += share - reported
        reported = share

    return write_rank(run, rank, report)


def _truth_json(run: Run, truths: list[Truth]) -> dict[str, Any]:
    recipe, cluster, layout = run.recipe, run.cluster, run.cluster.layout
    pipeline = {"data_pipeline": data_truth(cluster)} if recipe.options.data_process else {}
    return {
        SIMULATED: True,
        "framework": recipe.framework,
        "model": recipe.model,
        "chip": recipe.chip,
        "seed": recipe.seed,
        "layout": {"ranks": layout.world, "tp": layout.tp, "pp": layout.pp, "dp": layout.dp},
        "steps": list(range(recipe.first_step, recipe.first_step + recipe.steps)),
        "sizes": [cluster.workload.size(step) for step in range(recipe.steps)],
        "faults": cluster.faults.as_json(),
        "ranks": {str(rank): asdict(truth) for rank, truth in enumerate(truths)},
        **pipeline,
    }


def data_truth(cluster: Cluster) -> dict[str, Any]:
    """Operators of the data pipeline from the root on, and the one that holds up each rank, if one does."""
    keys = ("op_id", "type", "workers", "queue")
    operators = [dict(zip(keys, (one.id, one.type, one.workers, one.capacity or None))) for one in OPERATORS]
    waits = {str(rank): cluster.faults.loader.get(rank, 0) for rank in range(cluster.layout.world)}
    slow = {rank: BOTTLENECK.id if wait > LONG_WAIT else None for rank, wait in waits.items()}
    return {"operators": operators, "bottleneck": slow}
