"""profile: captures by schedule, and their handler.
Source: docs/facts/torch_npu_api.md, profile, schedule, tensorboard_trace_handler."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Callable

from tb_npu_plugin.capture.api import mstx
from tb_npu_plugin.capture.api.kineto import _KinetoProfile
from tb_npu_plugin.capture.api.messages import describe_error, error, info, never_raises, truth_of, warn
from tb_npu_plugin.capture.api.options import ProfilerAction, ProfilerActivity, _ExperimentalConfig
from tb_npu_plugin.capture.api.paths import PLACE

#: Parameter → smallest allowed value, which replaces one that is not allowed. skip_first_wait may be any int.
_LEAST = {"wait": 0, "warmup": 0, "active": 1, "repeat": 0, "skip_first": 0, "skip_first_wait": 0}


@dataclass(eq=False, repr=False)
class schedule:
    """Cycles of `wait`, `warmup` and `active` steps, `repeat` of them (0: without end), after `skip_first` steps.

    skip_first_wait ≠ 0: the first cycle does not wait. The attributes are named as the parameters: profiler_info lists
    them. Values that are not allowed are replaced, with a warning.
    """

    wait: int
    active: int
    warmup: int = 0
    repeat: int = 0
    skip_first: int = 0
    skip_first_wait: int = 0

    def __post_init__(self) -> None:
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
        number, at = divmod(step - self._first, self._cycle)
        if step < self.skip_first or 0 < self.repeat <= number or at < self.wait:
            return ProfilerAction.NONE
        if at < self.wait + self.warmup:
            return ProfilerAction.WARMUP
        return ProfilerAction.RECORD if at < self._cycle - 1 else ProfilerAction.RECORD_AND_SAVE

    @property
    def _cycle(self) -> int:
        return self.wait + self.warmup + self.active

    @property
    def _first(self) -> int:
        """The step that the first cycle begins with; earlier than skip_first where that cycle does not wait."""
        return self.skip_first - (self.wait if self.skip_first_wait != 0 else 0)

    def _warn_of_shortfall(self, steps: int, recorded: int) -> None:
        """Warn if a run of `steps` steps, `recorded` of them recorded, was shorter than the plan: without a repeat the
        cycles that were begun."""
        begun = max(0, steps - self._first) // self._cycle + (self(steps) is not ProfilerAction.NONE)
        cycles = self.repeat or max(1, begun)
        needed = self._first + cycles * self._cycle
        if steps < needed:
            warn(
                f"Recorded steps: {recorded} of {cycles * self.active} that the schedule plans (active={self.active}, "
                f"repeat={self.repeat}). step() was called {steps} times, the schedule needs {needed}."
            )


class profile(_KinetoProfile):
    """Records the steps that `schedule` chooses; on_trace_ready(self) is called after each capture."""

    def __init__(
        self,
        *,
        activities: Iterable[ProfilerActivity] | None = None,
        schedule: Callable[[int], Any] | None = None,
        on_trace_ready: Callable[..., Any] | None = None,
        record_shapes: bool = False,
        profile_memory: bool = False,
        with_stack: bool = False,
        with_flops: bool = False,
        with_modules: bool = False,
        experimental_config: _ExperimentalConfig | None = None,
        execution_trace_observer: Any = None,
        custom_trace_id_callback: Callable[[], str] | None = None,
        use_cuda: bool | None = None,
    ) -> None:
        chosen = _callable("schedule", schedule)
        self.schedule = chosen if chosen is not None else (lambda step: ProfilerAction.RECORD)
        self.record_steps = chosen is not None
        self.on_trace_ready = _callable("on_trace_ready", on_trace_ready)
        self.execution_trace_observer = execution_trace_observer
        self.step_num = self._step_offset = self._step_range = 0
        self.stopped = self._started = False
        self._step_is_range = True
        super().__init__(
            activities=activities,
            record_shapes=record_shapes,
            profile_memory=profile_memory,
            with_stack=with_stack,
            with_flops=with_flops,
            with_modules=with_modules,
            experimental_config=experimental_config,
            custom_trace_id_callback=custom_trace_id_callback,
        )
        self.prof_if.schedule = self.schedule  # profiler_info lists it
        self.prof_if.observer = execution_trace_observer
        if use_cuda is not None:
            warn("This is npu environment, use_cuda is invalid")
        self._schedule_failures = self._recorded_steps = 0
        self.current_action = self._action()

    def _call_handler(self) -> None:
        if self.on_trace_ready is not None:
            self.on_trace_ready(self)
            return
        parse = f"analyse({self.prof_if.prof_path!r})"
        info(f"on_trace_ready is not set: the raw data are not parsed. Parse them: {parse}")

    @never_raises(lambda: ProfilerAction.NONE)
    def _action(self) -> ProfilerAction:
        """The action of the step. A step for which the schedule fails is not recorded; the first failure is an error."""
        try:
            return _as_action(self.schedule(self.step_num))
        except Exception as problem:  # the user's function
            self._schedule_failures += 1
            if self._schedule_failures == 1:
                failed = f"The schedule failed for step {self.step_num}, steps for which it fails are not recorded"
                error(f"{failed}: {describe_error(problem)}")
            return ProfilerAction.NONE

    def _is_under_way(self) -> bool:
        return self._started and not self.stopped

    def _is_in_handler(self, function: str) -> bool:
        if self.prof_if.in_handler:
            warn(f"on_trace_ready called {function}() of its profile, which takes no effect there!")
        return self.prof_if.in_handler

    @never_raises()
    def start(self) -> None:
        """Begin with the action of the current step."""
        if self._is_copy("start") or self._is_in_handler("start"):
            return
        if self.prof_if.recording:
            warn("Profiler is already started, start takes no effect!")
            return
        self._started, self.stopped = True, False
        if self.on_trace_ready is None:
            PLACE.configure()
        else:
            PLACE.export_only = False
        self.prof_if.transit(ProfilerAction.NONE, self.current_action, self._call_handler)
        self._begin_step()

    @never_raises()
    def stop(self) -> None:
        """End: what is being recorded is written and handed to on_trace_ready."""
        if self.stopped or self._is_copy("stop"):
            return
        if not self._started:
            warn("Profiler is not started, stop takes no effect!")
            return
        self.stopped = True
        with self._given_up_if_interrupted():
            self._end_step()
            self.prof_if.transit(self.current_action, None, self._call_handler)
            failures, self._schedule_failures = self._schedule_failures, 0
            if failures > 1:
                warn(f"The schedule failed for {failures} steps, which were not recorded.")
            if isinstance(self.schedule, schedule):
                self.schedule._warn_of_shortfall(self.step_num, self._recorded_steps)

    @never_raises()
    def step(self) -> None:
        """The next step begins."""
        if self.stopped:
            warn("Profiler is stopped, step takes no effect!")
            return
        if self._is_copy("step") or self._is_in_handler("step"):
            return
        self._end_step()
        before = self.current_action
        self._recorded_steps += self.prof_if.state is ProfilerAction.RECORD
        try:
            self.step_num += 1
            self.current_action = self._action()
            self.prof_if.transit(before, self.current_action, self._call_handler)
        except BaseException:  # Ctrl-C between the two: stop() has to end the capture
            self.current_action = self.prof_if.state
            raise
        if self.stopped:  # on_trace_ready called stop()
            return
        self._started |= self.prof_if.recording  # without start(), the capture begins with the first step that records
        self._begin_step()

    def _set_step_num_offset_for_dynamic_prof(self, offset: int) -> None:
        """Number the marks of the steps from `offset`: dynamic_profile starts in the middle of a training."""
        self._step_offset, self._step_is_range = offset, False

    def _begin_step(self) -> None:
        if not self.record_steps:
            return
        number = self.step_num + self._step_offset
        self.prof_if.mark_step("step_begin", number)
        if self._step_is_range:
            self._step_range = mstx.mstx.range_start(f"ProfilerStep#{number}", mstx.CURRENT_STREAM)

    def _end_step(self) -> None:
        if not self.record_steps or not self._started:
            return
        if self._step_range:
            mstx.mstx.range_end(self._step_range)
            self._step_range = 0
        self.prof_if.mark_step("step_end", self.step_num + self._step_offset)


def _as_action(found: Any) -> ProfilerAction:
    """What a schedule returned. TypeError if it is not an action."""
    if isinstance(found, ProfilerAction):
        return found
    name: Any = getattr(found, "name", None)  # torch.profiler's schedule returns another enumeration
    if not isinstance(name, str) or name not in ProfilerAction.__members__:
        raise TypeError(f"schedule must return a ProfilerAction, not {found!r}")
    return ProfilerAction[name]


def _callable(name: str, value: Any) -> Any:
    """The value if it is callable, else None, with a warning if it is true."""
    if callable(value):
        return value
    if truth_of(value):
        warn(f"{name} is not Callable, set by default.")
    return None


@never_raises(lambda: lambda prof: None)  # nothing is parsed while msprof drives the profiling
def tensorboard_trace_handler(
    dir_name: str | None = None,
    worker_name: str | None = None,
    analyse_flag: bool = True,
    async_mode: bool = False,
    *,
    use_gzip: bool = False,
) -> Callable[[Any], None]:
    """What profile(on_trace_ready=...) takes to parse each capture.

    The call itself sets where the captures of this process go. async_mode: the training does not wait for the parsing.
    use_gzip: the vendor's guide names it and no torch_npu supports it; ignored with a warning.
    """
    if use_gzip:
        warn("use_gzip is not supported, the results are not compressed.")
    PLACE.configure(dir_name, worker_name)
    if not isinstance(analyse_flag, bool):
        warn("analyse_flag is not bool, set by default.")
        analyse_flag = True
    if not isinstance(async_mode, bool):
        warn("async_mode is not bool, set by default.")
        async_mode = False

    def handler(prof: Any) -> None:
        if analyse_flag:
            prof.prof_if.analyse(async_mode=async_mode)

    return handler
