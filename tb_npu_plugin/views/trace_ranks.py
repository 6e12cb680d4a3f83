"""The ranks of a run for the Trace view: how to choose them, and how to align them."""

from __future__ import annotations

from typing import Optional, TypedDict

from tb_npu_plugin.analysis.findings.outliers import over_median
from tb_npu_plugin.analysis.findings.representatives import representatives_of
from tb_npu_plugin.analysis.findings.run_data import RunData
from tb_npu_plugin.analysis.findings.straggler import RULE as STRAGGLER
from tb_npu_plugin.analysis.ranks.world import numbers_in_groups, pipeline_stage
from tb_npu_plugin.analysis.run.arrivals import longest_collectives
from tb_npu_plugin.analysis.run.communication import RunCommunication
from tb_npu_plugin.analysis.run.strips import (
    PARTS,
    coverage_of,
    device_times,
    exposed_waits,
    longest_awaited,
    mean_parts,
    step_parts,
)
from tb_npu_plugin.messages import Period
from tb_npu_plugin.model import SpanData
from tb_npu_plugin.tables import IntArray
from tb_npu_plugin.views.base import View, ViewInput, ViewResult
from tb_npu_plugin.views.distributed import RankStateJson
from tb_npu_plugin.views.steps import MOST_STEPS


class TraceClockJson(TypedDict):
    """Clock of a rank: by the ends of the collectives that it shares with another rank."""

    reference: str
    """Span of the other rank. Clocks with the same reference can be compared."""
    offset: int
    """This clock less the other, ns."""
    error: int
    """Median absolute deviation, ns; 0 for the reference."""


class DeviceStepJson(TypedDict):
    """A step on the device."""

    step: str
    """Step number."""
    start: int
    """ns after `base_ns`, by the clock of the rank."""
    times: list[int]
    """Time of each of `parts` until the next step, of the last step until the last device task, ns. Empty if unknown."""


class TraceRankJson(TypedDict):
    """A rank that is read."""

    span: str
    """Token of the span."""
    worker: str
    """Name of the worker."""
    rank: Optional[int]
    """Rank in the job."""
    host: Optional[str]
    """Host name; null if not recorded."""
    pipeline_stage: Optional[int]
    """From 1; null if not recorded."""
    numbers: list[str]
    """Its numbers in groups of parallelism, such as "tp 3"."""
    is_traced: bool
    """The trace is read: without it, the clock is that of the communication files, which may differ."""
    clock: Optional[TraceClockJson]
    """Null: no other rank ran two collectives or more with it."""
    start: Optional[int]
    """Start of the first device task, ns after `base_ns`; null if unknown."""
    end: Optional[int]
    """End of the last device task."""
    steps: list[DeviceStepJson]
    """Steps of known start, by start, at most the first MOST_STEPS."""
    times: list[int]
    """Mean time of each of `parts` in a step, ns; without steps, until the last device task. Empty if unknown."""
    waits_for: Optional[str]
    """Late rank that it waits for longest: "5", or "local 5" for a number inside the group; null if unknown."""
    computing_ratio: Optional[float]
    """Its computing over the median rank of its pipeline stage; null with fewer than three ranks."""


class TraceGroupJson(TypedDict):
    """A communication group."""

    group: str
    """Its name in the files."""
    title: str
    """Name of its kind, such as "tp"; "" if not recorded."""
    spans: list[str]
    """Its ranks that are read: at least two."""


class CollectiveEndJson(TypedDict):
    """End of a collective on a rank."""

    span: str
    """Token of the span."""
    end: int
    """ns after `base_ns`, by the clock of the rank."""


class TraceCollectiveJson(TypedDict):
    """A collective of several ranks: it ends on all at the same moment."""

    step: Optional[str]
    """Step number."""
    group: Optional[str]
    """Communication group."""
    operator: str
    """Communication operator."""
    occurrence: int
    """From 0, among the collectives here with the same step, group and operator."""
    wait: int
    """Longest time of a rank less the shortest, ns."""
    ends: list[CollectiveEndJson]
    """By rank."""


class TraceRanksJson(TypedDict):
    """Ranks of a run for the Trace view. Times are ns after `base_ns`."""

    ranks: list[RankStateJson]
    """Ranks that are not read, or whose trace is not read, with the reason."""
    parts: list[str]
    """What a rank does: ids of the parts of its time."""
    period: Period
    """What the steps are."""
    lines: list[TraceRankJson]
    """Ranks that are read, by rank."""
    stragglers: list[str]
    """Spans of the stragglers (see docs/diagnosis.md)."""
    representatives: list[str]
    """Spans to show first of a large run: stragglers, who waits for them, one of each pipeline stage and host. At most 64."""
    groups: list[TraceGroupJson]
    """Communication groups."""
    collectives: list[TraceCollectiveJson]
    """Those with the longest waits, in order of time: of each step as many, at most 64."""


