"""Diagnosis of a run: the verdict, the findings by cost, and what could not be checked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Literal, Optional, TypedDict, Union

from tb_npu_plugin.analysis.comparison.excess import Excess, KernelExcess
from tb_npu_plugin.analysis.findings.diagnose import Diagnosis, diagnose
from tb_npu_plugin.analysis.findings.ledger_rows import SHORTENS, LedgerKind
from tb_npu_plugin.analysis.findings.model import Confidence, Evidence, Finding, Unchecked, UncheckedReason
from tb_npu_plugin.analysis.findings.verdict import title_of
from tb_npu_plugin.analysis.ledger.model import Entry, RankLedger
from tb_npu_plugin.analysis.ranks.world import pipeline_stage
from tb_npu_plugin.analysis.steps.iterations import IterationGroup
from tb_npu_plugin.messages import MessageJson, Period, messages_of
from tb_npu_plugin.views.base import Param, View, ViewInput, ViewResult, fields_of
from tb_npu_plugin.views.distributed import NEEDS, RankStateJson
from tb_npu_plugin.views.ledger_layout import LayoutJson, layout_of
from tb_npu_plugin.views.time_range import STEP, unknown_step

#: Version of DiagnosisJson; it changes when a field changes its meaning or goes.
SCHEMA = 2


class StepTimeJson(TypedDict):
    """Length of a step."""

    step: Optional[str]
    """Step number; null if steps are not marked."""
    ms: float
    """Step time of the longest rank."""


class VerdictJson(TypedDict):
    """One sentence for the run."""

    kind: Literal["loss", "unexplained", "healthy", "unknown"]
    """What the largest part of the step but computing is: a loss, or time whose cause was not recorded. "healthy": no rank
    loses much. "unknown": no step times."""

    rule: str
    """Rule of the finding that explains the largest loss; "loss" if none does, "unexplained" if its cause was not recorded,
    "healthy", or "unknown" without step times."""
    code: str
    """Code of the message."""
    params: dict[str, Union[str, int, MessageJson]]
    """Parameters of the message."""
    message: str
    """The sentence in English."""
    conclusion: str
    """The part of the sentence that the ledger does not show: the loss, why, and what could be saved."""
    ms_per_step: float
    """Time at stake of that finding."""
    share: Optional[float]
    """Its share of step time, from 0 to 1; null without step times."""
    texts: dict[str, MessageJson]
    """Code and parameters of `message` and `conclusion`."""


class FindingJson(TypedDict):
    """One conclusion."""

    rule: str
    """Id of the rule."""
    title: str
    """Title of the rule."""
    category: str
    """Subject area."""
    severity: Literal["high", "medium", "low"]
    """High from 5 % of step time, medium from 3 %."""
    confidence: Confidence
    """How sure it is."""
    kind: Literal["measured", "upper bound"]
    """Whether the cost is measured, or at most this."""
    subject: dict[str, Union[str, int, list[int]]]
    """What it is about: rank, worker, stage, step, group, operator, kernel, link ([source, destination]). Absent fields are
    left out; ranks are numbers of the job."""
    code: str
    """Code of the message."""
    params: dict[str, Union[str, int, MessageJson]]
    """Parameters of the message."""
    message: str
    """The sentence in English."""
    ms_per_step: float
    """Time at stake."""
    evidence: list[Evidence]
    """Places that show it."""
    fix: list[str]
    """What to do."""
    check: str
    """How to see that it helped."""
    shortens: list[LedgerKind]
    """Entries of the ledger that it would shorten, the likeliest first; "before": the time before the first task."""
    causes: list[str]
    """Rules whose findings explain this one; their cost contains its cost."""
    texts: dict[str, MessageJson]
    """Code and parameters of `title`, `message`, `check` and the entries of `fix` ("fix.0")."""


class UncheckedJson(TypedDict):
    """A rule that could not run, or has nothing to check."""

    rule: str
    """Id of the rule."""
    title: str
    """Title of the rule."""
    reason: UncheckedReason
    """ "not_recorded", or "not_applicable": no such device, one rank only, no backward pass."""
    missing: str
    """What is missing; why it does not apply."""
    option: str
    """Profiler option that records it; "" if none does."""
    texts: dict[str, MessageJson]
    """Code and parameters of `title` and `missing`."""


class LedgerJson(TypedDict):
    """Where the mean step of a rank, or of one of its devices, went; or the chosen step."""

    worker: str
    """Name of the worker."""
    rank: Optional[int]
    """Rank in the job."""
    device_id: Optional[int]
    """Device; null if the rank has one."""
    window_ns: int
    """From the first to the last task."""
    before_ns: int
    """Before the first task, beside the window."""
    after_ns: int
    """From the last task to the end of the step's mark on the host, beside the window."""
    outside_ns: int
    """Time of the step that neither the window nor its marks cover: by its recorded length, or by the longest rank."""
    between_ns: int
    """Between iterations of a serving engine, per iteration, beside the window; 0 for steps."""
    hidden_ns: int
    """Communication beside computing: a memo, inside computing."""
    entries: list[Entry]
    """Its parts."""


