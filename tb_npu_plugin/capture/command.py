"""tb-npu mock: results of simulated training runs, without PyTorch and without an NPU."""

from __future__ import annotations

import sqlite3
import sys
from collections.abc import Iterator
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import click
from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TaskProgressColumn, TextColumn, TimeRemainingColumn

from tb_npu_plugin.capture.models.catalog import MODELS, Sizes
from tb_npu_plugin.capture.models.run import TRUTH, Recipe, Report, events_of_a_step, write_run
from tb_npu_plugin.capture.simulation.chips import CHIPS, DEFAULT_CHIP, GIB
from tb_npu_plugin.capture.simulation.faults import FAULTS
from tb_npu_plugin.capture.writers.built_in_marks import COMMUNICATION, DATALOADER
from tb_npu_plugin.capture.writers.dialect import Options
from tb_npu_plugin.capture.writers.frameworks import FRAMEWORKS
from tb_npu_plugin.errors import NpuPluginError

LEVELS = {"Level_none": -1, "Level0": 0, "Level1": 1, "Level2": 2}
#: aic_metrics as users write them -> as stored.
METRICS = {
    "PipeUtilization": "ACL_AICORE_PIPE_UTILIZATION", "ArithmeticUtilization": "ACL_AICORE_ARITHMETIC_UTILIZATION",
    "Memory": "ACL_AICORE_MEMORY_BANDWIDTH", "MemoryL0": "ACL_AICORE_L0B_AND_WIDTH",
    "MemoryUB": "ACL_AICORE_MEMORY_UB", "ResourceConflictRatio": "ACL_AICORE_RESOURCE_CONFLICT_RATIO",
    "L2Cache": "ACL_AICORE_L2_CACHE", "MemoryAccess": "ACL_AICORE_MEMORY_ACCESS", "AiCoreNone": "ACL_AICORE_NONE",
}  # fmt: skip
_REMOVED = "Results that are not complete have been removed."
_EPILOG = "\b\nFaults (figures in brackets may be left out):\n" + "".join(f"  {text}\n" for text in FAULTS.values())


