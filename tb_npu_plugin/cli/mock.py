"""tb-npu mock: results of simulated training runs, without PyTorch and without an NPU."""

from __future__ import annotations

import shlex
import signal
import sqlite3
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from types import FrameType
from typing import Any, Optional

import click
from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

from tb_npu_plugin.capture.models.catalog import MODELS, Sizes
from tb_npu_plugin.capture.models.run import TRUTH, Recipe, Report, Run, write_rank, write_run
from tb_npu_plugin.capture.simulation.faults import FAULTS
from tb_npu_plugin.capture.writers.framework import KINDS
from tb_npu_plugin.capture.writers.options import Options
from tb_npu_plugin.capture.writers.result import COMMUNICATION, DATALOADER, FRAMEWORKS
from tb_npu_plugin.csv_tables import read_table
from tb_npu_plugin.errors import NpuPluginError
from tb_npu_plugin.schema.chips import CHIPS
from tb_npu_plugin.schema.settings import LEVELS, STORED_METRICS

#: What ends the command; what it has not finished is removed first. SIGTERM: of timeout, Slurm, Kubernetes; SIGHUP: of a
#: terminal that is closed.
_SIGNALS = tuple(getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name))
_EPILOG = (
    "\b\nFaults (figures in brackets may be left out):\n"
    + "".join(f"  {word + fault.usage:<29} {fault.help}\n" for word, fault in FAULTS.items())
    + """
\b
Examples:
  tb-npu mock --out runs/small --model tiny --ranks 8 --tp 2 --pp 2
  tb-npu mock --out runs/slow --ranks 64 --tp 8 --pp 4 --fault slow-rank:13
  tb-npu mock --out runs/large --model gpt2 --events 1000000 --export-type text,db
Then: tensorboard --logdir runs
"""
)


class _Folder(click.Path):
    """A folder. An empty name, as of a variable that is not set, would be this folder."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Raises click.BadParameter."""
        if value == "":
            self.fail("the name is empty; this folder is '.'", param, ctx)
        return super().convert(value, param, ctx)


@dataclass(frozen=True)
class _Row:
    """An option: a row of mock.csv. title: the heading of --help above it; kind: what it takes; least: of a number; field: the
    argument of the callback, where it is not called as the option; {} in the help: what the option chooses from."""

    title: str
    kind: str
    help: str
    least: Optional[int] = None
    default: Optional[str] = None
    field: str = ""
    metavar: Optional[str] = None

    def option(self, name: str) -> click.Option:
        """The option of this name."""
        choices = list(_CHOICES.get(name, ()))
        kinds: dict[str, dict[str, Any]] = {
            "number": {"type": click.IntRange(self.least)},
            "level": {"type": click.IntRange(self.least, 2)},
            "integer": {"type": int},
            "choice": {"type": click.Choice(choices)},
            "flag": {"is_flag": True},
            "texts": {"multiple": True},
            "list": {"default": ""},
            "folder": {"type": _Folder(file_okay=False, path_type=Path), "required": True},
        }
        settings = kinds.get(self.kind, {})
        if self.default is not None:  # None would be a value: click 8.5 takes it for that of a required option
            settings = {**settings, "default": self.default, "show_default": True}
        help_ = self.help.format(", ".join(choices))
        return click.Option([name, *filter(None, [self.field])], help=help_, metavar=self.metavar, **settings)


#: Option -> what it chooses from.
_CHOICES: dict[str, Iterable[str]] = {
    "--model": MODELS,
    "--chip": CHIPS,
    "--framework": FRAMEWORKS,
    "--level": LEVELS,
    "--bubble": ("written", "zero"),  # of step_trace_time.csv
    "--aic-metrics": STORED_METRICS,
    "--without": KINDS,
}
#: Headings of --help -> the options below them.
_OPTIONS = defaultdict[str, list[click.Option]](list)
for _name, _row in read_table(__file__, "mock.csv", _Row).items():
    _OPTIONS[_row.title].append(_row.option(_name))


class _Grouped(click.Command):
    """Lists its options under headings."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options; those of no heading, of click, under the last one."""
        others = [option for option in self.get_params(ctx) if option not in self.params]
        for title, options in _OPTIONS.items():
            last = others if title == list(_OPTIONS)[-1] else []
            with formatter.section(title):
                formatter.write_dl([record for one in [*options, *last] if (record := one.get_help_record(ctx))])