class DiagnosisJson(TypedDict):
    """What holds a run up, who, how much it costs and what to do. Parameter `step`: the step of `ledger`, `ledgers` and `layout`, in
    place of the mean step; all else stays."""

    schema: int
    """Version of this contract."""
    run: str
    """Name of the run."""
    steps: list[StepTimeJson]
    """All steps."""
    mean_step_ms: float
    """Mean step time of the longest rank of each whole step; of one repeat in a capture without marked steps. 0 if unknown. The
    mean step of one rank is `window_ns` of its ledger."""
    mean_steps: int
    """Steps in the mean: a computed last step ends with its last task, is cut, and is left out."""
    repeats: Optional[int]
    """How often a capture without marked steps repeats its work, 1 if it does not; null with marked steps."""
    period: Period
    """What the mean is of: a step, an iteration of a serving engine, the capture, or one of its repeats."""
    iterations: list[IterationGroup]
    """Iterations of a serving engine by phase and number of requests, the phase with the most device time first: the mean is of
    that phase. [] for steps. Of the first rank that has any."""
    at_stake_ms_per_step: float
    """Time at stake of all findings together; time that several of them share counts once."""
    verdict: VerdictJson
    """One sentence."""
    step: Optional[str]
    """The step of the ledgers; null: the mean step."""
    ledger: Optional[LedgerJson]
    """Of the rank that the verdict is about; null without step times."""
    ledgers: list[LedgerJson]
    """By rank."""
    layout: LayoutJson
    """The tables of the ledgers, as the page and the report draw them; the command line leaves them out."""
    excess: Optional[ExcessJson]
    """What the ranks that others wait for run longer; null if none of them was profiled."""
    findings: list[FindingJson]
    """The highest cost first."""
    unchecked: list[UncheckedJson]
    """Rules that could not run, or have nothing to check."""
    checked: int
    """Number of rules that ran."""
    ranks: list[RankStateJson]
    """Ranks that are not read, or not completely (state "ready"), and why."""


def build(source: ViewInput) -> ViewResult:
    """See DiagnosisJson."""
    step = source.params.get(STEP.name) or None
    found = diagnose(source.spans, step)
    if step is not None and step not in [name for name, _ in found.steps]:
        raise unknown_step(step)
    data: DiagnosisJson = {
        "schema": SCHEMA,
        "run": source.spans[0].run_label if source.spans else "",
        "steps": [{"step": step, "ms": _ms(time)} for step, time in found.steps],
        "mean_step_ms": _ms(found.step_ns),
        "mean_steps": found.mean_steps,
        "repeats": found.repeats,
        "period": found.period,
        "iterations": list(found.iterations),
        "at_stake_ms_per_step": _ms(found.at_stake_ns),
        "verdict": _verdict_json(found),
        "step": step,
        "ledger": _judged_ledger(found),
        "ledgers": [_ledger_json(one) for one in found.ledgers],
        "layout": layout_of(found),
        "excess": excess_json(found.excess, found.ledgers),
        "findings": [_finding_json(one, found) for one in found.findings],
        "unchecked": [_unchecked_json(one) for one in found.unchecked],
        "checked": found.checked,
        "ranks": [],
    }
    return ViewResult(data)


