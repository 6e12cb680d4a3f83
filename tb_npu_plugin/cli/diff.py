"""tb-npu diff: two captures side by side, with an exit code for scripts."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Optional

import click

from tb_npu_plugin.cli import show
from tb_npu_plugin.cli.gate import STEP, decide_diff, diff_condition, exit_by
from tb_npu_plugin.service.answers import Service
from tb_npu_plugin.terminal import echo


def shown_pair(found: Mapping[str, Any]) -> Mapping[str, Any]:
    """The pair of steps that the answer is about."""
    pair: Mapping[str, Any] = next(one for one in found["steps"] if one["id"] == found["shown"])
    return pair


def _text(found: Mapping[str, Any]) -> Iterator[str]:
    pair = shown_pair(found)
    for side in ("baseline", "experimental"):
        of = found[side]
        yield f"{side:22}{of['run']}, {of['worker']}, {of['label']}"
    yield _line(STEP, pair["baseline_ns"], pair["experimental_ns"])
    for one in sorted(pair["classes"], key=lambda one: -abs(one["difference_ns"])):
        yield _line(one["id"], one["baseline_ns"], one["experimental_ns"])
    for name in pair["unknown"]:
        yield f"{name:22}unknown: part of communication"


def _line(name: str, before: Optional[int], after: Optional[int]) -> str:
    """Times in ms, their difference, and its share of the baseline."""
    if before is None or after is None:
        return f"{name:22}{_ms(before):>12}  →{_ms(after):>12}"
    share = f"{(after - before) / before:+10.1%}" if before else ""
    return f"{name:22}{_ms(before):>12}  →{_ms(after):>12}  {(after - before) / 1e6:+12.3f} ms{share}"


def _ms(ns: Optional[int]) -> str:
    return "unknown" if ns is None else f"{ns / 1e6:.3f} ms"


@click.command()
@click.argument("path", type=show.PATH, nargs=-1, required=True)
@click.option("--run", default="", help="Run by its name; the first without.")
@click.option("--baseline", default="", help="Worker of the first PATH by rank, name or label.")
@click.option("--experimental", default="", help="Worker of the last PATH.")
@click.option("--step", default="", help="A pair of steps by the baseline's number; the mean without.")
@click.option("--json", "as_json", is_flag=True, help="Print everything as JSON; times in integer ns.")
@click.option("--fail-if", "fail_if", default="", help="Exit with 3 if a time grows: step>5%, or a class: matmul>10%.")
@show.KERNEL_TABLE
@show.NO_TRACE
def diff(
    path: tuple[Path, ...],
    run: str,
    baseline: str,
    experimental: str,
    step: str,
    as_json: bool,
    fail_if: str,
    no_trace: bool,
) -> None:
    """Compare two captures: two PATHs, or two workers of one. The first is the baseline.

    Exit codes: 0 done, 1 nothing could be compared, 3 --fail-if holds, 4 --fail-if cannot be decided.
    """
    if len(path) > 2:
        raise click.UsageError("diff takes two PATHs.")
    condition = diff_condition(fail_if) if fail_if else None
    with show.open_library(path) as library:
        sides, left_out = show.sides_of(library.scan(), path, run, (baseline, experimental))
        service = Service(library, for_page=False, with_traces=not no_trace)
        found = show.wait_for_view(service, "diff", {**sides, STEP: step})
        found["left_out"] = left_out
        if found["state"] != "ready":
            from tb_npu_plugin.cli import output

            output.view(found)
            sys.exit(1)
    if as_json:
        show.write_json(found)
    else:
        for line in _text(found):
            echo(line)
    show.name_left_out(left_out, "compared", as_json)
    if condition is not None:
        exit_by(fail_if, [decide_diff(condition, shown_pair(found))])
