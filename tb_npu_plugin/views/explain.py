"""Explain: what stands out in a step or a time range of a run."""

from __future__ import annotations

from typing import Optional, TypedDict

from tb_npu_plugin.analysis.findings.explain import Against, Explanation, PartKind, explain_range, explain_step
from tb_npu_plugin.analysis.findings.run_data import RunData
from tb_npu_plugin.messages import MessageJson
from tb_npu_plugin.views.base import View, ViewInput, ViewResult
from tb_npu_plugin.views.distributed import NEEDS, RankStateJson
from tb_npu_plugin.views.time_range import STEP, WITHIN, time_range, unknown_step


class RankPartsJson(TypedDict):
    """What the device of a rank did in the range, ns. The parts sum to the range, as far as it was recorded."""

    span: str
    """Token of the span."""
    name: str
    """ "rank 3"; the worker if its rank is unknown."""
    computing: int
    """Kernels compute."""
    waiting: int
    """Exposed waiting for other ranks."""
    transfer: int
    """Other exposed communication."""
    copies: int
    """Copies alone."""
    idle: int
    """Nothing runs."""
    waits_for: Optional[str]
    """Rank that it waits for longest: "5", or "local 5" for a number inside the group; null: it does not wait, or unknown."""


class KernelDifferenceJson(TypedDict):
    """Computing kernels of a type in the range, ns."""

    type: str
    """Type of the kernels; their name where no file has types."""
    ns: int
    """On the rank that stands out."""
    other_ns: int
    """What it is compared with."""


class ExplainJson(TypedDict):
    """What stands out in a step or a range; without the parameters `step` and `within` (by the clock of each rank), in the mean step."""

    sentences: list[MessageJson]
    """What an expert would say."""
    text: str
    """The same in English."""
    kind: Optional[PartKind]
    """The part that stands out, else the largest one; null without device times."""
    against: Against
    """What the rank is compared with: the median of the other ranks, or of its other steps, or its whole capture."""
    rank: Optional[int]
    """Index in `parts` of the rank that stands out; null: none does."""
    ns: int
    """Time of the part on that rank."""
    other_ns: int
    """What it is compared with."""
    parts: list[RankPartsJson]
    """The ranks with device times."""
    kernels: list[KernelDifferenceJson]
    """Kernel types of the rank by difference, at most 20."""
    ranks: list[RankStateJson]
    """Ranks that are not read, and why."""


def build(source: ViewInput) -> ViewResult:
    """See ExplainJson."""
    run, step, range_ns = RunData(source.spans), source.params.get(STEP.name, ""), time_range(source.params)
    if range_ns is not None:
        return ViewResult(
            explain_json(explain_range(run.communication, dict.fromkeys(range(len(run.communication.lines)), range_ns)))
        )
    if step and step not in run.steps:
        raise unknown_step(step)
    return ViewResult(explain_json(explain_step(run, step or None)))


def explain_json(found: Explanation) -> ExplainJson:
    """See ExplainJson."""
    parts: list[RankPartsJson] = [
        {
            "span": one.line.span.token,
            "name": one.name,
            "computing": one.parts.computing,
            "waiting": one.parts.waiting,
            "transfer": one.parts.transfer,
            "copies": one.parts.copies,
            "idle": one.parts.idle,
            "waits_for": one.awaited.most_common(1)[0][0] if one.awaited else None,
        }
        for one in found.ranks
    ]
    return {
        "sentences": [one.as_json() for one in found.sentences],
        "text": " ".join(map(str, found.sentences)),
        "kind": found.kind,
        "against": found.against,
        "rank": found.rank,
        "ns": found.ns,
        "other_ns": found.other_ns,
        "parts": parts,
        "kernels": [{"type": one.type, "ns": one.ns, "other_ns": one.other_ns} for one in found.kernels],
        "ranks": [],
    }


VIEW = View(
    id="explain",
    scope="run",
    needs=(NEEDS,),
    build=build,
    contract=ExplainJson,
    params=(STEP, WITHIN),
    with_trace=True,
    is_listed=False,
)
