"""tb-npu mock: results of simulated training runs, without PyTorch and without an NPU."""

from __future__ import annotations

import shlex
import signal
import sqlite3
import sys
from collections.abc import Iterator
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from types import FrameType
from typing import Any

import click
from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TaskProgressColumn, TextColumn, TimeRemainingColumn

from tb_npu_plugin.capture.models.catalog import MODELS, Sizes
from tb_npu_plugin.capture.models.run import TRUTH, Recipe, Report, complete_ranks, events_of_a_step, write_run
from tb_npu_plugin.capture.simulation.chips import CHIPS, DEFAULT_CHIP, GIB
from tb_npu_plugin.capture.simulation.faults import usages
from tb_npu_plugin.capture.writers.built_in_marks import COMMUNICATION, DATALOADER
from tb_npu_plugin.capture.writers.dialect import LEVELS, Options
from tb_npu_plugin.capture.writers.frameworks import FRAMEWORKS
from tb_npu_plugin.errors import NpuPluginError
from tb_npu_plugin.schema.settings import AIC_METRICS

#: aic_metrics as users write them -> as stored.
METRICS = {name: stored for stored, name in AIC_METRICS.items()}
#: What ends the command; what it has not finished is removed first. SIGTERM: of timeout, Slurm, Kubernetes; SIGHUP: of a
#: terminal that is closed.
_SIGNALS = tuple(getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name))
_EPILOG = (
    "\b\nFaults (figures in brackets may be left out):\n"
    + "".join(f"  {text}\n" for text in usages())
    + """
\b
Examples:
  tb-npu mock --out runs/small --model tiny --ranks 8 --tp 2 --pp 2
  tb-npu mock --out runs/slow --ranks 64 --tp 8 --pp 4 --fault slow-rank:13
  tb-npu mock --out runs/large --model gpt2 --events 1000000 --export-type text,db
Then: tensorboard --logdir runs
"""
)
_LAST = "Output"
#: Headings of --help -> options below them.
_GROUPS = {
    "The run": (
        "model",
        "ranks",
        "tp",
        "pp",
        "steps",
        "events",
        "faults",
        "chip",
        "task_queue",
        "no_step_sync",
        "seed",
    ),
    "Sizes that differ from the model's": ("layers", "hidden", "heads", "sequence", "batch", "micro"),
    "Profiler settings": (
        "framework",
        "level",
        "aic_metrics",
        "export_type",
        "mstx",
        "l2_cache",
        "sys_io",
        "sys_interconnection",
        "data_process",
        "no_memory",
        "no_stack",
        "no_shapes",
    ),
    _LAST: ("out", "only_ranks", "jobs"),
}
_ONE_UP = click.IntRange(1)


class _Grouped(click.Command):
    """Lists its options under headings."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options; those of no heading, of click, under the last one."""
        records = {param.name: param.get_help_record(ctx) for param in self.get_params(ctx)}
        groups = {title: [records.pop(name) for name in names] for title, names in _GROUPS.items()}
        groups[_LAST] += records.values()
        for title, found in groups.items():
            with formatter.section(title):
                formatter.write_dl([record for record in found if record is not None])


class _Folder(click.Path):
    """A folder. An empty name, as of a variable that is not set, would be this folder."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Raises click.BadParameter."""
        if value == "":
            self.fail("the name is empty; this folder is '.'", param, ctx)
        return super().convert(value, param, ctx)


