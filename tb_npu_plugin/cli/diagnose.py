"""tb-npu diagnose: what holds a run up, who, how much it costs and what to do."""

from __future__ import annotations

import re
import shlex
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from tb_npu_plugin import __version__
from tb_npu_plugin.cli import show
from tb_npu_plugin.cli.gate import Decision, decide_diagnosis, diagnosis_condition, exit_by
from tb_npu_plugin.json_encoding import to_plain
from tb_npu_plugin.messages import Message
from tb_npu_plugin.report.page import ReportSource, report_html, write_report
from tb_npu_plugin.service.answers import Service
from tb_npu_plugin.service.choice import Part, choose_parts
from tb_npu_plugin.service.ranks import TRACE_UNREAD
from tb_npu_plugin.terminal import echo
from tb_npu_plugin.views.diagnosis import SCHEMA
from tb_npu_plugin.views.ledger_layout import without_layout

#: Most runs that one command diagnoses, unless they are chosen with --run.
MOST_RUNS = 8
#: Most ranks that a line lists.
_MOST_RANKS = 8
STDOUT = "-"
#: Fields of a run that schema 1 lacks.
_SINCE_2 = ("ledger", "ledgers", "mean_steps", "repeats")


def _http(ctx: click.Context, param: click.Parameter, url: str) -> str:
    """An address of a server. Raises click.BadParameter."""
    if not re.fullmatch(r"https?://[^\s\"'<>#]+", url):
        raise click.BadParameter(f"{url!r} is not an address such as http://localhost:6006")
    return url


