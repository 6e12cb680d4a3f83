"""tb-npu export-trace: a range of the traces of one or several ranks as a Chrome trace."""

from __future__ import annotations

import re
from pathlib import Path

import click

from tb_npu_plugin.analysis.run.communication import RunCommunication
from tb_npu_plugin.cli.show import PATH, name_left_out, open_library, wait_for_data
from tb_npu_plugin.discovery.model import Place
from tb_npu_plugin.service.answers import Service
from tb_npu_plugin.service.choice import choose_place, left_out_beside
from tb_npu_plugin.service.ranks import first_spans
from tb_npu_plugin.store.timeline.export import ChromeTrace, ExportedRank
from tb_npu_plugin.store.timeline.matches import Placed
from tb_npu_plugin.terminal import echo
from tb_npu_plugin.views.trace_ranks import line_of

#: Value of --ranks for the whole run.
ALL = "all"
_RANK = re.compile(r"(.*?)(?:=(-?\d{1,18}))?")


@click.command("export-trace")
@click.argument("path", type=PATH)
@click.option("--out", required=True, type=click.Path(dir_okay=False, path_type=Path), help="The file to write.")
@click.option("--run", default="", help="Run by its name; the first without.")
@click.option("--worker", default="", help="Worker by rank, name or label; the first without.")
@click.option("--span", default="", help="Span by name, label or number from 1; the first without.")
@click.option(
    "--ranks",
    default="",
    metavar="LIST",
    help=f'Ranks of one file: "{ALL}", or workers as "0,3,5=-8120", each with the ns to add to its times; without them, those '
    "that the estimated clocks give.",
)
@click.option("--start", type=int, help="Start of the range, ns since 1970 by the clock of the worker.")
@click.option("--end", type=int, help="End of the range, ns since 1970 by the clock of the worker.")
def export_trace(
    path: Path, out: Path, run: str, worker: str, span: str, ranks: str, start: int | None, end: int | None
) -> None:
    """Write what overlaps a range of the trace in PATH as a Chrome trace, which ui.perfetto.dev opens; also from a
    database. Without a range, all of it."""
    with open_library((path,)) as library:
        service = Service(library, for_page=False)
        own = choose_place(library.scan(), run, worker, span)
        added: dict[Place, int | None] = _chosen(service, own, ranks) if ranks else {own: 0}
        for place in added:
            wait_for_data(service, "trace", {"span": place.span.token})
        shifts = _shifts(service, own, added)
        zero = service.timeline(own.span.token).base_ns
        placed = [
            ExportedRank(Placed(service.timeline(place.span.token), zero - shifts[place]), place.worker.label)
            for place in added
        ]
        if len(placed) == 1:
            placed = [ExportedRank(placed[0].placed)]
        t0 = min(one.placed.offset for one in placed) if start is None else start - zero
        ends = [one.placed.timeline.end_ns - one.placed.zero + 1 for one in placed]
        t1 = max(ends) if end is None else end - zero
        if t0 >= t1:
            raise click.UsageError("The range is empty.")
        trace = ChromeTrace(placed, t0, t1)
        with out.open("wb") as file:
            file.writelines(trace.pieces())
    for problem in trace.problems:
        echo(problem, err=True)
    name_left_out(left_out_beside(library.scan(), own, run, worker), "exported")
    echo(f"{out}: {out.stat().st_size:,} bytes")


def _chosen(service: Service, own: Place, text: str) -> dict[Place, int | None]:
    """The ranks of --ranks with the ns to add to their times; None: by their clocks."""
    places = first_spans(service.library.run_places(own.run.token), own.span.token)
    if text == ALL:
        return dict.fromkeys(places)
    found: dict[Place, int | None] = {}
    for item in text.split(","):
        match = _RANK.fullmatch(item.strip())
        assert match, "the pattern matches any text"
        worker = choose_place(service.library.scan(), own.run.token, match[1] or "?").worker
        place = next((one for one in places if one.worker.token == worker.token), None)
        if place is None:
            raise click.UsageError(f"{worker.label} has no such span.")
        found[place] = None if match[2] is None else int(match[2])
    return found


def _shifts(service: Service, own: Place, added: dict[Place, int | None]) -> dict[Place, int]:
    """The ns to add to the times of each rank to have those of `own`; says where its clock is unknown."""
    unknown = [place for place, ns in added.items() if ns is None and place.span.token != own.span.token]
    shifts = {place: ns or 0 for place, ns in added.items()}
    if not unknown:
        return shifts
    compared = {place.span.token: place for place in (own, *unknown)}
    for token in compared:
        wait_for_data(service, "doctor", {"span": token})
    run = RunCommunication([service.library.open(place) for place in compared.values()])
    at = {token: line_of(run, token) for token in compared}
    for place in unknown:
        shift = _clock_shift(run, at[place.span.token], at[own.span.token])
        shifts[place] = shift or 0
        echo(f"{place.worker.label}: {_described(shift)}", err=True)
    return shifts


def _clock_shift(run: RunCommunication, at: int | None, own: int | None) -> int | None:
    """What is added to the times of a line to have those of another; None if their clocks cannot be compared."""
    if at is None or own is None or run.clocks[at].reference != run.clocks[own].reference:
        return None
    return run.clocks[own].offset - run.clocks[at].offset


def _described(shift: int | None) -> str:
    if shift is None:
        return "clock unknown (fewer than three shared collectives), times as recorded"
    return f"{shift:+} ns by its estimated clock"
