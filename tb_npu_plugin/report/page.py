"""The report of a run: one HTML text without scripts and without anything from elsewhere, in both languages.

A reader switches the language with two radio buttons; CSS hides the other one (style.py). Mail clients strip scripts.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any, Optional

from tb_npu_plugin.analysis.findings.verdict import title_of
from tb_npu_plugin.analysis.parts import BUDGET
from tb_npu_plugin.errors import NpuPluginError
from tb_npu_plugin.messages import Message, in_period
from tb_npu_plugin.report.budget import RankMean, chosen_ranks, mean_of_parts, means_of_ranks, step_count
from tb_npu_plugin.report.ledger import fix_text, ledger_section
from tb_npu_plugin.report.markup import UNKNOWN, address, escape, figure, grouped, say, say_field
from tb_npu_plugin.report.style import STYLE
from tb_npu_plugin.store.temporary import temporary_in

#: Limits of what is shown, so that the file stays below 2 MB. No run of a fixture reaches them.
MOST_FINDINGS, MOST_PLACES, MOST_LEFT_OUT = 40, 8, 64
#: Late ranks that are named in a row, and the least share of a bar that has a figure inside.
_MOST_LATE, _LEAST_LABEL = 3, 0.07
#: Views that links lead to, and severities: the messages "report.view.VIEW" and "report.severity.SEVERITY".
VIEWS = [
    "overview",
    "trace",
    "step_trace",
    "kernel",
    "operator",
    "memory",
    "distributed",
    "data_pipeline",
    "idle",
    "doctor",
]
SEVERITIES = ("high", "medium", "low")
#: Headers of the table of ranks, and the field of RankMean.times; "": whole or waiting_for.
_COLUMNS: Sequence[tuple[Message, str]] = (
    (Message("report.column.computing"), "computing"),
    (BUDGET["overlapped"].title, "overlapped"),
    (Message("report.column.communication"), "communication_not_overlapped"),
    (Message("report.column.waiting"), "exposed_waiting"),
    (BUDGET["bubble"].title, "bubble"),
    (BUDGET["copying"].title, "copying"),
    (BUDGET["free"].title, "free"),
)
#: The file holds all that it shows: whatever a name smuggles in, nothing runs and nothing is loaded.
_POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"
#: Columns that are left out if no rank recorded the time, or it is 0 for all.
_OPTIONAL = ("bubble", "copying", "exposed_waiting")


@dataclass(frozen=True)
class ReportSource:
    """What a report is made of.

    Attributes:
        diagnosis: DiagnosisJson.
        distributed: DistributedJson; None if the run has no data for it.
        capture: CaptureJson of the first rank; None if unknown.
        run: Token of the run.
        url: Where TensorBoard runs.
        logdir: The --logdir for which links to it hold.
        command: The command line that makes this report.
        version: Version of tb-npu-plugin.
    """

    diagnosis: Mapping[str, Any]
    distributed: Optional[Mapping[str, Any]]
    capture: Optional[Mapping[str, Any]]
    run: str
    url: str
    logdir: str
    command: str
    version: str


@dataclass(frozen=True)
class _Report:
    source: ReportSource
    means: Sequence[RankMean]
    count: int
    step_ms: float

    @property
    def decimals(self) -> int:
        """Of figures in ms."""
        return 2 if self.step_ms >= 1 else 4

    def in_period(self, message: Message) -> Message:
        """The message in the words for what takes the place of a step."""
        return in_period(message, self.source.diagnosis["period"])

    def say(self, message: Message) -> str:
        """That in both languages."""
        return say(self.in_period(message))

    def ms(self, ns: Optional[float]) -> str:
        """A time without its unit."""
        return figure(None if ns is None else ns / 1e6, self.decimals)

    def share(self, ms: float) -> str:
        """Share of step time."""
        return f"{100 * ms / self.step_ms:.1f} %" if self.step_ms else UNKNOWN


def report_html(source: ReportSource) -> str:
    """The whole file."""
    steps = source.diagnosis["steps"]
    budgets = source.distributed["budgets"] if source.distributed is not None else []
    groups = source.diagnosis["iterations"]  # the mean is of one phase
    in_mean = [step for one in groups if one["phase"] == groups[0]["phase"] for step in one["steps"]]
    averaged = set(in_mean or [step["step"] for step in steps[: source.diagnosis["mean_steps"]]])
    count = step_count(steps, budgets)
    report = _Report(source, means_of_ranks(budgets, averaged), count, source.diagnosis["mean_step_ms"])
    ledger = ledger_section(source.diagnosis, report.decimals)
    body = (*_summary(report), *ledger, *_findings(report), *_steps(report), *_checks(report))
    return "\n".join((*_head(source), *body, *_end(source)))


def _head(source: ReportSource) -> Iterator[str]:
    run = escape(source.diagnosis["run"])
    yield '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">'
    yield f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">'
    yield '<meta name="viewport" content="width=device-width, initial-scale=1">'
    yield f"<title>{run} · tb-npu diagnose</title>\n<style>{STYLE}</style>\n</head>\n<body>"
    yield '<input type="radio" name="language" id="en" checked><label class="choice" for="en">English</label>'
    yield '<input type="radio" name="language" id="zh"><label class="choice" for="zh" lang="zh">简体中文</label>'
    yield f"<main>\n<h1>{run}</h1>"


def _summary(report: _Report) -> Iterator[str]:
    diagnosis, capture = report.source.diagnosis, report.source.capture or {}
    if capture.get("simulated"):
        yield f'<section class="simulated">{say(Message("report.simulated"))}</section>'
    yield f'<section>\n<p class="verdict">{say_field(diagnosis["verdict"], "message")}</p>'
    if len(diagnosis["findings"]) > 1:
        ms = diagnosis["at_stake_ms_per_step"]
        share = report.share(ms)
        yield f'<p class="muted">{report.say(Message("report.stake", time=f"{grouped(ms, report.decimals)} ms", share=share))}</p>'
    yield "<dl>"
    for title, text in _facts(report, capture):
        yield f"<dt>{say(title)}</dt><dd>{text}</dd>"
    yield "</dl>\n</section>"


def _facts(report: _Report, capture: Mapping[str, Any]) -> Iterator[tuple[Message, str]]:
    if capture.get("start_ns") is not None:
        yield Message("report.date"), escape(_date(int(capture["start_ns"]), capture["utc_offset_minutes"]))
    yield Message("report.ranks"), str(len({mean.span for mean in report.means})) if report.means else UNKNOWN
    steps = report.source.diagnosis["steps"]
    if any(step["step"] is not None for step in steps):
        yield Message("report.iterations" if report.source.diagnosis["iterations"] else "report.steps"), str(len(steps))
    elif steps:
        yield Message("report.steps"), _unmarked(report.count)
    yield (
        report.in_period(Message("report.mean")),
        figure(report.step_ms, report.decimals, " ms") if report.step_ms else UNKNOWN,
    )
    if capture.get("device"):
        yield Message("report.device"), escape(capture["device"])
    if capture.get("producer"):
        yield Message("report.producer"), say_field(capture, "producer")
    versions = list(capture.get("versions", {}).items())[:MOST_PLACES]
    if versions:
        yield Message("report.versions"), escape(", ".join(f"{name} {version}" for name, version in versions))


def _unmarked(repeats: int) -> str:
    return say(Message("report.repeats", count=repeats) if repeats > 1 else Message("report.unmarked"))


def _date(start_ns: int, offset_minutes: int) -> str:
    zone = timezone(timedelta(minutes=offset_minutes))
    try:
        return datetime.fromtimestamp(start_ns // 10**9, zone).strftime("%Y-%m-%d %H:%M:%S %Z")
    except (OverflowError, ValueError, OSError):  # a clock that was not set
        return UNKNOWN


def _findings(report: _Report) -> Iterator[str]:
    findings = report.source.diagnosis["findings"]
    yield f"<section>\n<h2>{say(Message('report.findings'))}</h2>"
    if not findings:
        yield f"<p>{say(Message('report.no_findings'))}</p>"
    yield "<ol>"
    for one in findings[:MOST_FINDINGS]:
        yield from _finding(report, one)
    yield "</ol>"
    if len(findings) > MOST_FINDINGS:
        yield f"<p>{say(Message('report.more', count=len(findings) - MOST_FINDINGS))}</p>"
    source = report.source
    command = f"tensorboard --logdir {source.logdir}"
    run = address(source.url, source.run, {"view": "overview"})
    yield f'<p><a href="{_attribute(run)}">{say(Message("report.open"))}</a></p>'
    yield f'<p class="muted">{say(Message("report.links", url=source.url, command=command))}</p>\n</section>'


def _finding(report: _Report, one: Mapping[str, Any]) -> Iterator[str]:
    severity = one["severity"]
    yield f'<li class="{escape(severity)}"><h3>{_cost(report, one)}'
    yield f"{say(Message(f'report.severity.{severity}'))} · {say_field(one, 'title')}</h3>"
    yield f'<p>{say_field(one, "message")} <span class="muted">({_confidence(one["confidence"])})</span></p>'
    for at in range(len(one["fix"])):
        yield f"<p>{say(Message('report.fix'))} {fix_text(one, at)}</p>"
    if one["check"]:
        yield f'<p class="muted">{say_field(one, "check")}</p>'
    if one["causes"]:
        yield f"<p>{say(Message('report.causes'))} {', '.join(say(title_of(rule)) for rule in one['causes'])}</p>"
    links = list(_links(report, one["evidence"]))
    if links:
        yield f"<p>{' · '.join(links)}</p>"
    yield "</li>"


def _cost(report: _Report, one: Mapping[str, Any]) -> str:
    ms = one["ms_per_step"]
    if not ms:
        return f'<span class="cost">{report.say(Message("report.cost.none"))}</span>'
    share, value = report.share(ms), figure(ms, report.decimals, " ms")
    if one["kind"] == "measured":
        return f'<span class="cost">{value} · {report.say(Message("report.cost.measured", share=share))}</span>'
    return f'<span class="cost">≤ {value} · {report.say(Message("report.cost.bound", share=share))}</span>'


def _confidence(confidence: Mapping[str, Any]) -> str:
    if confidence["kind"] == "inferred":
        return say(Message("report.inferred"))
    if confidence["kind"] == "confirmed" and confidence["ranks"] > 1:
        return say(Message("report.confirmed", count=confidence["ranks"]))
    return say(Message("report.one_rank"))


def _links(report: _Report, evidence: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Links with the rank and the length of the range: these identify the place in any TensorBoard."""
    names = {mean.span: mean.name for mean in report.means}
    for one in [one for one in evidence if one["view"] in VIEWS][:MOST_PLACES]:
        words = [say(Message(f"report.view.{one['view']}"))]
        if one["span"] in names:
            words.append(escape(names[one["span"]]))
        if one["row"]:
            words.append(escape(one["row"]))
        if one["start_ns"] is not None and one["end_ns"] is not None:
            words.append(f"{report.ms(one['end_ns'] - one['start_ns'])} ms")
        target = address(report.source.url, report.source.run, one)
        yield f'<a href="{_attribute(target)}">{", ".join(words)}</a>'


