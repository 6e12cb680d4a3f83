"""tb-npu explain: what stands out in a step or a time range, on which rank, and in which kernels."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any, Optional

import click

from tb_npu_plugin.cli import show
from tb_npu_plugin.service.answers import Service
from tb_npu_plugin.service.choice import choose_parts
from tb_npu_plugin.terminal import echo

_RANGE = re.compile(r"(\d{1,12}(?:\.\d{1,6})?):(\d{1,12}(?:\.\d{1,6})?)")
_KINDS = ("computing", "waiting", "transfer", "copies", "idle")


def _range_ns(ctx: click.Context, param: click.Parameter, text: str) -> Optional[tuple[int, int]]:
    """(start, end) in ns after the start of the capture. Raises click.BadParameter."""
    if not text:
        return None
    found = _RANGE.fullmatch(text)
    start, end = (int(Decimal(part) * 10**6) for part in found.groups()) if found else (0, 0)
    if start >= end:
        raise click.BadParameter(f"{text!r} is not START:END in ms, the start before the end, such as 12.5:20")
    return start, end


@click.command()
@click.argument("path", type=show.PATH)
@click.option("--step", default="", help="A step by its number.")
@click.option(
    "--range", "range_ns", default="", callback=_range_ns, metavar="START:END", help="In ms from the capture's start."
)
@click.option("--run", "run", default="", help="Run by its name; the first without.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@show.KERNEL_TABLE
@show.NO_TRACE
def explain(
    path: Path, step: str, range_ns: Optional[tuple[int, int]], run: str, as_json: bool, no_trace: bool
) -> None:
    """Say what stands out in a step or a time range of a run in PATH: which part, on which rank, against the median of the
    other ranks or steps, and which kernels."""
    if bool(step) == (range_ns is not None):
        raise click.UsageError("Give --step or --range.")
    with show.open_library((path,)) as library:
        service = Service(library, for_page=False, with_traces=not no_trace)
        chosen, left_out = choose_parts(library.scan(), (run,) if run else (), 1)
        part = chosen[0]
        asked = {"step": step}
        if range_ns is not None:
            base = int(show.wait_for_view(service, "overview", {"span": part.first.token})["base_ns"])
            asked = {"within": ",".join(str(base + time) for time in range_ns)}
        found = show.wait_for_data(service, "explain", {**part.params, **asked})
    if found is None:
        echo(f"{part.label}: nothing that can be explained was recorded.", err=True)
        sys.exit(1)
    if as_json:
        show.write_json({"run": part.label, **found, "left_out": left_out})
    else:
        for line in _text(found):
            echo(line)
    show.name_left_out(left_out, "explained", as_json)


def _text(found: Mapping[str, Any]) -> Iterator[str]:
    yield found["text"]
    if found["parts"]:
        yield ""
        yield f"{'ms':<12}" + "".join(f"{kind:>11}" for kind in _KINDS) + "  waits for"
    for at, rank in enumerate(found["parts"]):
        times = "".join(f"{rank[kind] / 1e6:>11.2f}" for kind in _KINDS)
        late = "" if rank["waits_for"] is None else f"  rank {rank['waits_for']}"
        yield f"{rank['name']:<12}{times}{late}{'  *' if at == found['rank'] else ''}"
    for rank in found["ranks"]:
        yield f"{rank['worker']}: not compared" + (f": {rank['reason']}" if rank["reason"] else "")
    if found["kernels"]:
        yield ""
        yield f"{'ms':<32}{'this rank':>11}{'median':>11}{'difference':>12}"
    for kernel in found["kernels"]:
        own, other = kernel["ns"] / 1e6, kernel["other_ns"] / 1e6
        yield f"{kernel['type'][:31]:<32}{own:>11.2f}{other:>11.2f}{own - other:>+12.2f}"
