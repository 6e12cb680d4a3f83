"""tb-npu diagnose: what holds a run up, who, how much it costs and what to do."""

from __future__ import annotations

import re
import shlex
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Optional

import click

from tb_npu_plugin import __version__
from tb_npu_plugin.analysis.findings.model import SEVERITIES
from tb_npu_plugin.analysis.findings.registry import RULES
from tb_npu_plugin.analysis.findings.verdict import AWAITED
from tb_npu_plugin.cli_show import PATH, open_library, wait_for_data, wait_for_view, write_json
from tb_npu_plugin.discovery.model import FoundRun
from tb_npu_plugin.json_encoding import to_plain
from tb_npu_plugin.report.page import ReportSource, report_html
from tb_npu_plugin.report.write import write_report
from tb_npu_plugin.service.answers import Service
from tb_npu_plugin.service.choice import choose_run
from tb_npu_plugin.terminal import echo

#: Exit codes of --fail-if: the condition holds; a rule that it names could not run.
FAILED, NOT_CHECKED = 3, 4
STDOUT = "-"
_CONDITION = re.compile(r"(\w+)(?:>(\d+(?:\.\d+)?)%)?")
#: Several rules in a condition: waiting for late ranks.
_RULES_OF = {"wait": AWAITED}
_SEVERITIES = (*(severity for severity, _ in SEVERITIES), "low")


def parse_condition(text: str, names: Sequence[str]) -> Optional[tuple[str, Optional[float]]]:
    """`NAME>N%` as (NAME, N / 100), `NAME` as (NAME, None); None if it is neither, or NAME is none of the names."""
    match = _CONDITION.fullmatch(text.strip())
    if match is None or match[1] not in names:
        return None
    return match[1], None if match[2] is None else float(match[2]) / 100


class Condition(NamedTuple):
    """A severity, or a rule whose cost exceeds a share of step time."""

    name: str
    share: float

    @staticmethod
    def parse(text: str) -> Condition:
        """`high`, or `straggler>5%`. Raises click.BadParameter."""
        names = (*_SEVERITIES, *_RULES_OF, *(rule.id for rule in RULES))
        found = parse_condition(text, names)
        if found is None or (found[1] is not None and found[0] in _SEVERITIES):
            raise click.BadParameter(f"{text!r} is neither a severity nor RULE>N%; names: {', '.join(names)}")
        return Condition(found[0], found[1] or 0.0)

    def is_met(self, found: Mapping[str, Any]) -> bool:
        """Whether a finding has this severity or a higher one, or costs more than the share."""
        if self.name in _SEVERITIES:
            enough = _SEVERITIES[: _SEVERITIES.index(self.name) + 1]
            return any(one["severity"] in enough for one in found["findings"])
        step = found["mean_step_ms"]
        costs = [one["ms_per_step"] for one in found["findings"] if one["rule"] in self._rules]
        return any(cost > self.share * step for cost in costs)

    def is_unchecked(self, found: Mapping[str, Any]) -> bool:
        """Whether none of its rules could run."""
        unchecked = {one["rule"] for one in found["unchecked"]}
        return self.name not in _SEVERITIES and unchecked.issuperset(self._rules)

    @property
    def _rules(self) -> tuple[str, ...]:
        return _RULES_OF.get(self.name, (self.name,))


def _http(ctx: click.Context, param: click.Parameter, url: str) -> str:
    """An address of a server. Raises click.BadParameter."""
    if not re.fullmatch(r"https?://[^\s\"'<>#]+", url):
        raise click.BadParameter(f"{url!r} is not an address such as http://localhost:6006")
    return url