def _recipe(given: Mapping[str, Any]) -> Recipe:
    """What the options say. Raises click.UsageError."""
    level, metrics, faults, forms = (given[name] for name in ("level", "aic_metrics", "faults", "export_type"))
    level, export = LEVELS[level], _parts(forms)
    if metrics not in (None, "AiCoreNone") and level < 1:
        raise click.UsageError(f"--level {given['level']} records no --aic-metrics.")
    if not export or set(export) - {"text", "db"}:
        raise click.UsageError(f"--export-type {forms} is not text, db or text,db.")
    try:
        only = tuple(dict.fromkeys(map(int, _parts(given["only_ranks"]))))
    except ValueError:
        raise click.UsageError(f"--only-ranks {given['only_ranks']} is not a list of numbers.") from None
    settings = ("l2_cache", "data_process", "sys_io", "sys_interconnection")
    options = Options(
        level,
        STORED_METRICS[metrics or ("PipeUtilization" if level >= 1 else "AiCoreNone")],
        not given["no_shapes"],
        not given["no_memory"],
        not given["no_stack"],
        **{name: given[name] for name in settings},
        export=export,
        gc_threshold=0.0 if any("gc-pause" in fault for fault in faults) else None,
        batches=given["bubble"] == "zero",
        built_in_marks=(COMMUNICATION, DATALOADER) if given["mstx"] else (),
    )
    sizes = ("layers", "hidden", "heads", "sequence", "batch", "micro")
    run = ("model", "ranks", "tp", "pp", "steps", "chip", "seed", "faults", "framework", "task_queue", "named_groups")
    return Recipe(
        **{name: given[name] for name in run},
        sizes=Sizes(**{name: given[name] for name in sizes}),
        options=options,
        only=only,
        without=_parts(given["without"]),
        step_sync=not given["no_step_sync"],
    )


def _mock(out: Path, events: int | None, jobs: int, **given: Any) -> None:
    """Simulate a training run and write its profiles: one result folder for each rank, and truth.json with the
    simulated faults and times. It needs neither PyTorch nor an NPU."""
    recipe = _recipe(given)
    try:
        with _stopped_by_signals(), _bars() as report:
            if events:
                recipe = replace(recipe, steps=-(-events // _events_of_a_step(recipe)))
            truth = write_run(recipe, out, jobs, report)
    except BrokenProcessPool as error:
        killed = "a writing process was killed: is there enough memory?"
        raise NpuPluginError(killed, _describe_rest(recipe, out)) from error
    except (OSError, sqlite3.Error, MemoryError) as error:
        raise NpuPluginError(f"cannot write {out}: {error or 'out of memory'}", _describe_rest(recipe, out)) from error
    except _Stopped as stopped:
        click.echo(f"tb-npu: stopped. {_describe_rest(recipe, out)}", err=True)
        sys.exit(128 + stopped.args[0])
    held, memory = max(max(rank["reserved"]) for rank in truth["ranks"].values()), CHIPS[recipe.chip].memory
    if held > memory:
        takes = f"{recipe.model} takes {held / 2**30:.0f} GiB of a device with {memory / 2**30:.0f} GiB"
        advice = "a real run would stop for lack of memory. Split it with --tp and --pp, or make it smaller."
        click.echo(f"tb-npu: {takes}: {advice}", err=True)
    click.echo(f"{len(recipe.only) or recipe.ranks} of {recipe.ranks} ranks, {recipe.steps} steps, {TRUTH}: {out}")
    click.echo(f"Look at it: tensorboard --logdir {shlex.quote(str(out))}")


def _events_of_a_step(recipe: Recipe) -> int:
    """Events that one step of the first rank to be written has in trace_view.json."""
    counts, recipe = [], replace(recipe, options=replace(recipe.options, export=("text",)), without=())
    for steps in (1, 2):
        with tempfile.TemporaryDirectory() as name:
            shorter = replace(recipe, steps=steps)
            run = Run(shorter, shorter.cluster(), Path(name))
            run.table, _ = run.cluster.times()
            write_rank(run, run.ranks[0], lambda share: None)
            (trace,) = Path(name).rglob("trace_view.json")
            counts.append(trace.read_bytes().count(b'"ph": '))
    return counts[1] - counts[0]


_ALL_OPTIONS: list[click.Parameter] = [option for options in _OPTIONS.values() for option in options]
mock = _Grouped("mock", callback=_mock, params=_ALL_OPTIONS, help=_mock.__doc__, epilog=_EPILOG)


class _Stopped(BaseException):
    """A signal ended the work; its number is the argument."""


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
    run = Run(recipe, recipe.cluster(), out)
    count = sum(run.folder(rank).exists() for rank in run.ranks)
    if not count:
        return "Nothing of it is left."
    return (
        f"{count} of {len(run.ranks)} ranks are complete and stay; the others have been removed. There is no {TRUTH}."
    )


def _parts(text: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in text.split(",") if part.strip())


@contextmanager
def _bars() -> Iterator[Report]:
    """A progress bar per piece of work, on stderr where that is a terminal."""
    if not sys.stderr.isatty():
        yield lambda what, share: None
        return
    columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = cache(lambda what: bar.add_task(what, total=1.0))
        yield lambda what, share: bar.update(task(what), completed=share)
