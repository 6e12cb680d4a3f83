"""tb-npu export-trace: a range of a trace as a Chrome trace."""

from __future__ import annotations

from pathlib import Path

import click

from tb_npu_plugin.cli_show import PATH, open_library, wait_for_data
from tb_npu_plugin.service.answers import Service
from tb_npu_plugin.service.choice import choose_place
from tb_npu_plugin.store.timeline.export import chrome_trace


@click.command("export-trace")
@click.argument("path", type=PATH)
@click.option("--out", required=True, type=click.Path(dir_okay=False, path_type=Path), help="The file to write.")
@click.option("--run", default="", help="Run by its name; the first without.")
@click.option("--worker", default="", help="Worker by rank, name or label; the first without.")
@click.option("--span", default="", help="Span by name, label or number from 1; the first without.")
@click.option("--start", type=int, help="Start of the range, ns since 1970; default: that of the trace.")
@click.option("--end", type=int, help="End of the range, ns since 1970; default: that of the trace.")
def export_trace(path: Path, out: Path, run: str, worker: str, span: str, start: int | None, end: int | None) -> None:
    """Write what overlaps a range of the trace in PATH as a Chrome trace, which ui.perfetto.dev opens; also from a
    database."""
    with open_library((path,)) as library:
        token = choose_place(library.scan(), run, worker, span).span.token
        service = Service(library, for_page=False)
        wait_for_data(service, "trace", {"span": token})
        timeline = service.timeline(token)
        t0 = 0 if start is None else start - timeline.base_ns
        t1 = timeline.end_ns - timeline.base_ns + 1 if end is None else end - timeline.base_ns
        if t0 >= t1:
            raise click.UsageError("The range is empty.")
        with out.open("wb") as file:
            file.writelines(chrome_trace(timeline, t0, t1))
    click.echo(f"{out}: {out.stat().st_size:,} bytes")