@click.command()
@click.argument("path", type=PATH)
@click.option("--run", default="", help="Run by its name; the first without.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON (docs/diagnosis.md).")
@click.option("--md", "as_markdown", is_flag=True, help="Print Markdown.")
@click.option("--fail-if", "fail_if", default="", help="Exit with 3 if this holds: high, medium, low, or RULE>N%.")
@click.option("--html", "html", default="", metavar="FILE", help="Also write a report for a browser; - prints only it.")
@click.option("--url", default="http://localhost:6006", callback=_http, help="TensorBoard that the report links to.")
def diagnose(path: Path, run: str, as_json: bool, as_markdown: bool, fail_if: str, html: str, url: str) -> None:
    """Say what holds up the run in PATH, what it costs per step, and what to do. Reads what it needs.

    Exit codes: 0 done, 1 nothing could be diagnosed or written, 3 --fail-if holds, 4 the rule of --fail-if could not run.
    """
    condition = Condition.parse(fail_if) if fail_if else None
    if html == STDOUT and (as_json or as_markdown):
        raise click.UsageError("--html - prints the report: give a FILE to print JSON or Markdown as well.")
    with open_library((path,)) as library:
        chosen = choose_run(library.scan(), run)
        service = Service(library, for_page=False)
        found = wait_for_view(service, "diagnosis", {"run": chosen.token})
        report = _report(service, chosen, found["data"], path, url) if html and found["state"] == "ready" else ""
    if found["state"] != "ready":
        echo(f"{chosen.label}: nothing that can be diagnosed was recorded.", err=True)
        for problem in found["problems"]:
            echo(f"{problem['file']}: {problem['found'] or problem['expected']}", err=True)
        sys.exit(1)
    data = found["data"]
    if html:
        write_report(report, html)
    if html == STDOUT:
        pass
    elif as_json:
        write_json(data)
    else:
        for line in _markdown(data) if as_markdown else _text(data):
            echo(line)
    if condition is not None and condition.is_unchecked(data):
        sys.exit(NOT_CHECKED)
    if condition is not None and condition.is_met(data):
        sys.exit(FAILED)


def _report(service: Service, run: FoundRun, found: Mapping[str, Any], path: Path, url: str) -> str:
    """The report of a run. Its links hold for a TensorBoard whose --logdir is `path`."""
    distributed = wait_for_data(service, "distributed", {"run": run.token})
    overview = wait_for_data(service, "overview", {"span": run.workers[0].spans[0].token})
    logdir = path.parent if path.is_file() else path
    source = ReportSource(
        diagnosis=to_plain(found),
        distributed=to_plain(distributed),
        capture=to_plain(overview["capture"]) if overview is not None else None,
        run=run.token,
        url=url,
        logdir=shlex.quote(str(logdir.absolute())),
        command=shlex.join(("tb-npu", "diagnose", str(path), "--run", run.label)),
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
    yield f"## {_heading(found)}"
    yield ""
    yield f"**{found['verdict']['message']}**"
    if found["findings"]:
        yield ""
        yield "| severity | ms per step | finding | what to do |"
        yield "|-|-|-|-|"
    for one in found["findings"]:
        cells = (one["severity"], _cost(one), one["message"], " ".join(one["fix"]))
        yield f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"
    yield ""
    yield from _checks(found)


def _heading(found: Mapping[str, Any]) -> str:
    """The run, its steps and their mean; its repeats or its length if steps are not marked."""
    count, time = len(found["steps"]), f"{found['mean_step_ms']:.2f} ms"
    if not count:
        return f"{found['run']}: no step times"
    if found["repeats"] is not None:
        what = f"capture of {time}" if found["repeats"] == 1 else f"{found['repeats']} repeats, mean {time}"
    elif found["mean_steps"] < count:
        what = f"{count} steps, mean of the {found['mean_steps']} whole ones {time}"
    else:
        what = f"1 step of {time}" if count == 1 else f"{count} steps, mean {time}"
    return f"{found['run']}: {what}"


def _cost(one: Mapping[str, Any]) -> str:
    if not one["ms_per_step"]:
        return "–"
    most = "≤ " if one["kind"] == "upper bound" else ""
    return f"{most}{one['ms_per_step']:.2f} ms"


def _checks(found: Mapping[str, Any]) -> Iterator[str]:
    unchecked: Sequence[Mapping[str, Any]] = found["unchecked"]
    yield f"{found['checked']} checks ran, {len(unchecked)} could not."
    for one in unchecked:
        option = f" To record it, set {one['option']}." if one["option"] else ""
        yield f"Not checked: {one['title']} ({one['rule']}). {one['missing']}{option}"
    for rank in found["ranks"]:
        start = "Partly included" if rank["state"] == "ready" else "Not included"
        yield f"{start}: {rank['worker']}. {rank['reason']}"
