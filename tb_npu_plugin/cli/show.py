"""tb-npu show, ingest and doctor: the views and the problems of a result on the command line."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Optional

import click
import msgspec

from tb_npu_plugin.cli.output import progress
from tb_npu_plugin.discovery.model import Place, Scan
from tb_npu_plugin.discovery.watch import scan_once
from tb_npu_plugin.errors import NpuPluginError
from tb_npu_plugin.json_encoding import encode_json
from tb_npu_plugin.schema.kernel_meaning import USER_TABLE, use_user_table, user_table
from tb_npu_plugin.service.answers import Service
from tb_npu_plugin.service.catalog import catalog, job_progress
from tb_npu_plugin.service.choice import OPENS, LeftOut, choose_place, left_out_beside
from tb_npu_plugin.service.resolve import MOST_CAPTURES, TRACE_ONLY
from tb_npu_plugin.store.library import Library, StageStatus
from tb_npu_plugin.store.stages import STAGES
from tb_npu_plugin.terminal import echo
from tb_npu_plugin.views import doctor as doctor_view
from tb_npu_plugin.views.availability import facts_of_span, missing_data
from tb_npu_plugin.views.base import ViewInput, ViewJson, ViewResult
from tb_npu_plugin.views.diff import LETTERS
from tb_npu_plugin.views.registry import VIEWS, find_view
from tb_npu_plugin.views.table_query import TableQuery
from tb_npu_plugin.views.tables_json import table_json

PATH = click.Path(exists=True, path_type=Path)
NO_TRACE = click.option(
    "--no-trace",
    is_flag=True,
    help="Answer from tables alone, also where the trace was read before. Faster; more stays unknown.",
)
#: Most runs that a line names.
MOST_NAMED = 8


def _use_kernel_table(ctx: click.Context, param: click.Parameter, path: Optional[Path]) -> None:
    """Look kernels up in this table first; print what is wrong with it."""
    if path is not None:
        use_user_table(str(path))
    for problem in user_table()[1]:
        echo(f"{problem.file}, line {problem.where or '–'}: {problem.found}. {problem.lost}", err=True)


KERNEL_TABLE = click.option(
    "--kernel-table",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    callback=_use_kernel_table,
    expose_value=False,
    help=f"CSV of kernels and their meanings, before the product's own; also ${USER_TABLE}.",
)
VIEW_IDS = [view.id for view in VIEWS if view.is_listed]


class NoResultsError(NpuPluginError):
    """No result was found."""

    code = "nothing"


@click.command(epilog=f"VIEW is one of {', '.join(VIEW_IDS)}.")
@click.argument("view", metavar="VIEW", type=click.Choice(VIEW_IDS))
@click.argument("path", type=PATH, nargs=-1, required=True)
@click.option("--run", default="", help="Run by its name; the first without.")
@click.option("--worker", default="", help="Worker by rank, name or label; the first without.")
@click.option("--span", default="", help="Span by name, label or number from 1; the first without.")
@click.option("--baseline", default="", help="diff: worker of the first PATH.")
@click.option("--experimental", default="", help="diff: worker of the last PATH.")
@click.option("--param", "params", multiple=True, metavar="KEY=VALUE", help="A parameter of the view; repeatable.")
@click.option("--json", "as_json", is_flag=True, help="Print everything as JSON; times in integer ns.")
@KERNEL_TABLE
@NO_TRACE
def show(
    view: str,
    path: tuple[Path, ...],
    run: str,
    worker: str,
    span: str,
    baseline: str,
    experimental: str,
    params: tuple[str, ...],
    as_json: bool,
    no_trace: bool,
) -> None:
    """Print what VIEW shows of the result in PATH: a logdir, a run, a result folder or one of its files. diff takes
    several PATHs, or two workers of one. Reads what VIEW shows."""
    if len(path) > (MOST_CAPTURES if view == "diff" else 1):
        raise click.UsageError(f"{view} takes {f'at most {MOST_CAPTURES} PATHs' if view == 'diff' else 'one PATH'}.")
    given = dict(_pair(view, param) for param in params)
    if no_trace and (find_view(view).needs == TRACE_ONLY or any(map(given.get, find_view(view).trace_params))):
        raise click.UsageError(f"{view} needs the trace: leave out --no-trace.")
    with open_library(path) as library:
        scan = library.scan()
        scope = find_view(view).scope
        if scope == "diff":
            sides, left_out = sides_of(scan, path, run, (baseline or worker, experimental), span)
            given |= sides
        else:
            place = choose_place(scan, run, worker, span)
            given |= {"run": place.run.token, "span": place.span.token}
            left_out = left_out_beside(scan, place, run, worker)
        found = wait_for_view(Service(library, for_page=False, with_traces=not no_trace), view, given)
        found["left_out"] = left_out
        if as_json:
            write_json(found)
        else:
            from tb_npu_plugin.cli import output

            output.view(found)
    name_left_out(left_out, "shown", as_json)
    if found["state"] != "ready":
        sys.exit(1)


@click.command()
@click.argument("path", type=PATH)
def ingest(path: Path) -> None:
    """Read everything below PATH into the cache, so that TensorBoard shows it at once.

    Ctrl-C ends it; the next run goes on with what is not read yet.
    """
    with open_library((path,)) as library:
        spans = [_doctor_report(library, *read) for read in _read(library)]
        from tb_npu_plugin.cli import output

        output.print_ingested(spans)
    if not spans or any(span["state"] == "failed" for span in spans):
        sys.exit(1)


@click.command()
@click.argument("path", type=PATH)
@click.option("--json", "as_json", is_flag=True, help="Print everything as JSON.")
@KERNEL_TABLE
def doctor(path: Path, as_json: bool) -> None:
    """List what was found below PATH, what was not taken, and every problem. Reads everything.

    Exit codes: 0 if everything was read, 1 if something was lost or not read, 2 for wrong usage.
    """
    with open_library((path,)) as library:
        places = _read(library)
        listed: dict[str, Any] = dict(catalog(library))
        listed["spans"] = [_doctor_report(library, *read) for read in places]
        is_lost = not places or any(item.is_lost for item in library.scan().skipped)
        if as_json:
            write_json(listed)
        else:
            from tb_npu_plugin.cli import output

            output.doctor(listed)
    if is_lost or any(span["state"] == "failed" or span["count"] for span in listed["spans"]):
        sys.exit(1)


@contextmanager
def open_library(paths: Sequence[Path]) -> Iterator[Library]:
    """Scan the paths and open a library. Raises NoResultsError if nothing is found."""
    # Runs of a single path have no prefix; with several the letter of each keeps their order.
    logdirs = {("" if len(paths) == 1 else letter): path.absolute() for letter, path in zip(LETTERS, paths)}
    watcher = scan_once(logdirs)
    scan = watcher.current()
    library = Library(watcher)
    try:
        if not (scan.runs or scan.skipped or scan.summaries or scan.others):
            raise NoResultsError(f"no NPU result below {', '.join(map(str, paths))}", OPENS)
        yield library
    finally:
        library.close()


def name_left_out(left_out: Sequence[LeftOut], done: str, as_json: bool = False) -> None:
    """Say which runs an answer does not hold, and how to see them. done: what was done with the others. as_json: the answer is JSON,
    which says so too."""
    names = [one["run"] for one in left_out if one["reason"] == "limit"]
    if names:
        more = f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
        echo(f"Not {done}: {', '.join(names[:MOST_NAMED])}{more}. Choose runs with --run NAME.", err=as_json)


def sides_of(
    scan: Scan, paths: Sequence[Path], run: str, workers: tuple[str, str], span: str = ""
) -> tuple[dict[str, str], list[LeftOut]]:
    """Parameters of diff: a span of each path, or two workers of one; by default of its first two. And the runs that are not
    compared. workers: of the first path, and of the others."""
    sides = [_side(scan, letter) for letter, _ in zip(LETTERS, paths)] if len(paths) > 1 else [scan, scan]
    second = workers[1] or ("" if len(paths) > 1 else "+1")
    chosen = [choose_place(side, run, second if at else workers[0], span) for at, side in enumerate(sides)]
    left_out = [
        one for side, place in zip(sides[: len(paths)], chosen) for one in left_out_beside(side, place, run, "+")
    ]
    first, *others, last = (place.span.token for place in chosen)
    return {"baseline": first, "experimental": last, "captures": ",".join(others)}, left_out


def _side(scan: Scan, letter: str) -> Scan:
    """Runs of the path with this letter."""
    return Scan(tuple(run for run in scan.runs if run.label.partition("/")[0] == letter), scan.skipped)


def wait_for_view(service: Service, view: str, params: dict[str, str]) -> dict[str, Any]:
    """Wait for the answer of the view's route, with complete tables and the view's data merged into the top level."""
    found, result = _wait(service, view, params)
    out: dict[str, Any] = {**found, **(found["data"] or {})}
    if result is not None:
        out["tables"] = {
            name: table_json(f"{view}.{name}", source, result.base_ns, TableQuery(limit=len(source.table)))
            for name, source in result.tables.items()
        }
    return out


def wait_for_data(service: Service, view: str, params: dict[str, str]) -> dict[str, Any] | None:
    """Wait for the data of a view, without its tables; None if there are none."""
    return _wait(service, view, params)[0]["data"]


def _wait(service: Service, view: str, params: dict[str, str]) -> tuple[ViewJson, ViewResult | None]:
    names = {place.span.token: place.worker.label for place in service.library.scan().places()}
    with progress(names) as bar:
        return service.wait(view, params, lambda jobs: bar(jobs, 0))


def _read(library: Library) -> list[tuple[Place, list[StageStatus]]]:
    """Read all spans. Returns each place, with the status of its stages where they are still written."""
    places = library.scan().places()
    size = sum(place.span.bytes for place in places)
    with progress({place.span.token: place.worker.label for place in places}) as bar:

        def show_progress() -> None:
            jobs = library.jobs()
            bar([job_progress(job) for job in jobs], size - sum(job.bytes_total for job in jobs))

        seen = library.read(places, STAGES, show_progress)
    return [(place, [status for one, status in seen if one is place]) for place in places]


def _doctor_report(library: Library, place: Place, seen: Sequence[StageStatus]) -> dict[str, Any]:
    """The doctor's report of one span. seen: see Library.open."""
    span = library.open(place, seen)
    states = {stage: library.status(place, stage).state for stage in STAGES}
    problems = [problem.as_json() for problem in span.problems]
    found = doctor_view.build(ViewInput([span], {})).data
    return {
        "path": place.span.path,
        "run": place.run.label,
        "worker": place.worker.label,
        "label": span.label,
        "state": "failed" if "failed" in states.values() else "ready",
        "rank": place.worker.rank,
        "rank_source": place.worker.rank_source,
        **{name: found[name] for name in ("capture", "files", "costs", "more", "kernels")},
        "missing": missing_data(facts_of_span(span)),
        "problems": problems,
        "count": sum(problem["count"] for problem in problems if problem["severity"] != "info"),
    }


def _pair(view: str, text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals:
        raise click.UsageError(f"--param {text} is not KEY=VALUE.")
    known = [param.name for param in find_view(view).params]
    if name not in known:
        raise click.UsageError(f"{view} has no parameter {name!r}. It has: {', '.join(known) or 'none'}.")
    return name, value


def write_json(content: Any) -> None:
    """Print JSON on stdout."""
    sys.stdout.buffer.write(msgspec.json.format(encode_json(content), indent=1) + b"\n")
    sys.stdout.buffer.flush()