@click.command(epilog=_EPILOG)
@click.option("--out", type=click.Path(file_okay=False, path_type=Path), required=True, help="Folder for the results.")
@click.option("--model", type=click.Choice(MODELS), default="llama-7b", show_default=True)
@click.option("--ranks", default=1, show_default=True, type=click.IntRange(1), help="Processes, one NPU each.")
@click.option("--tp", default=1, show_default=True, type=click.IntRange(1), help="Tensor parallel size.")
@click.option("--pp", default=1, show_default=True, type=click.IntRange(1), help="Pipeline stages.")
@click.option("--steps", default=3, show_default=True, type=click.IntRange(1), help="Recorded steps.")
@click.option("--events", type=click.IntRange(1), help="Events of a rank's trace: as many steps as this needs.")
@click.option("--fault", "faults", multiple=True, metavar="FAULT[:...]", help="What goes wrong; repeatable. See below.")
@click.option("--only-ranks", default="", metavar="R,R...", help="Write only these ranks of the run.")
@click.option("--chip", type=click.Choice(list(CHIPS)), default=DEFAULT_CHIP, show_default=True)
@click.option("--level", type=click.Choice(list(LEVELS)), default="Level1", show_default=True, help="Profiler level.")
@click.option("--aic-metrics", type=click.Choice(list(METRICS)), help="From Level1 on: [default: PipeUtilization]")
@click.option("--export-type", default="text", metavar="text,db", show_default=True, help="Files, databases, or both.")
@click.option("--framework", type=click.Choice(list(FRAMEWORKS)), default="torch", show_default=True)
@click.option("--data-process", is_flag=True, help="MindSpore: profile the data pipeline, which goes without steps.")
@click.option(
    "--task-queue", default=1, show_default=True, type=click.IntRange(0, 2), help="TASK_QUEUE_ENABLE of torch_npu."
)
@click.option("--mstx", is_flag=True, help="With the marks that torch_npu sets itself: communication, dataloader.")
@click.option("--l2-cache", is_flag=True, help="With l2_cache.csv.")
@click.option("--sys-io", is_flag=True, help="With nic.csv and roce.csv, and these curves.")
@click.option("--sys-interconnection", is_flag=True, help="With pcie.csv and hccs.csv, and these curves.")
@click.option("--no-memory", is_flag=True, help="Without profile_memory.")
@click.option("--no-stack", is_flag=True, help="Without with_stack and with_modules.")
@click.option("--no-shapes", is_flag=True, help="Without record_shapes.")
@click.option("--layers", type=click.IntRange(1), help="Another number of layers than the model's.")
@click.option("--hidden", type=click.IntRange(64), help="Another hidden size.")
@click.option("--heads", type=click.IntRange(1), help="Another number of attention heads.")
@click.option("--seq", "sequence", type=click.IntRange(64), help="Another sequence length.")
@click.option("--batch", type=click.IntRange(1), help="Another (micro) batch.")
@click.option("--micro-batches", "micro", type=click.IntRange(1), help="Micro batches in a step.")
@click.option("--seed", default=0, show_default=True, help="The same seed gives the same bytes.")
@click.option(
    "--jobs", default=0, show_default=True, type=click.IntRange(0), help="Writing processes; 0: one per core."
)
def mock(
    out: Path, model: str, ranks: int, tp: int, pp: int, steps: int, events: int | None, faults: tuple[str, ...],
    only_ranks: str, chip: str, level: str, aic_metrics: str | None, export_type: str, framework: str, data_process: bool,
    task_queue: int, mstx: bool, l2_cache: bool, sys_io: bool, sys_interconnection: bool, no_memory: bool, no_stack: bool,
    no_shapes: bool, layers: int | None, hidden: int | None, heads: int | None, sequence: int | None,
    batch: int | None, micro: int | None, seed: int, jobs: int,
) -> None:  # fmt: skip
    """Simulate training runs and write their profiles: *_ascend_pt or *_ascend_ms folders of all ranks, whose waits
    fit each other, and truth.json with the figures that were put in."""
    counts = LEVELS[level] >= 1
    if aic_metrics not in (None, "AiCoreNone") and not counts:
        raise click.UsageError(f"--level {level} records no --aic-metrics.")
    options = Options(
        LEVELS[level], METRICS[aic_metrics or ("PipeUtilization" if counts else "AiCoreNone")], not no_shapes,
        not no_memory, not no_stack, l2_cache, export=_forms(export_type), gc_threshold=0.0 if any("gc-pause" in f for f in faults) else None,
        data_process=data_process, sys_io=sys_io, sys_interconnection=sys_interconnection,
        built_in_marks=(COMMUNICATION, DATALOADER) if mstx else (),
    )  # fmt: skip
    sizes = Sizes(layers, hidden, heads, sequence, batch, micro)
    recipe = Recipe(model, ranks, tp, pp, steps, 11, chip, seed, faults, sizes, options, _ranks(only_ranks),
                    framework=framework, task_queue=task_queue)  # fmt: skip
    if events:
        recipe = replace(recipe, steps=-(-events // events_of_a_step(recipe)))
    try:
        with _bars() as report:
            truth = write_run(recipe, out, jobs, report)
    except (OSError, sqlite3.Error, BrokenProcessPool) as error:
        raise NpuPluginError(f"cannot write {out}: {error}", _REMOVED) from error
    except KeyboardInterrupt:
        click.echo(f"tb-npu: stopped. {_REMOVED}", err=True)
        sys.exit(130)
    held, memory = max(max(rank["reserved"]) for rank in truth["ranks"].values()), CHIPS[chip].memory
    if held > memory:
        click.echo(f"tb-npu: {model} takes {held / GIB:.0f} GiB of a device with {memory / GIB:.0f} GiB: a real run would "
                   "stop for lack of memory. Split it with --tp and --pp, or make it smaller.", err=True)  # fmt: skip
    click.echo(f"{len(recipe.only) or ranks} of {ranks} ranks, {recipe.steps} steps, {TRUTH}: {out}")


def _forms(text: str) -> tuple[str, ...]:
    forms = tuple(part.strip() for part in text.split(","))
    if not forms or set(forms) - {"text", "db"}:
        raise click.UsageError(f"--export-type {text} is not text, db or text,db.")
    return forms


def _ranks(text: str) -> tuple[int, ...]:
    try:
        return tuple(dict.fromkeys(int(part) for part in text.split(",") if part.strip()))
    except ValueError:
        raise click.UsageError(f"--only-ranks {text} is not a list of numbers.") from None


@contextmanager
def _bars() -> Iterator[Report]:
    """A progress bar per piece of work, on stderr where that is a terminal."""
    if not sys.stderr.isatty():
        yield lambda what, share: None
        return
    columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        tasks: dict[str, TaskID] = {}

        def tell(what: str, share: float) -> None:
            if what not in tasks:
                tasks[what] = bar.add_task(what, total=1.0)
            bar.update(tasks[what], completed=share)

        yield tell
