"""The ledgers of several captures beside one another, what became of the findings, and pairs worth comparing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from statistics import median_low
from typing import Literal, Optional, TypedDict, TypeVar

from tb_npu_plugin.analysis.findings.diagnose import Diagnosis, conclude
from tb_npu_plugin.analysis.findings.ledger_rows import LedgerKind
from tb_npu_plugin.analysis.findings.outcomes import Fate, Outcome, outcomes
from tb_npu_plugin.analysis.findings.run_data import RunData
from tb_npu_plugin.analysis.findings.verdict import title_of
from tb_npu_plugin.analysis.ledger.model import RankLedger
from tb_npu_plugin.analysis.ledger.waterfall import (
    CaptureLedger,
    DeviceLedger,
    WaterfallRow,
    running_sums,
    waterfall,
    window_ns,
)
from tb_npu_plugin.analysis.ranks.world import pipeline_stage
from tb_npu_plugin.analysis.steps.of_span import averaged_of_span, steps_and_source
from tb_npu_plugin.analysis.steps.partition import Step
from tb_npu_plugin.messages import Message, MessageJson, messages_of
from tb_npu_plugin.model import SpanData
from tb_npu_plugin.views.base import View, ViewInput, ViewResult, fields_of
from tb_npu_plugin.views.diff import LETTERS, MEAN, PARAMS, WHOLE, Comparison, Pair, choices_of, chosen_pair, sides_of
from tb_npu_plugin.views.distributed import NEEDS

_K = TypeVar("_K")


class EntryTimeJson(TypedDict):
    """Time of an entry, ns."""

    ns: int
    """Best estimate."""
    low_ns: int
    """Least possible."""
    high_ns: int
    """Largest possible."""


class WaterfallRowJson(TypedDict):
    """An entry of the ledgers."""

    part: str
    """Its colour: a part of the ledger (analysis/parts.py)."""
    title: MessageJson
    """Its name."""
    times: list[Optional[EntryTimeJson]]
    """Of each capture; null for one without step times."""
    is_beside: bool
    """Time beside the step: it is not part of the sum."""


class WaterfallStepJson(TypedDict):
    """What an entry adds to the step of the baseline."""

    difference_ns: int
    """Experimental minus baseline."""
    running_ns: int
    """Step of the baseline with all differences so far; the last one is the step of the experimental capture."""


class OutcomeJson(TypedDict):
    """A finding of the baseline, and what became of it."""

    rule: str
    """Id of the rule."""
    fate: Fate
    """ "same": its cost changed by less than 10 %. "unchecked": its rule could not run on the experimental run."""
    promised_ns: int
    """Time at stake in the baseline, per step."""
    after_ns: Optional[int]
    """The same in the experimental run; null if it was not checked."""
    part: Optional[LedgerKind]
    """Entry of the ledger that it shortens; null if that is unknown."""
    entry_before_ns: Optional[int]
    """The entry in the baseline."""
    entry_after_ns: Optional[int]
    """The entry in the experimental run."""
    saved_ns: Optional[int]
    """How much shorter the entry became; below 0 if it became longer."""
    is_shared: bool
    """Whether other findings shorten the same entry: the time is saved by all of them."""
    texts: dict[str, MessageJson]
    """Code and parameters of the title and the message of the finding."""
    title: str
    """Title of the rule."""
    message: str
    """The sentence in the baseline."""


class PresetJson(TypedDict):
    """A pair of one run that is worth comparing."""

    kind: Literal["rank", "step"]
    """The slowest rank against the median rank, or the slowest step against the median step."""
    title: MessageJson
    """Its name."""
    baseline: str
    """Token of the span of the median."""
    experimental: str
    """Token of the span of the slowest."""
    step: str
    """Parameter `step` of the pair; "" for the mean."""


class DiffLedgerJson(TypedDict):
    """Where the steps of the captures went. Parameters as those of DiffJson."""

    names: list[str]
    """Letters of the captures."""
    steps: list[Optional[int]]
    """Step time of each capture, ns: the sum of its entries; null without step times."""
    starts: list[Optional[str]]
    """Start of the step of each capture, of a mean that of its first step, ns since the epoch; null if unknown."""
    rows: list[WaterfallRowJson]
    """The entries in the order of the step, then the time beside it; [] where steps of one capture are not marked and those of the
    other are."""
    waterfall: list[WaterfallStepJson]
    """From the baseline to the experimental capture, for each row that is not beside the step; [] if one has no step times."""
    outcomes: list[OutcomeJson]
    """Findings of the baseline's run, the highest cost first; [] within one run."""
    presets: list[PresetJson]
    """Pairs of the run of the first capture."""