def _ledger_json(ledger: RankLedger) -> LedgerJson:
    return fields_of(LedgerJson, ledger, worker=ledger.span.worker_label, entries=list(ledger.entries))


def _judged_ledger(found: Diagnosis) -> Optional[LedgerJson]:
    """The ledger of the rank that the verdict is about."""
    judged = found.verdict.ledger
    if judged is not None and found.step is not None:
        place = judged.span.token, judged.device_id
        judged = next((one for one in found.ledgers if (one.span.token, one.device_id) == place), None)
    return None if judged is None else _ledger_json(judged)


def _ms(ns: int) -> float:
    return ns / 1e6


def _verdict_json(found: Diagnosis) -> VerdictJson:
    verdict, message = found.verdict, found.verdict.message.as_json()
    texts = {"message": verdict.message, "conclusion": verdict.conclusion}
    said = {name: str(text) for name, text in texts.items()}
    return fields_of(
        VerdictJson, verdict, **message, **said, ms_per_step=_ms(verdict.cost_ns), texts=messages_of(texts)
    )


def _finding_json(one: Finding, found: Diagnosis) -> FindingJson:
    check, message, title = one.check or "", one.message.as_json(), title_of(one.rule)
    texts = {
        "title": title,
        "message": one.message,
        "check": check,
        **{f"fix.{at}": text for at, text in enumerate(one.fix)},
    }
    return {
        "rule": one.rule,
        "title": str(title),
        "category": one.category,
        "severity": found.severity(one),
        "confidence": one.confidence,
        "kind": one.cost_kind,
        "subject": {key: value for key, value in asdict(one.subject).items() if value is not None},
        "code": message["code"],
        "params": message["params"],
        "message": str(one.message),
        "ms_per_step": _ms(one.cost_ns),
        "evidence": list(one.evidence),
        "fix": [str(text) for text in one.fix],
        "check": str(check),
        "shortens": list(SHORTENS[one.part]),
        "causes": list(one.causes),
        "texts": messages_of(texts),
    }


def _unchecked_json(one: Unchecked) -> UncheckedJson:
    texts = {"title": title_of(one.rule), "missing": one.missing, "option": one.option}
    said = {"title": str(texts["title"]), "missing": str(one.missing)}
    return fields_of(UncheckedJson, one, **said, texts=messages_of(texts))


VIEW = View(
    id="diagnosis",
    scope="run",
    needs=(NEEDS,),
    build=build,
    contract=DiagnosisJson,
    params=(Param("step", doc="The step of the ledgers; empty: the mean step."),),
    examines=True,
    with_trace=True,
    is_listed=False,
)


#: Most kernels that ExcessJson lists.
MOST_KERNELS = 100


class ExcessJson(TypedDict):
    """What the awaited ranks run longer than the others."""

    ranks: list[int]
    """The awaited ranks."""
    stage: Optional[int]
    """Their pipeline stage, if it is awaited as a whole."""
    kind: Literal["clock", "kernel", "work", ""]
    """"clock": all kernels take longer by about the same factor. "kernel": the first one takes longer. "work": other kernels, or
    more of them. "": they do not compute longer."""
    factor: Optional[float]
    """Time by that of the others, of all kernels or of the first one."""
    kernels: list[KernelExcess]
    """The largest excess first; at most 100."""
    left_out: int
    """Kernels that are left out."""
    ns: int
    """All computing kernels in a step, mean of the awaited ranks, ns."""
    other_ns: int
    """The same, median of the others."""


def excess_json(excess: Optional[Excess], ledgers: Sequence[RankLedger]) -> Optional[ExcessJson]:
    """See ExcessJson."""
    if excess is None:
        return None
    rows = list(excess.rows[:MOST_KERNELS])
    stages = {pipeline_stage(one.span.capture) for one in ledgers if one.rank in excess.ranks}
    whole = [one.rank for one in ledgers if pipeline_stage(one.span.capture) in stages]
    return fields_of(
        ExcessJson,
        excess,
        stage=stages.pop() if len(stages) == 1 and {*whole} == {*excess.ranks} else None,
        kernels=rows,
        left_out=len(excess.rows) - len(rows),
        ns=excess.whole.ns,
        other_ns=excess.whole.other_ns,
    )
