"""tb-npu diff: captures side by side, with an exit code for scripts."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from textwrap import shorten, wrap
from typing import Any, Optional

import click

from tb_npu_plugin.cli import show
from tb_npu_plugin.cli.gate import STEP, decide_diff, diff_condition, diff_figures, exit_by
from tb_npu_plugin.messages import Message
from tb_npu_plugin.service.answers import Service
from tb_npu_plugin.service.resolve import MOST_CAPTURES
from tb_npu_plugin.terminal import echo

#: Characters of a line, and of its name.
_WIDTH, _NAME = 80, 39
#: Most captures with a column each.
_MOST_COLUMNS = 3
#: Names of the classes that are no kernels'; the others are named by their ids.
_PARTS = {
    "ai_cpu": "AI CPU",
    "computing": "Other computing",
    "communication": "Exposed communication",
    "waiting": "Waiting for late ranks",
    "idle": "Free",
}
_FATES = {"gone": "gone", "smaller": "smaller", "same": "the same", "larger": "larger", "unchecked": "not checked in"}


def shown_pair(found: Mapping[str, Any]) -> Mapping[str, Any]:
    """The pair of steps that the answer is about."""
    pair: Mapping[str, Any] = next(one for one in found["steps"] if one["id"] == found["shown"])
    return pair


def _text(found: Mapping[str, Any], paths: Sequence[Path]) -> Iterator[str]:
    pair, ledger = shown_pair(found), found["ledger"]
    yield from _captures(found, paths)
    if ledger["waterfall"]:
        yield ""
        yield from _waterfall(ledger, found)
    yield ""
    yield from _classes(pair, found)
    if ledger["outcomes"]:
        yield ""
        yield from _outcomes(ledger["outcomes"], found)


def _captures(found: Mapping[str, Any], paths: Sequence[Path]) -> Iterator[str]:
    """A line for each capture: letter, name, step time and its change from the first."""
    steps = found["ledger"]["steps"]
    for at, (one, step) in enumerate(zip(found["captures"], steps)):
        change = "" if at == 0 else _share(_less(step, steps[0]), steps[0])
        run = one["run"]
        if len(paths) > 1:  # the label begins with the letter of its PATH
            run = run.partition("/")[2] or paths[at].absolute().name
        name = " · ".join(filter(None, (run, one["worker"], one["label"])))
        yield f"{one['name']}  {shorten(name, 52, placeholder=' …'):52}{_ms(step):>15}{change:>9}".rstrip()


def _waterfall(ledger: Mapping[str, Any], found: Mapping[str, Any]) -> Iterator[str]:
    names, at = ledger["names"], _numbers(found)
    own = range(len(names)) if len(names) <= _MOST_COLUMNS else at
    with_sums = len(own) == len(at)
    yield _row("Where the time changed, ms", [names[one] for one in own], _pair_name(found), with_sums)
    rows = [(row, step) for row, step in zip(ledger["rows"], ledger["waterfall"]) if not row["is_beside"]]
    for row, step in rows:
        times = [_time_of(row, one) for one in own]
        yield _row(_title(row), times, _signed(step["difference_ns"]), with_sums and _figure(step["running_ns"]))
    total = _less(ledger["steps"][at[1]], ledger["steps"][at[0]])
    yield _row("Step", [_figure(ledger["steps"][one]) for one in own], _signed(total), False)
    for row in ledger["rows"]:
        if row["is_beside"]:
            before, after = (row["times"][one] for one in at)
            change = _less(after and after["ns"], before and before["ns"])
            yield _row(f"beside: {_title(row)}", [_time_of(row, one) for one in own], _signed(change), False)


def _time_of(row: Mapping[str, Any], at: int) -> str:
    time = row["times"][at]
    if time is None:
        return "unknown"
    return _figure(time["ns"]) + ("" if time["low_ns"] == time["high_ns"] else "?")


def _title(row: Mapping[str, Any]) -> str:
    return str(Message.from_json(row["title"]))


def _row(name: str, times: Sequence[str], difference: str, running: object) -> str:
    """Cells of a line. running: True for the heading of that column, its figure, or False for none."""
    last = "running" if running is True else running or ""
    cells = "".join(f"{time:>10}" for time in times)
    return f"{shorten(name, _NAME - 1, placeholder=' …'):{_NAME}}{cells}{difference:>11}{last:>10}".rstrip()


def _classes(pair: Mapping[str, Any], found: Mapping[str, Any]) -> Iterator[str]:
    names = [found[side]["name"] for side in ("baseline", "experimental")]
    yield _row("Step by class, ms", names, _pair_name(found), "change")
    before, after = pair["baseline_ns"], pair["experimental_ns"]
    yield _compared("Step", before, after)
    for one in sorted(pair["classes"], key=lambda one: -abs(one["difference_ns"])):
        yield _compared(class_title(one["id"]), one["baseline_ns"], one["experimental_ns"])
    for name in pair["unknown"]:
        yield f"{class_title(name):{_NAME}}unknown: part of exposed communication"


def class_title(id: str) -> str:
    """Name of a class of a step."""
    return _PARTS.get(id) or id.replace("_", " ").capitalize()


def _compared(name: str, before: Optional[int], after: Optional[int]) -> str:
    change = _less(after, before)
    return _row(name, [_figure(before), _figure(after)], _signed(change), _share(change, before))


def _outcomes(outcomes: Sequence[Mapping[str, Any]], found: Mapping[str, Any]) -> Iterator[str]:
    """What became of the findings of the baseline: three lines each."""
    first, last = (found[side]["name"] for side in ("baseline", "experimental"))
    yield f"Findings of {first}, and what became of them in {last}"
    for one in outcomes:
        fate = f"{_FATES[one['fate']]}{f' {last}' if one['fate'] == 'unchecked' else ''}"
        yield f"- {one['title']}: {fate}"
        yield from wrap(one["message"], _WIDTH, initial_indent="  ", subsequent_indent="  ")
        by = " by several findings" if one["is_shared"] and one["saved_ns"] is not None else ""
        entry = f" ({one['part']} {_ms(one['entry_before_ns'])} → {_ms(one['entry_after_ns'])})" if one["part"] else ""
        yield f"  at stake {_ms(one['promised_ns'])}, saved {_ms(one['saved_ns'])}{by}{entry}"


def _numbers(found: Mapping[str, Any]) -> tuple[int, int]:
    names = found["ledger"]["names"]
    return names.index(found["baseline"]["name"]), names.index(found["experimental"]["name"])


def _pair_name(found: Mapping[str, Any]) -> str:
    return f"{found['experimental']['name']} − {found['baseline']['name']}"


def _less(one: Optional[int], other: Optional[int]) -> Optional[int]:
    return None if one is None or other is None else one - other


def _figure(ns: Optional[int]) -> str:
    return "unknown" if ns is None else f"{ns / 1e6:.3f}"


def _ms(ns: Optional[int]) -> str:
    return "unknown" if ns is None else f"{ns / 1e6:.3f} ms"


def _signed(ns: Optional[int]) -> str:
    return "unknown" if ns is None else _without_negative_zero(f"{ns / 1e6:+.3f}")


def _share(change: Optional[int], of: Optional[int]) -> str:
    return "" if change is None or not of else _without_negative_zero(f"{change / of:+.1%}")


def _without_negative_zero(text: str) -> str:
    return text if any(digit in text for digit in "123456789") else text.lstrip("+-")


@click.command()
@click.argument("path", type=show.PATH, nargs=-1, required=True)
@click.option("--run", default="", help="Run by its name; the first without.")
@click.option("--baseline", default="", help="Worker of the first PATH by rank, name or label.")
@click.option("--experimental", default="", help="Worker of the other PATHs.")
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
    """Compare captures: up to 8 PATHs, or two workers of one. The first is the baseline, A; the last is compared with it.

    Exit codes: 0 done, 1 nothing could be compared, 3 --fail-if holds, 4 --fail-if cannot be decided.
    """
    if len(path) > MOST_CAPTURES:
        raise click.UsageError(f"diff takes at most {MOST_CAPTURES} PATHs.")
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
        found["ledger"] = show.wait_for_data(service, "diff_ledger", {**sides, STEP: step})
    if as_json:
        show.write_json(found)
    else:
        for line in _text(found, path):
            echo(line)
    show.name_left_out(left_out, "compared", as_json)
    if condition is not None:
        exit_by(fail_if, [decide_diff(condition, shown_pair(found))], diff_figures(condition, shown_pair(found)))
