"""tb-npu diff: two captures side by side, with an exit code for scripts."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple, Optional

import click

from tb_npu_plugin.analysis.kernels.classes import CLASSES
from tb_npu_plugin.cli_diagnose import FAILED, NOT_CHECKED, parse_condition
from tb_npu_plugin.cli_show import NO_TRACE, PATH, open_library, sides_of, wait_for_view, write_json
from tb_npu_plugin.service.answers import Service
from tb_npu_plugin.terminal import echo

STEP = "step"


class Growth(NamedTuple):
    """The time of a step, or of a class of operators in it, grows by more than a share of its baseline."""

    name: str
    share: float

    @staticmethod
    def parse(text: str) -> Growth:
        """`step>5%`, or `matmul>10%`. Raises click.BadParameter."""
        names = (STEP, *CLASSES)
        found = parse_condition(text, names)
        if found is None or found[1] is None:
            raise click.BadParameter(f"{text!r} is not NAME>N%; names: {', '.join(names)}")
        return Growth(found[0], found[1])

    def is_met(self, found: Mapping[str, Any]) -> Optional[bool]:
        """Whether it holds for the shown pair of steps; None if a time is unknown. A class that the baseline lacks is
        new: any time of it is growth."""
        pair = shown_pair(found)
        if self.name == STEP:
            times = pair["baseline_ns"], pair["experimental_ns"]
        else:
            of_class = next((one for one in pair["classes"] if one["id"] == self.name), None)
            times = (of_class["baseline_ns"], of_class["experimental_ns"]) if of_class else (0, 0)
        if times[0] is None or times[1] is None:
            return None
        return bool(times[1] - times[0] > self.share * times[0])


def shown_pair(found: Mapping[str, Any]) -> Mapping[str, Any]:
    """The pair of steps that the answer is about."""
    pair: Mapping[str, Any] = next(one for one in found["steps"] if one["id"] == found["shown"])
    return pair


def _text(found: Mapping[str, Any]) -> Iterator[str]:
    pair = shown_pair(found)
    for side in ("baseline", "experimental"):
        of = found[side]
        yield f"{side:14}{of['run']}, {of['worker']}, {of['label']}"
    yield _line(STEP, pair["baseline_ns"], pair["experimental_ns"])
    for one in sorted(pair["classes"], key=lambda one: -abs(one["difference_ns"])):
        yield _line(one["id"], one["baseline_ns"], one["experimental_ns"])


def _line(name: str, before: Optional[int], after: Optional[int]) -> str:
    """Times in ms, their difference, and its share of the baseline."""
    if before is None or after is None:
        return f"{name:14}{_ms(before):>12}  →{_ms(after):>12}"
    share = f"{(after - before) / before:+10.1%}" if before else ""
    return f"{name:14}{_ms(before):>12}  →{_ms(after):>12}  {(after - before) / 1e6:+12.3f} ms{share}"


def _ms(ns: Optional[int]) -> str:
    return "unknown" if ns is None else f"{ns / 1e6:.3f} ms"


@click.command()
@click.argument("path", type=PATH, nargs=-1, required=True)
@click.option("--run", default="", help="Run by its name; the first without.")
@click.option("--baseline", default="", help="Worker of the first PATH by rank, name or label.")
@click.option("--experimental", default="", help="Worker of the last PATH.")
@click.option("--step", default="", help="A pair of steps by the baseline's number; the mean without.")
@click.option("--json", "as_json", is_flag=True, help="Print everything as JSON; times in integer ns.")
@click.option("--fail-if", "fail_if", default="", help="Exit with 3 if a time grows: step>5%, or a class: matmul>10%.")
@NO_TRACE
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

    Exit codes: 0 done, 1 nothing could be compared, 3 --fail-if holds, 4 a time of --fail-if is unknown.
    """
    if len(path) > 2:
        raise click.UsageError("diff takes two PATHs.")
    condition = Growth.parse(fail_if) if fail_if else None
    with open_library(path) as library:
        given = {**sides_of(library.scan(), path, run, (baseline, experimental)), STEP: step}
        found = wait_for_view(Service(library, for_page=False, with_traces=not no_trace), "diff", given)
        if found["state"] != "ready":
            from tb_npu_plugin import cli_print

            cli_print.view(found)
            sys.exit(1)
    if as_json:
        write_json(found)
    else:
        for line in _text(found):
            echo(line)
    is_met = False if condition is None else condition.is_met(found)
    if is_met is not False:
        sys.exit(NOT_CHECKED if is_met is None else FAILED)