@click.command()
@click.argument("path", type=show.PATH)
@click.option(
    "--run",
    "names",
    multiple=True,
    help=f"Run by its name; repeatable. Without: the first {MOST_RUNS} recordings of runs.",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON (docs/diagnosis.md).")
@click.option(
    "--schema", type=click.Choice(["1", "2"]), default="2", help="Form of the JSON. 1 is deprecated: one run."
)
@click.option("--md", "as_markdown", is_flag=True, help="Print Markdown.")
@click.option("--fail-if", "fail_if", default="", help="Exit with 3 if this holds: high, medium, low, or RULE>N%.")
@click.option("--html", "html", default="", metavar="FILE", help="Also write a report of one run; - prints only it.")
@click.option("--url", default="http://localhost:6006", callback=_http, help="TensorBoard that the report links to.")
@show.KERNEL_TABLE
@show.NO_TRACE
def diagnose(
    path: Path,
    names: tuple[str, ...],
    as_json: bool,
    schema: str,
    as_markdown: bool,
    fail_if: str,
    html: str,
    url: str,
    no_trace: bool,
) -> None:
    """Say what holds up the runs in PATH, what it costs per step, and what to do. Reads what it needs.

    Exit codes: 0 done, 1 nothing could be diagnosed or written, 3 --fail-if holds, 4 --fail-if cannot be decided.
    """
    condition = diagnosis_condition(fail_if) if fail_if else None
    if html == STDOUT and (as_json or as_markdown):
        raise click.UsageError("--html - prints the report: give a FILE to print JSON or Markdown as well.")
    has_one = bool(html) or (as_json and schema == "1")
    if has_one and len(names) > 1:
        raise click.UsageError("--html and --schema 1 hold one run: give one --run.")
    with show.open_library((path,)) as library:
        service = Service(library, for_page=False, with_traces=not no_trace)
        most = 1 if has_one else sys.maxsize if names else MOST_RUNS
        chosen, left_out = choose_parts(library.scan(), names, most)
        found = []
        for part in chosen:
            answer = show.wait_for_view(service, "diagnosis", part.params)
            if answer["state"] == "ready":
                found.append({**answer["data"], "run": part.label})
            else:
                left_out.append({"run": part.label, "reason": "no_data"})
                _explain_missing(part.label, answer)
        report = _report(service, chosen[0], found[0], path, url) if html and found else ""
    if not found:
        sys.exit(1)
    if html:
        write_report(report, html)
    if as_json:
        runs = [without_layout(one) for one in found]
        show.write_json(_schema_1(runs[0]) if schema == "1" else {"schema": SCHEMA, "runs": runs, "left_out": left_out})
    elif html != STDOUT:
        for line in _printed(found, _markdown if as_markdown else _text):
            echo(line)
    show.name_left_out(left_out, "diagnosed", as_json or bool(html))
    if condition is not None:
        undecided: list[Decision] = ["undecided"] if left_out else []
        exit_by(fail_if, [*(decide_diagnosis(condition, one) for one in found), *undecided])


def _explain_missing(name: str, answer: Mapping[str, Any]) -> None:
    echo(f"{name}: nothing that can be diagnosed was recorded.", err=True)
    grave = [problem for problem in answer["problems"] if problem["severity"] != "info"]
    for problem in grave or answer["problems"]:
        echo(f"{problem['file']}: {problem['found'] or problem['expected']}. {problem['action']}", err=True)


def _schema_1(found: Mapping[str, Any]) -> dict[str, Any]:
    """A run as releases before schema 2 printed it."""
    unchecked = [one for one in found["unchecked"] if one["reason"] == "not_recorded"]
    return {
        **{key: value for key, value in found.items() if key not in _SINCE_2},
        "schema": 1,
        "verdict": {key: value for key, value in found["verdict"].items() if key != "kind"},
        "unchecked": [{key: value for key, value in one.items() if key != "reason"} for one in unchecked],
    }


def _printed(found: Sequence[Mapping[str, Any]], lines: Callable[[Mapping[str, Any]], Iterator[str]]) -> Iterator[str]:
    for number, one in enumerate(found):
        if number:
            yield ""
        yield from lines(one)


def _report(service: Service, part: Part, found: Mapping[str, Any], path: Path, url: str) -> str:
    """The report of a run. Its links hold for a TensorBoard whose --logdir is `path`."""
    distributed = show.wait_for_data(service, "distributed", {**part.params, "all": "1"})
    overview = show.wait_for_data(service, "overview", {"span": part.first.token})
    logdir = path.parent if path.is_file() else path
    source = ReportSource(
        diagnosis=to_plain(found),
        distributed=to_plain(distributed),
        capture=to_plain(overview["capture"]) if overview is not None else None,
        run=part.run.token,
        url=url,
        logdir=shlex.quote(str(logdir.absolute())),
        command=shlex.join(("tb-npu", "diagnose", str(path), "--run", part.label)),
        version=__version__,
    )
    return report_html(source)


def _text(found: Mapping[str, Any]) -> Iterator[str]:
    yield _heading(found)
    yield found["verdict"]["message"]
    for one in found["findings"]:
        yield ""
        yield f"{one['severity']:<7} {_cost(one):>16}  {one['message']}"
        yield from (f"{'':26}{text}" for text in (*one["fix"], one["check"]) if text)
    yield ""
    yield from _checks(found)


def _markdown(found: Mapping[str, Any]) -> Iterator[str]:
    yield f"## {_markdown_text(_heading(found))}"
    yield ""
    yield f"**{_markdown_text(found['verdict']['message'])}**"
    if found["findings"]:
        yield ""
        yield f"| severity | ms {Message('per_period.' + found['period'])} | finding | what to do |"
        yield "|-|-|-|-|"
    for one in found["findings"]:
        cells = (one["severity"], _cost(one), one["message"], " ".join(one["fix"]))
        yield f"| {' | '.join(map(_markdown_text, cells))} |"
    yield ""
    yield from _checks(found)


def _markdown_text(text: str) -> str:
    """Text whose names are neither HTML nor the end of a cell."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace("|", "&#124;")


def _heading(found: Mapping[str, Any]) -> str:
    """The run, its steps and their mean; its repeats or its length if steps are not marked."""
    count, time = len(found["steps"]), f"{found['mean_step_ms']:.2f} ms"
    if not count:
        return f"{found['run']}: no step times"
    if found["repeats"] is not None:
        what = f"capture of {time}" if found["repeats"] == 1 else f"{found['repeats']} repeats, mean {time}"
    elif found["iterations"]:
        what = f"1 iteration of {time}" if count == 1 else f"{count} iterations, mean of {found['mean_steps']}: {time}"
    elif found["mean_steps"] < count:
        whole = "the only whole one" if found["mean_steps"] == 1 else f"mean of the {found['mean_steps']} whole ones"
        what = f"{count} steps, {whole} {time}"
    else:
        what = f"1 step of {time}" if count == 1 else f"{count} steps, mean {time}"
    return f"{found['run']}: {what}"


def _cost(one: Mapping[str, Any]) -> str:
    if not one["ms_per_step"]:
        return "–"
    most = "≤ " if one["kind"] == "upper bound" else ""
    return f"{most}{one['ms_per_step']:.2f} ms"


def _checks(found: Mapping[str, Any]) -> Iterator[str]:
    unchecked = [one for one in found["unchecked"] if one["reason"] == "not_recorded"]
    others = [one["title"] for one in found["unchecked"] if one["reason"] == "not_applicable"]
    yield f"{found['checked']} checks ran, {len(unchecked)} could not, {len(others)} do not apply."
    for one in unchecked:
        option = f" To record it, set {one['option']}." if one["option"] else ""
        yield f"Not checked: {one['title']} ({one['rule']}). {one['missing']}{option}"
    if others and found["checked"]:
        yield f"Not applicable: {'; '.join(others)}."
    ranks: dict[tuple[str, str], list[str]] = {}
    for rank in found["ranks"]:
        is_partly = rank["state"] == "ready" or rank["texts"].get("reason", {}).get("code") == TRACE_UNREAD
        key = "Partly included" if is_partly else "Not included", rank["reason"]
        ranks.setdefault(key, []).append(rank["worker"])
    for (start, reason), workers in ranks.items():
        more = f" and {len(workers) - _MOST_RANKS} more" if len(workers) > _MOST_RANKS else ""
        yield f"{start}: {', '.join(workers[:_MOST_RANKS])}{more}. {reason}"