@click.command(cls=_Grouped, epilog=_EPILOG)
@click.option(
    "--out",
    type=_Folder(file_okay=False, path_type=Path),
    required=True,
    metavar="FOLDER",
    help="Where the results go; created if missing.",
)
@click.option(
    "--model",
    type=click.Choice(MODELS),
    default="llama-7b",
    show_default=True,
    metavar="MODEL",
    help=f"{', '.join(MODELS)}.",
)
@click.option("--ranks", default=1, show_default=True, type=_ONE_UP, metavar="N", help="Processes, one NPU each.")
@click.option("--tp", default=1, show_default=True, type=_ONE_UP, metavar="N", help="Tensor parallel size.")
@click.option(
    "--pp",
    default=1,
    show_default=True,
    type=_ONE_UP,
    metavar="N",
    help="Pipeline stages. What tp and pp leave of the ranks is data parallel.",
)
@click.option("--steps", default=3, show_default=True, type=_ONE_UP, metavar="N", help="Recorded steps.")
@click.option("--events", type=_ONE_UP, metavar="N", help="As many steps as a trace of so many events needs.")
@click.option("--fault", "faults", multiple=True, metavar="FAULT[:...]", help="What goes wrong; repeatable. See below.")
@click.option("--only-ranks", default="", metavar="R,R...", help="Simulate all ranks, write only these.")
@click.option(
    "--chip",
    type=click.Choice(list(CHIPS)),
    default=DEFAULT_CHIP,
    show_default=True,
    metavar="CHIP",
    help=f"{', '.join(CHIPS)}.",
)
@click.option(
    "--level",
    type=click.Choice(list(LEVELS)),
    default="Level1",
    show_default=True,
    metavar="LEVEL",
    help=f"Profiler level: {', '.join(LEVELS)}.",
)
@click.option(
    "--aic-metrics",
    type=click.Choice(list(METRICS)),
    metavar="METRICS",
    help=f"{', '.join(METRICS)}. From Level1 on [default: PipeUtilization]",
)
@click.option("--export-type", default="text", metavar="text,db", show_default=True, help="Files, databases, or both.")
@click.option(
    "--framework",
    type=click.Choice(list(FRAMEWORKS)),
    default="torch",
    show_default=True,
    help="Profiler to imitate: *_ascend_pt or *_ascend_ms folders.",
)
@click.option("--data-process", is_flag=True, help="mindspore: profile the data pipeline, without steps.")
@click.option(
    "--task-queue",
    default=1,
    show_default=True,
    type=click.IntRange(0, 2),
    metavar="N",
    help="TASK_QUEUE_ENABLE of torch_npu: 0, 1 or 2.",
)
@click.option("--no-step-sync", is_flag=True, help="The loss is never read: the host runs ahead of the device.")
@click.option("--mstx", is_flag=True, help="The marks that torch_npu sets itself: communication, dataloader.")
@click.option("--l2-cache", is_flag=True, help="l2_cache.csv.")
@click.option("--sys-io", is_flag=True, help="nic.csv and roce.csv, and their curves.")
@click.option("--sys-interconnection", is_flag=True, help="pcie.csv and hccs.csv, and their curves.")
@click.option("--no-memory", is_flag=True, help="profile_memory=False.")
@click.option("--no-stack", is_flag=True, help="with_stack=False and with_modules=False.")
@click.option("--no-shapes", is_flag=True, help="record_shapes=False.")
@click.option("--layers", type=_ONE_UP, metavar="N", help="Layers.")
@click.option("--hidden", type=click.IntRange(64), metavar="N", help="Hidden size.")
@click.option("--heads", type=_ONE_UP, metavar="N", help="Attention heads.")
@click.option("--seq", "sequence", type=click.IntRange(64), metavar="N", help="Sequence length.")
@click.option("--batch", type=_ONE_UP, metavar="N", help="Batch size, of one micro batch.")
@click.option("--micro-batches", "micro", type=_ONE_UP, metavar="N", help="Micro batches in a step.")
@click.option("--seed", default=0, show_default=True, metavar="N", help="The same seed gives the same bytes.")
@click.option(
    "--jobs",
    default=0,
    show_default=True,
    type=click.IntRange(0),
    metavar="N",
    help="Writing processes; 0: one per core.",
)
def mock(
    out: Path,
    model: str,
    ranks: int,
    tp: int,
    pp: int,
    steps: int,
    events: int | None,
    faults: tuple[str, ...],
    only_ranks: str,
    chip: str,
    level: str,
    aic_metrics: str | None,
    export_type: str,
    framework: str,
    data_process: bool,
    task_queue: int,
    no_step_sync: bool,
    mstx: bool,
    l2_cache: bool,
    sys_io: bool,
    sys_interconnection: bool,
    no_memory: bool,
    no_stack: bool,
    no_shapes: bool,
    layers: int | None,
    hidden: int | None,
    heads: int | None,
    sequence: int | None,
    batch: int | None,
    micro: int | None,
    seed: int,
    jobs: int,
) -> None:
    """Simulate a training run and write its profiles: one result folder for each rank, and truth.json with the
    simulated faults and times. It needs neither PyTorch nor an NPU."""
    counts = LEVELS[level] >= 1
    if aic_metrics not in (None, "AiCoreNone") and not counts:
        raise click.UsageError(f"--level {level} records no --aic-metrics.")
    options = Options(
        LEVELS[level],
        METRICS[aic_metrics or ("PipeUtilization" if counts else "AiCoreNone")],
        not no_shapes,
        not no_memory,
        not no_stack,
        l2_cache,
        export=_forms(export_type),
        gc_threshold=0.0 if any("gc-pause" in f for f in faults) else None,
        data_process=data_process,
        sys_io=sys_io,
        sys_interconnection=sys_interconnection,
        built_in_marks=(COMMUNICATION, DATALOADER) if mstx else (),
    )
    sizes = Sizes(layers, hidden, heads, sequence, batch, micro)
    recipe = Recipe(
        model,
        ranks,
        tp,
        pp,
        steps,
        11,
        chip,
        seed,
        faults,
        sizes,
        options,
        _ranks(only_ranks),
        framework=framework,
        task_queue=task_queue,
        step_sync=not no_step_sync,
    )
    try:
        with _stopped_by_signals(), _bars() as report:
            if events:
                recipe = replace(recipe, steps=-(-events // events_of_a_step(recipe)))
            truth = write_run(recipe, out, jobs, report)
    except BrokenProcessPool as error:
        raise NpuPluginError(
            "a writing process was killed: is there enough memory?", _describe_rest(recipe, out)
        ) from error
    except (OSError, sqlite3.Error, MemoryError) as error:
        raise NpuPluginError(f"cannot write {out}: {error or 'out of memory'}", _describe_rest(recipe, out)) from error
    except _Stopped as stopped:
        click.echo(f"tb-npu: stopped. {_describe_rest(recipe, out)}", err=True)
        sys.exit(128 + stopped.number)
    held, memory = max(max(rank["reserved"]) for rank in truth["ranks"].values()), CHIPS[chip].memory
    if held > memory:
        click.echo(
            f"tb-npu: {model} takes {held / GIB:.0f} GiB of a device with {memory / GIB:.0f} GiB: a real run would "
            "stop for lack of memory. Split it with --tp and --pp, or make it smaller.",
            err=True,
        )
    click.echo(f"{len(recipe.only) or ranks} of {ranks} ranks, {recipe.steps} steps, {TRUTH}: {out}")
    click.echo(f"Look at it: tensorboard --logdir {shlex.quote(str(out))}")


class _Stopped(BaseException):
    """A signal ended the work."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


@contextmanager
def _stopped_by_signals() -> Iterator[None]:
    """The first signal stops the block; later ones do not disturb the removal of what it has not finished. Signals that
    are ignored (nohup) stay so."""

    def stop(number: int, frame: FrameType | None) -> None:
        for other in before:
            signal.signal(other, signal.SIG_IGN)
        raise _Stopped(number)

    before = {number: signal.getsignal(number) for number in _SIGNALS if signal.getsignal(number) != signal.SIG_IGN}
    for number in before:
        signal.signal(number, stop)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _describe_rest(recipe: Recipe, out: Path) -> str:
    """What a run that was not finished leaves."""
    count = len(complete_ranks(recipe, out))
    if not count:
        return "Nothing of it is left."
    whole = len(recipe.only) or recipe.ranks
    return f"{count} of {whole} ranks are complete and stay; the others have been removed. There is no {TRUTH}."


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

        def report(what: str, share: float) -> None:
            if what not in tasks:
                tasks[what] = bar.add_task(what, total=1.0)
            bar.update(tasks[what], completed=share)

        yield report