def build(source: ViewInput) -> ViewResult:
    """See TraceRanksJson."""
    data = RunData(source.spans)
    run = data.communication
    base = min((span.base_ns for span in data.spans if span.base_ns), default=0)
    stragglers = _stragglers(data)
    ratios = _computing_ratios(data)
    ranks: TraceRanksJson = {
        "ranks": [],
        "parts": list(PARTS),
        "period": data.period,
        "lines": [_rank(run, span, base, ratios.get(span.token)) for span in data.spans],
        "stragglers": stragglers,
        "representatives": representatives_of(data.spans, data.ledgers, stragglers),
        "groups": _groups(run),
        "collectives": _collectives(run, base),
    }
    return ViewResult(ranks, {}, base)


def line_of(run: RunCommunication, span: str) -> Optional[int]:
    """Index of the line of a span (its token); None for a span with several devices."""
    found = [at for at, line in enumerate(run.lines) if line.span.token == span]
    return found[0] if len(found) == 1 else None


def _rank(run: RunCommunication, span: SpanData, base: int, ratio: Optional[float]) -> TraceRankJson:
    at = line_of(run, span.token)
    times = None if at is None else device_times(run.lines[at])
    waits = [] if at is None or times is None else exposed_waits(run, at, times)
    start, end = (None, None) if times is None else (time - base for time in times.extent)
    found = [] if at is None else _starts(run, at)
    waiting = coverage_of(waits)
    parts = [] if times is None or not found else step_parts(times, waiting, [start for start, _ in found])
    return {
        "span": span.token,
        "worker": span.worker_label,
        "rank": span.capture.rank,
        "host": span.capture.host,
        "pipeline_stage": pipeline_stage(span.capture),
        "numbers": numbers_in_groups(span.capture),
        "is_traced": span.timeline is not None and span.timeline.partial is None,
        "clock": None if at is None else _clock(run, at),
        "start": start,
        "end": end,
        "steps": [
            {"step": step, "start": start - base, "times": one}
            for (start, step), one in zip(found[:MOST_STEPS], parts or [[]] * len(found))
        ],
        "times": [] if times is None else mean_parts(times, waiting, parts),
        "waits_for": longest_awaited(waits),
        "computing_ratio": ratio,
    }


def _starts(run: RunCommunication, at: int) -> list[tuple[int, str]]:
    """Start (ns since the epoch) and number of the steps of a line, by start."""
    steps = run.lines[at].steps
    return sorted((one.start_ns, one.step) for one in steps if one.start_ns is not None and one.step is not None)


def _computing_ratios(data: RunData) -> dict[str, float]:
    """Computing of each rank over that of the median rank of its pipeline stage, by token of its span."""
    found = zip(data.lines, over_median([line.computing for line in data.lines], data.stages))
    return {line.span.token: ratio for line, ratio in found if ratio is not None}


def _clock(run: RunCommunication, at: int) -> Optional[TraceClockJson]:
    clock = run.clocks[at]
    is_alone = sum(one.reference == clock.reference for one in run.clocks) == 1
    reference = run.lines[clock.reference].span.token
    return None if is_alone else {"reference": reference, "offset": clock.offset, "error": clock.error}


def _stragglers(data: RunData) -> list[str]:
    """The slowest first."""
    if data.recorded.is_of_cpu or STRAGGLER.missing(data) is not None:
        return []
    found = sorted(STRAGGLER.find(data), key=lambda one: -one.cost_ns)
    spans = [item.span for one in found for item in one.evidence if item.view == "trace"]
    return list(dict.fromkeys(span for span in spans if span is not None))


def _groups(run: RunCommunication) -> list[TraceGroupJson]:
    members: dict[str, dict[str, None]] = {}
    for line in run.lines:
        names = set(line.comm_ops.text("group").tolist()) if line.comm_ops is not None else ()
        for name in names:
            if name is not None:
                members.setdefault(name, {})[line.span.token] = None
    return [
        {"group": name, "title": run.ranks.role(name), "spans": list(spans)}
        for name, spans in sorted(members.items())
        if len(spans) > 1
    ]


def _collectives(run: RunCommunication, base: int) -> list[TraceCollectiveJson]:
    count: dict[tuple[Optional[str], Optional[str], str], int] = {}
    out = []
    for rows in longest_collectives(run):
        if len(rows) > 1:
            one = _collective(run, rows, base)
            key = one["step"], one["group"], one["operator"]
            one["occurrence"] = count.get(key, 0)
            count[key] = one["occurrence"] + 1
            out.append(one)
    return out


def _collective(run: RunCommunication, rows: IntArray, base: int) -> TraceCollectiveJson:
    found, first = run.matched, int(rows[0])
    elapse = found.rows.ints("elapse_ns")[rows]
    ends = (found.rows.ints("start_ns")[rows] + elapse - base).tolist()
    spans = [run.lines[owner].span.token for owner in found.owner[rows].tolist()]
    return {
        "step": found.rows.text("step")[first],
        "group": found.rows.text("group")[first],
        "operator": found.rows.text("name")[first] or "",
        "occurrence": 0,
        "wait": int(elapse.max() - elapse.min()),
        "ends": [{"span": span, "end": end} for span, end in zip(spans, ends)],
    }


VIEW = View(
    id="trace_ranks",
    scope="run",
    needs=(),
    build=build,
    contract=TraceRanksJson,
    examines=True,
    with_trace=True,
    is_listed=False,
)