def _attribute(target: str) -> str:
    return target.replace("&", "&amp;").replace('"', "%22").replace("<", "%3C")


def _steps(report: _Report) -> Iterator[str]:
    known = [mean for mean in report.means if mean.whole is not None]
    if not known:
        return
    subjects = (one["subject"].get("rank") for one in report.source.diagnosis["findings"])
    shown = chosen_ranks(known, frozenset(rank for rank in subjects if rank is not None))
    parts = mean_of_parts(known)
    yield f'<section>\n<h2>{report.say(Message("report.bars"))}</h2>\n<ul class="legend">'
    whole = sum(mean.whole or 0 for mean in known) / len(known)
    for part, time in parts.items():
        if time:
            share = "" if part == "preparing" else f" ({100 * time / whole:.1f} %)" if whole else ""
            yield f'<li><span class="key {part}"></span>{say(_title(part, parts))} {report.ms(time)} ms{share}</li>'
    yield f'</ul>\n<p class="muted">{report.say(Message("report.legend"))}</p>'
    if len(shown) < len(known):
        yield f"<p>{say(Message('report.some_ranks', shown=len(shown), count=len(known)))}</p>"
    longest = max(_length(mean) for mean in shown)
    yield '<div class="bars">'
    for mean in shown:
        yield f'<span class="name">{escape(mean.name)}</span><div class="bar">{"".join(_bar(mean, longest))}</div>'
        yield f"<span>{report.ms(mean.whole)} ms</span>"
    yield "</div>\n</section>"
    yield from _table(report, shown)


