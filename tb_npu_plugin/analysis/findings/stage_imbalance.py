"""Pipeline stages that compute for different times: the others wait for the slowest."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Optional

from tb_npu_plugin.analysis.findings.fixes import Fix
from tb_npu_plugin.analysis.findings.model import Confidence, Evidence, Finding, Rule, Subject, Unchecked
from tb_npu_plugin.analysis.findings.pipeline import StageTimes, layers_of, micro_batches, stage_times
from tb_npu_plugin.analysis.findings.run_data import RunData
from tb_npu_plugin.analysis.findings.text import duration, percent
from tb_npu_plugin.analysis.ledger.bubble import saved_by_equal_stages
from tb_npu_plugin.messages import Message

#: Least relative distance of the slowest stage to the mean of the others.
_LEAST_EXCESS = 0.05
#: Least cost, as a share of the step.
_LEAST_SHARE = 0.01
#: By the place of the stage in the pipeline.
_FIRST, _LAST, _MIDDLE = (
    Fix("fix.stage_imbalance", megatron=code, mindspore="fix.stage_imbalance.mindspore")
    for code in ("fix.stage_imbalance.first", "fix.stage_imbalance.last", "fix.stage_imbalance.middle")
)
_LAYERS = Fix("fix.stage_imbalance.layers")


def find(run: RunData) -> list[Finding]:
    """The stage that computes longest, if it exceeds the others."""
    times = stage_times(run)
    if len(times) < 2:
        return []
    slowest = max(times, key=lambda stage: times[stage].computing)
    others = [one for stage, one in times.items() if stage != slowest]
    mean = sum(one.computing for one in others) / len(others)
    if mean <= 0 or times[slowest].computing <= mean * (1 + _LEAST_EXCESS):
        return []
    cost = _cost(times, slowest, micro_batches(run))
    if cost < _LEAST_SHARE * run.step_ns:
        return []
    return [
        Finding(
            rule=RULE.id,
            category=RULE.category,
            subject=Subject(stage=slowest),
            message=Message(
                "finding.stage_imbalance",
                stage=slowest,
                time=duration(times[slowest].computing),
                share=percent(times[slowest].computing / mean - 1),
                mean=duration(mean),
            ),
            cost_ns=cost,
            part="bubble",
            confidence=Confidence("confirmed", len(run.lines)),
            evidence=(Evidence("distributed"),),
            fix=advice(run, slowest, times),
            check=Message("check.stage_imbalance"),
        )
    ]


def _cost(times: Mapping[int, StageTimes], slowest: int, batches: int) -> int:
    """What equal stages would save, ns: layers that move take their communication along. 0 if another stage works longer."""
    works = [one.work for one in times.values()]
    if times[slowest].work < max(works):
        return 0
    computing = saved_by_equal_stages([one.computing for one in times.values()], batches)
    with_layers = computing * times[slowest].work / times[slowest].computing
    return round(min(with_layers, saved_by_equal_stages(works, batches)))


def advice(run: RunData, stage: int, times: Mapping[int, StageTimes]) -> tuple[Message, ...]:
    """Which layers to move: so many that the stage computes as long as the mean. A layer takes as long as on the stage where it
    takes least: embeddings and the loss are no layers."""
    place = _FIRST if stage == 1 else _LAST if stage == run.stage_count else _MIDDLE
    layers = {one: layers_of(run, one) for one in times}
    if not all(layers.values()):
        return place.of(run, stage=stage)
    taken = min(one.computing / layers[other] for other, one in times.items())
    mean = sum(one.computing for one in times.values()) / len(times)
    count = min(round((times[stage].computing - mean) / taken), layers[stage] - 1)
    if count < 1:
        return place.of(run, stage=stage)
    return (*_LAYERS.of(run, stage=stage, count=count, layers=layers[stage]), *place.of(run, stage=stage))


def missing(run: RunData) -> Optional[Unchecked]:
    """Ranks of two stages or more."""
    if len(stage_times(run)) > 1 or not run.has_pipeline_waits:
        return None
    return Unchecked(RULE.id, Message("unchecked.no_stages"), "")


RULE = Rule("stage_imbalance", "ranks", find, missing, needs_ranks=True)
