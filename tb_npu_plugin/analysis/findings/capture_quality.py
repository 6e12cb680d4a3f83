"""What makes the figures of a capture less reliable than they could be."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Optional

from tb_npu_plugin.analysis.findings.fixes import Fix
from tb_npu_plugin.analysis.findings.model import Confidence, Evidence, Finding, Rule, Subject, Unchecked
from tb_npu_plugin.analysis.findings.run_data import RunData, median_of
from tb_npu_plugin.analysis.findings.text import duration, percent
from tb_npu_plugin.messages import Message
from tb_npu_plugin.schema.serving import ENGINES

#: Levels without types, shapes and counters of kernels.
_LOW_LEVELS = ("Level_none", "Level0")
#: A first step this much longer than the median of the others is warm-up; least number of steps to tell.
_WARM_UP, _LEAST_STEPS = 1.5, 3
#: Idle share of the step from which what slows the host matters.
_LEAST_IDLE = 0.1
_STEPS_FIX = Fix(
    "fix.capture_quality.steps",
    torch="fix.capture_quality.steps.schedule",
    mindspore="fix.capture_quality.steps.schedule",
)
_FEW_ITERATIONS_FIX = Fix("fix.capture_quality.steps")
_ITERATIONS_FIX = Fix(
    "fix.capture_quality.iterations",
    torch="fix.capture_quality.iterations.npu",
    gpu="fix.capture_quality.iterations.gpu",
)
_WARM_UP_FIX = Fix(
    "fix.capture_quality.warm_up",
    torch="fix.capture_quality.warm_up.schedule",
    mindspore="fix.capture_quality.warm_up.schedule",
)
_LEVEL_FIX = Fix(
    "fix.capture_quality.level",
    torch="fix.capture_quality.level.torch",
    mindspore="fix.capture_quality.level.mindspore",
)
_OVERHEAD_FIX = Fix("fix.capture_quality.overhead")


def find(run: RunData) -> list[Finding]:
    """One finding for each defect of the capture."""
    return [_finding(message, fix) for message, fix in _defects(run)] if run.step_ns else []


def _finding(message: Message, fix: tuple[Message, ...]) -> Finding:
    return Finding(
        rule=RULE.id,
        category=RULE.category,
        subject=Subject(),
        message=message,
        cost_ns=0,
        part="preparing",
        confidence=Confidence("measured"),
        evidence=(Evidence("doctor"),),
        fix=fix,
    )


def _defects(run: RunData) -> Iterator[tuple[Message, tuple[Message, ...]]]:
    """(what is wrong, what to do)."""
    times = [time for step, time in run.step_times if step is not None]
    if run.period == "capture":
        yield Message("finding.capture_quality.no_steps"), _iterations_fix(run)
    if not run.recorded.has_npu:
        return
    if len(times) == 1:
        yield Message("finding.capture_quality.steps"), (_FEW_ITERATIONS_FIX if run.iterations else _STEPS_FIX).of(run)
    if not run.iterations and len(times) >= _LEAST_STEPS and times[0] >= _WARM_UP * median_of(times[1:]) > 0:
        excess = percent(times[0] / median_of(times[1:]) - 1)
        first = run.step_times[0][0] or "–"
        yield (
            Message("finding.capture_quality.warm_up", step=first, time=duration(times[0]), share=excess),
            _WARM_UP_FIX.of(run),
        )
    level = next((span.capture.level for span in run.spans if span.capture.level in _LOW_LEVELS), None)
    if level is not None:
        yield Message("finding.capture_quality.level", level=level), _LEVEL_FIX.of(run)
    idle = max((line.free or 0 for line in run.lines), default=0) / run.step_count / run.step_ns
    slowing = ", ".join(_overhead(run))
    if slowing and idle >= _LEAST_IDLE:
        yield (
            Message("finding.capture_quality.overhead", options=slowing, share=percent(idle)),
            _OVERHEAD_FIX.of(run, options=slowing),
        )


def _iterations_fix(run: RunData) -> tuple[Message, ...]:
    """What records steps, or iterations of the engines that run on the device."""
    own = [one for one in ENGINES if ("GPU" if run.recorded.is_of_gpu else "NPU") in one.devices]
    names = ", ".join(one.name for one in own if not one.setting)
    settings = {
        key: value for one in own if one.setting for key, value in (("engine", one.name), ("setting", one.setting))
    }
    return _ITERATIONS_FIX.of(run, engines=names, **settings)


def _overhead(run: RunData) -> Iterator[str]:
    """Options of the profiler that slow the host."""
    if any(span.capture.switches.get("with_stack") for span in run.spans):
        yield "with_stack=True"
    if any(span.capture.level == "Level2" for span in run.spans):
        yield "profiler_level=ProfilerLevel.Level2"


def missing(run: RunData) -> Optional[Unchecked]:
    """Nothing: what is missing is what it reports."""
    return None


RULE = Rule("capture_quality", "capture", find, missing)