def _title(part: str, parts: Mapping[str, Optional[float]]) -> Message:
    """Name of a part; that of communication says what stands beside it."""
    if part == "communication" and parts["waiting"] is not None:
        return Message("part.budget.transfer")
    if part == "communication" and parts["bubble"]:
        return Message("part.budget.rest")
    return BUDGET[part].title


def _length(mean: RankMean) -> float:
    return (mean.whole or 0) + (mean.parts["preparing"] or 0)


def _bar(mean: RankMean, longest: float) -> Iterator[str]:
    for part, time in mean.parts.items():
        if not time or longest <= 0:
            continue
        is_wide = part != "preparing" and time / longest >= _LEAST_LABEL and mean.whole
        label = f"{100 * time / mean.whole:.0f} %" if is_wide and mean.whole else ""
        yield f'<i class="{part}" style="width:{100 * time / longest:.3f}%">{label}</i>'


def _table(report: _Report, shown: Sequence[RankMean]) -> Iterator[str]:
    columns = [
        (title, name) for title, name in _COLUMNS if name not in _OPTIONAL or any(mean.times[name] for mean in shown)
    ]
    waits = any(mean.waiting_for for mean in shown)
    yield f'<section>\n<h2>{report.say(Message("report.table"))}</h2>\n<div class="scroll"><table>\n<thead><tr>'
    yield f"<th>{say(Message('report.column.rank'))}</th>"
    yield "".join(f"<th>{say(title)}</th>" for title, _ in columns)
    yield f"<th>{say(Message('report.column.step'))}</th>"
    yield f'<th class="text">{say(Message("report.column.waiting_for"))}</th>' if waits else ""
    yield "</tr></thead>\n<tbody>"
    for mean in shown:
        cells = [f"<td>{report.ms(time)}</td>" for time in (*(mean.times[name] for _, name in columns), mean.whole)]
        if waits:
            late = (f"{escape(name)}: {report.ms(time)}" for name, time in mean.waiting_for[:_MOST_LATE])
            cells.append(f'<td class="text">{", ".join(late) or UNKNOWN}</td>')
        yield f"<tr><td>{escape(mean.name)}</td>{''.join(cells)}</tr>"
    yield f'</tbody></table></div>\n<p class="muted">{report.say(Message("report.table.note"))}</p>\n</section>'