def build(source: ViewInput) -> ViewResult:
    """See DiffLedgerJson."""
    pair, sides = chosen_pair(source), sides_of(source)
    runs = _Runs(source)
    shown = choices_of(source, sides, pair)[1]
    ledgers = [] if _is_uneven(shown, sides, pair) else [runs.ledger(at, shown) for at in range(len(sides))]
    rows = waterfall(ledgers)
    data: DiffLedgerJson = {
        "names": list(LETTERS[: len(sides)]),
        "steps": [window_ns(one) for one in ledgers] or [None] * len(sides),
        "starts": [_start(one) for one in shown.rows],
        "rows": [_row_json(row) for row in rows],
        "waterfall": [{"difference_ns": one, "running_ns": sum} for one, sum in running_sums(rows, *pair)],
        "outcomes": _outcomes_json(runs.outcomes(pair)),
        "presets": _presets(source.spans[0], runs.data(0)),
    }
    return ViewResult(data)


class _Runs:
    """The runs of the captures."""

    def __init__(self, source: ViewInput) -> None:
        self._source = source
        self._data: dict[frozenset[str], RunData] = {}
        self._diagnoses: dict[frozenset[str], Diagnosis] = {}

    def _key(self, at: int) -> frozenset[str]:
        return frozenset(span.token for span in self._source.ranks_of(at))

    def data(self, at: int) -> RunData:
        """The run of a capture."""
        key = self._key(at)
        if key not in self._data:
            self._data[key] = RunData(self._source.ranks_of(at))
        return self._data[key]

    def diagnosis(self, at: int) -> Diagnosis:
        """What is known of the run of a capture."""
        key = self._key(at)
        if key not in self._diagnoses:
            self._diagnoses[key] = conclude(self.data(at))
        return self._diagnoses[key]

    def ledger(self, at: int, shown: Comparison) -> CaptureLedger:
        """The ledger of a capture; () if it has no step times, or lacks the step."""
        token = self._source.spans[at].token
        if shown.id in (MEAN, WHOLE):
            bubbles = self.diagnosis(at).bubbles
            own = [one for one in self.diagnosis(at).ledgers if one.span.token == token]
            return [DeviceLedger(one, bubbles.get((token, one.device_id))) for one in own]
        names = {row.step for row in shown.rows[at]}
        return [DeviceLedger(one) for one in self.data(at).ledgers_in(names) if names and one.span.token == token]

    def outcomes(self, pair: Pair) -> Sequence[Outcome]:
        """What became of the findings of the baseline; none within one run."""
        if self._key(pair.before) == self._key(pair.after):
            return ()
        found = [self.diagnosis(at) for at in pair]
        own = [self._longest(one.ledgers, self._source.spans[at].token) for one, at in zip(found, pair)]
        return outcomes(found[0], found[1], own[0], own[1])

    @staticmethod
    def _longest(ledgers: Sequence[RankLedger], token: str) -> Optional[RankLedger]:
        own = [one for one in ledgers if one.span.token == token]
        return max(own, key=lambda one: one.window_ns, default=None)


def _is_uneven(shown: Comparison, sides: Collection[object], pair: Pair) -> bool:
    """Whether whole captures are compared of which one has several steps: the ledger is of one step."""
    return shown.id == WHOLE and len({len({row.step for row in shown.rows[at]}) for at in pair}) > 1


