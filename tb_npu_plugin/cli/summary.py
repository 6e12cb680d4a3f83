"""tb-npu board and summary: Summary events of MindSpore in TensorBoard."""

from __future__ import annotations

import hashlib
import os
import threading
import time
from pathlib import Path

import click

from tb_npu_plugin.analysis.steps.of_span import steps_and_source
from tb_npu_plugin.discovery.model import Place
from tb_npu_plugin.discovery.watch import Watcher
from tb_npu_plugin.errors import BadRequest, NpuPluginError
from tb_npu_plugin.printable import package_logger, printable
from tb_npu_plugin.schema.other_files import LOCK_FILE
from tb_npu_plugin.store.cache.disk import open_cache
from tb_npu_plugin.store.library import Library
from tb_npu_plugin.summary.mirror import Report, update, version
from tb_npu_plugin.summary.step_times import ProfileSteps
from tb_npu_plugin.terminal import echo

FOLDER = click.Path(exists=True, file_okay=False, path_type=Path)
#: Seconds between two looks for new events. TensorBoard itself looks every 5 s.
INTERVAL = 5.0
#: Maximum share of the time that looking for new events may take.
MAX_SHARE = 0.2

#: Id of our plugin in TensorBoard.
PLUGIN = "npu_profiler"

logger = package_logger(__name__)


@click.command(context_settings={"ignore_unknown_options": True})
@click.argument("logdir", type=FOLDER)
@click.argument("tensorboard_options", nargs=-1, type=click.UNPROCESSED)
def board(logdir: Path, tensorboard_options: tuple[str, ...]) -> None:
    """Start TensorBoard over LOGDIR, with the Summary events of MindSpore below it in TensorBoard's dashboards.

    The events are converted into the cache directory, and followed while they are written. LOGDIR is not changed.
    Further options are TensorBoard's, such as --port 6007.
    """
    logdir = logdir.absolute()
    if "," in str(logdir):
        raise BadRequest(f"TensorBoard cannot open {logdir} beside another folder: its path has a comma", "Rename it.")
    mirror = mirror_folder(logdir)
    mirror.mkdir(mode=0o700, parents=True, exist_ok=True)
    (mirror / LOCK_FILE).touch()  # the plugin recognises the folder by it
    library = Library(Watcher({"": logdir}))
    threading.Thread(target=_follow, args=(logdir, mirror, library), name="summary", daemon=True).start()

    from tensorboard import program

    tensorboard = program.TensorBoard()
    tensorboard.configure(["tensorboard", f"--logdir_spec={logdir},{mirror}", *tensorboard_options])
    raise SystemExit(tensorboard.main())


@click.command()
@click.argument("src", type=FOLDER)
@click.argument("out", type=click.Path(file_okay=False, path_type=Path))
def summary(src: Path, out: Path) -> None:
    """Convert the Summary events of MindSpore below SRC into event files of TensorBoard in OUT.

    Run it again to convert what was written since.
    """
    if out.resolve() == src.resolve():
        raise BadRequest("OUT must be another folder than SRC")
    report = update(src.absolute(), out)
    if report is None:
        raise NpuPluginError(f"another process converts into {out}", "Wait until it has ended.")
    _print_report(report)
    if not report.events:
        raise NpuPluginError(f"no Summary events below {src}", "Their files are named *.out.events.summary.*")


def mirror_folder(logdir: Path) -> Path:
    """The folder of the converted events of a logdir: an entry of the cache, which keeps it below its size limit."""
    key = hashlib.blake2b(f"{logdir}\0{version()}".encode("utf-8", "surrogateescape"), digest_size=12).hexdigest()
    return open_cache().root / "entries" / f"summary-{key}"


def profile_steps(library: Library) -> list[ProfileSteps]:
    """Steps of the profiles that are read; reads none. Windows of dynamic profiling are left out: they count their
    steps from 0."""
    out = []
    for place in library.scan().places():
        tables = library.status(place, "tables")
        if tables.entry is None or place.span.identity.window is not None:
            continue
        steps: dict[int, int] = {}
        for step in steps_and_source(library.open(place, [tables]))[0]:
            if step.step is not None and step.step.isdecimal() and step.total_ns is not None:
                steps[int(step.step)] = max(steps.get(int(step.step), 0), step.total_ns)
        if steps:
            start = (tables.entry.meta["start_ns"] or 0) / 1e9
            out.append(ProfileSteps(place.span.path, start, _page_of(place), tuple(sorted(steps.items()))))
    return out


def _page_of(place: Place) -> str:
    """The Overview of a profile in TensorBoard's page; the number of a step follows."""
    state = {"view": "overview", "run": place.run.token, "worker": place.worker.token, "span": place.span.token}
    pairs = [*state.items(), ("step", "")]
    return "#" + "&".join([PLUGIN, *(f"p.{PLUGIN}.{name}={value}" for name, value in pairs)])


def _follow(logdir: Path, mirror: Path, library: Library) -> None:
    """Update the mirror until the process ends. Prints runs and problems when there are new ones."""
    before: object = None
    profiles: list[ProfileSteps] = []
    while True:
        started = time.monotonic()
        try:
            report = update(logdir, mirror, profiles)
            if report is not None and report.events:
                profiles = profile_steps(library)
            os.utime(mirror)  # the cache removes what was not used for the longest time
        except Exception as error:  # the thread must survive: the next update may succeed
            logger.warning("Summary events were not converted: %s", error)
            report = None
        if report is not None and report.news != before:
            _print_report(report)
            before = report.news
        time.sleep(max(INTERVAL, (time.monotonic() - started) / MAX_SHARE))


def _print_report(report: Report) -> None:
    for run, events in report.events.items():
        echo(f"run {printable(run) or '.'}: {events} events")
    for problem in report.problems:
        place = ", ".join(filter(None, (printable(problem.file), problem.where)))
        times = f" ({problem.count} times)" if problem.count > 1 else ""
        echo(f"{place}: {problem.found}{times}. Lost: {problem.lost} {problem.action}")