def _checks(report: _Report) -> Iterator[str]:
    diagnosis = report.source.diagnosis
    unchecked = [one for one in diagnosis["unchecked"] if one["reason"] == "not_recorded"]
    ranks = diagnosis["ranks"]
    yield f"<section>\n<h2>{say(Message('report.checks'))}</h2>"
    others = len(diagnosis["unchecked"]) - len(unchecked)
    counts = Message("report.checked", checked=diagnosis["checked"], unchecked=len(unchecked), others=others)
    yield f"<p>{say(counts)}</p>\n<ul>"
    for one in unchecked:
        option = f" {say(Message('report.option'))} <code>{say_field(one, 'option')}</code>" if one["option"] else ""
        yield f"<li>{say_field(one, 'title')}: {say_field(one, 'missing')}{option}</li>"
    yield "</ul>\n</section>"
    if ranks:
        yield f"<section>\n<h2>{say(Message('report.left_out'))}</h2>\n<ul>"
        for rank in ranks[:MOST_LEFT_OUT]:
            reason = say_field(rank, "reason") if rank["reason"] else say(Message("report.no_reason"))
            yield f"<li>{escape(rank['worker'])}: {reason}</li>"
        yield "</ul>"
        if len(ranks) > MOST_LEFT_OUT:
            yield f"<p>{say(Message('report.more', count=len(ranks) - MOST_LEFT_OUT))}</p>"
        yield "</section>"


def _end(source: ReportSource) -> Iterator[str]:
    made = Message("report.made", version=source.version, command=source.command)
    yield f'</main>\n<footer class="muted"><p>{say(made)}</p></footer>\n</body>\n</html>\n'


class ReportError(NpuPluginError):
    """A report could not be written."""

    code = "report"


def write_report(text: str, target: str) -> None:
    """Write the text to a file, which is complete or unchanged; "-" is stdout. Raises ReportError."""
    if target == "-":
        sys.stdout.buffer.write(text.encode())
        sys.stdout.buffer.flush()
        return
    path = Path(target)
    try:
        _replace(path, text.encode())
    except OSError as error:
        raise ReportError(f"{path} cannot be written: {error.strerror}.") from error


def _replace(path: Path, content: bytes) -> None:
    """Write a temporary file below the folder of `path` and rename it."""
    path = path.resolve() if path.is_symlink() else path
    if path.exists() and not path.is_file():  # a device or a pipe is written to, not replaced
        path.write_bytes(content)
        return
    with temporary_in(path.parent) as folder:
        new = folder / path.name
        new.write_bytes(content)
        new.replace(path)