def _start(rows: Sequence[Step]) -> Optional[str]:
    return next((str(row.start_ns) for row in rows if row.start_ns is not None), None)


def _row_json(row: WaterfallRow) -> WaterfallRowJson:
    return {
        "part": row.part,
        "title": row.title.as_json(),
        "times": [None if one is None else fields_of(EntryTimeJson, one) for one in row.times],
        "is_beside": row.is_beside,
    }


def _outcomes_json(found: Sequence[Outcome]) -> list[OutcomeJson]:
    entries = Counter((one.part, one.entry_before_ns) for one in found)
    return [_outcome_json(one, one.part is not None and entries[one.part, one.entry_before_ns] > 1) for one in found]


def _outcome_json(one: Outcome, is_shared: bool) -> OutcomeJson:
    finding = one.finding
    texts = {"title": title_of(finding.rule), "message": finding.message}
    return {
        "rule": finding.rule,
        "fate": one.fate,
        "promised_ns": finding.cost_ns,
        "after_ns": one.after_ns,
        "part": one.part,
        "entry_before_ns": one.entry_before_ns,
        "entry_after_ns": one.entry_after_ns,
        "saved_ns": one.saved_ns,
        "is_shared": is_shared,
        "texts": messages_of(texts),
        "title": str(texts["title"]),
        "message": str(texts["message"]),
    }


def slowest_and_median(times: Mapping[_K, int]) -> Optional[tuple[_K, _K]]:
    """The keys of the longest time and of the median of the others; None if none is longer than that."""
    slowest = max(times, key=lambda key: times[key], default=None)
    others = {key: time for key, time in times.items() if key != slowest}
    if slowest is None or not others:
        return None
    middle = median_low(others.values())
    return (slowest, next(key for key, time in others.items() if time == middle)) if times[slowest] > middle else None


def _presets(span: SpanData, run: RunData) -> list[PresetJson]:
    """Pairs of a run and of a capture."""
    return [one for one in (_rank_preset(run), _step_preset(span)) if one is not None]


def _rank_preset(run: RunData) -> Optional[PresetJson]:
    """The rank that computes longest, by the median of its pipeline stage, of at least three ranks."""
    by_stage: dict[Optional[int], dict[str, int]] = {}
    for one in run.ledgers:
        stage = by_stage.setdefault(pipeline_stage(one.span.capture), {})
        stage[one.span.token] = max(stage.get(one.span.token, 0), one.total("computing"))
    found = [(times, pair) for times in by_stage.values() if (pair := slowest_and_median(times)) is not None]
    found = [one for one in found if len(one[0]) > 2]
    if not found:
        return None
    _, (slowest, middle) = max(found, key=lambda one: one[0][one[1][0]] / max(1, one[0][one[1][1]]))
    ranks = {one.span.token: one.rank for one in run.ledgers}
    rank, other = ranks[slowest], ranks[middle]
    if rank is None or other is None:
        return None
    title = Message("run.slowest_rank", rank=rank, other=other)
    return {"kind": "rank", "title": title.as_json(), "baseline": middle, "experimental": slowest, "step": ""}


def _step_preset(span: SpanData) -> Optional[PresetJson]:
    """The longest of at least three steps of a capture."""
    times = dict[str, int]()
    for step in averaged_of_span(span, steps_and_source(span)[0]):
        if step.step is not None and step.total_ns is not None:
            times[step.step] = max(times.get(step.step, 0), step.total_ns)
    found = slowest_and_median(times) if len(times) > 2 else None
    if found is None:
        return None
    title = Message("run.slowest_step", step=found[0], other=found[1]).as_json()
    return {
        "kind": "step",
        "title": title,
        "baseline": span.token,
        "experimental": span.token,
        "step": f"{found[1]}:{found[0]}",
    }


VIEW = View(
    id="diff_ledger",
    scope="diff",
    needs=(NEEDS,),
    build=build,
    contract=DiffLedgerJson,
    params=PARAMS,
    examines=True,
    with_trace=True,
    with_ranks=True,
    is_listed=False,
)
