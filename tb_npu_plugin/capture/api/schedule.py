"""The action of each step (docs/facts/torch_npu_api.md, schedule)."""

from __future__ import annotations

from typing import Any

from tb_npu_plugin.capture.api.enums import ProfilerAction
from tb_npu_plugin.capture.api.messages import warn

#: Parameter → smallest allowed value, which replaces one that is not allowed. skip_first_wait may be any int.
_LEAST = {"wait": 0, "warmup": 0, "active": 1, "repeat": 0, "skip_first": 0, "skip_first_wait": 0}


class schedule:
    """Cycles of `wait`, `warmup` and `active` steps, `repeat` of them (0: without end), after `skip_first` steps.

    skip_first_wait ≠ 0: the first cycle does not wait. The attributes are named as the parameters: profiler_info lists
    them. Values that are not allowed are replaced, with a warning.
    """

    def __init__(
        self, wait: int, active: int, warmup: int = 0, repeat: int = 0, skip_first: int = 0, skip_first_wait: int = 0
    ) -> None:
        self.wait = wait
        self.active = active
        self.warmup = warmup
        self.repeat = repeat
        self.skip_first = skip_first
        self.skip_first_wait = skip_first_wait
        for name, least in _LEAST.items():
            value: Any = getattr(self, name)
            if not isinstance(value, int) or (value < least and name != "skip_first_wait"):
                warn(f"Invalid parameter {name}, reset it to {least}.")
                setattr(self, name, least)
        if self.warmup == 0:
            warn("Profiler won't be using warmup, this can skew profiler results")

    def __call__(self, step: int) -> ProfilerAction:
        """The action of a step; ValueError for a negative one."""
        if step < 0:
            raise ValueError("Invalid parameter step, which must be not less than 0.")
        if step < self.skip_first:
            return ProfilerAction.NONE
        step -= self.skip_first
        if self.skip_first_wait != 0:
            step += self.wait
        cycle = self.wait + self.warmup + self.active
        if self.repeat > 0 and step >= self.repeat * cycle:
            return ProfilerAction.NONE
        at = step % cycle
        if at < self.wait:
            return ProfilerAction.NONE
        if at < self.wait + self.warmup:
            return ProfilerAction.WARMUP
        return ProfilerAction.RECORD if at < cycle - 1 else ProfilerAction.RECORD_AND_SAVE


def shortfall(plan: schedule, steps: int, recorded: int) -> str:
    """What a run of `steps` steps, `recorded` of them recorded, lacks of the plan; "" if it was long enough.

    Without a repeat the plan is the cycles that were begun.
    """
    cycle = plan.wait + plan.warmup + plan.active
    before = plan.skip_first - (plan.wait if plan.skip_first_wait != 0 else 0)
    begun = max(0, steps - before) // cycle + (plan(steps) is not ProfilerAction.NONE)
    cycles = plan.repeat or max(1, begun)
    needed = before + cycles * cycle
    if steps >= needed:
        return ""
    return (
        f"Recorded steps: {recorded} of {cycles * plan.active} that the schedule plans (active={plan.active}, "
        f"repeat={plan.repeat}). step() was called {steps} times, the schedule needs {needed}."
    )


def default_schedule(_: int) -> ProfilerAction:
    """Without a schedule: record always."""
    return ProfilerAction.RECORD


def as_action(found: Any) -> ProfilerAction:
    """What a schedule returned. TypeError if it is not an action."""
    if isinstance(found, ProfilerAction):
        return found
    name: Any = getattr(found, "name", None)  # torch.profiler's schedule returns another enumeration
    if not isinstance(name, str) or name not in ProfilerAction.__members__:
        raise TypeError(f"schedule must return a ProfilerAction, not {found!r}")
    return ProfilerAction[name]
