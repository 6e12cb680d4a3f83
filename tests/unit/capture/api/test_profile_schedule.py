"""What the schedule and the handler of a profile may do, and the step before a capture that is sampled."""

from __future__ import annotations

from tb_npu_plugin.capture.api.enums import ProfilerAction
from tb_npu_plugin.capture.api.profile import profile
from tb_npu_plugin.capture.api.schedule import schedule
from tests.unit.capture.api.conftest import QUIET, Recorded, Said

N, _, _, S = ProfilerAction


def test_the_step_before_a_capture_without_warmup_is_sampled(recorded: Recorded) -> None:
    prof = profile(schedule=schedule(2, 1, 0, 1), on_trace_ready=lambda prof: None, experimental_config=QUIET)
    with prof:
        assert recorded.take() == []
        prof.step()
        assert recorded.take() == ["sample"]
        prof.step()
        assert recorded.take() == ["step_end 1", "prepare", "start", "step_begin 2"]
        prof.step()
        assert recorded.take() == ["step_end 2", "stop", "finalize"]
    assert len(recorded.recorders) == 1


def test_a_profile_that_stops_before_its_capture_lets_the_sample_go(recorded: Recorded) -> None:
    with profile(schedule=schedule(1, 1), on_trace_ready=lambda prof: None, experimental_config=QUIET):
        assert recorded.take() == ["sample"]
    assert recorded.take() == ["step_end 0", "discard"]


def test_a_function_of_the_users_is_not_asked_for_a_step_ahead(recorded: Recorded) -> None:
    asked: list[int] = []

    def chosen(step: int) -> ProfilerAction:
        asked.append(step)
        return ProfilerAction.RECORD_AND_SAVE if step else ProfilerAction.NONE

    with profile(schedule=chosen, on_trace_ready=lambda prof: None, experimental_config=QUIET):
        assert asked == [0] and recorded.take() == []


def test_a_schedule_that_fails(recorded: Recorded, said: Said) -> None:
    def plan(step: int) -> ProfilerAction:
        if step == 1:
            raise KeyError("mine")
        return S if step < 3 else "RECORD"  # type: ignore[return-value]

    prof = profile(schedule=plan, on_trace_ready=lambda prof: None, experimental_config=QUIET)
    prof.start()
    for _ in range(6):
        prof.step()
    assert [text for kind, text in said() if kind == "ERROR"] == [
        "The schedule failed for step 1, steps for which it fails are not recorded: KeyError: 'mine'"
    ]
    prof.stop()
    assert said() == [("WARNING", "The schedule failed for 5 steps, which were not recorded.")]
    assert recorded.take().count("finalize") == 2


def test_a_handler_that_stops_its_profile(recorded: Recorded, said: Said) -> None:
    prof = profile(schedule=lambda step: S, on_trace_ready=lambda prof: prof.stop(), experimental_config=QUIET)
    with prof:
        recorded.take()
        for _ in range(2):
            prof.step()
        assert [entry for entry in recorded.take() if "step" not in entry] == ["stop", "finalize"]
        assert not prof.prof_if.recording
    assert said() == [("WARNING", "Profiler is stopped, step takes no effect!")]


def test_a_schedule_that_gives_no_action(recorded: Recorded, said: Said) -> None:
    prof = profile(schedule=lambda step: "RECORD", experimental_config=QUIET)  # type: ignore[arg-type,return-value]
    [(kind, text)] = said()
    assert kind == "ERROR"
    assert text.endswith("schedule must return a ProfilerAction, not 'RECORD'")
    prof.start()
    prof.stop()
    assert said() == []  # reported already


def test_the_schedule_of_torch(recorded: Recorded) -> None:
    from enum import Enum

    theirs = Enum("ProfilerAction", ["NONE", "WARMUP", "RECORD", "RECORD_AND_SAVE"])
    prof = profile(
        schedule=lambda step: theirs.RECORD_AND_SAVE if step else theirs.NONE,
        on_trace_ready=lambda prof: None,
        experimental_config=QUIET,
    )
    assert prof.current_action is N
    with prof:
        prof.step()
        assert prof.current_action is S


def test_a_failing_sample_does_not_end_the_capture(recorded: Recorded, said: Said) -> None:
    recorded.fail["sample"] = RuntimeError("busy")
    with profile(schedule=schedule(1, 1, 0, 1), on_trace_ready=lambda prof: None, experimental_config=QUIET) as prof:
        prof.step()
        prof.step()
    assert recorded.take() == ["sample", "prepare", "start", "step_begin 1", "step_end 1", "stop", "finalize"]
    assert ("WARNING", "The step before the capture is not sampled: busy") in said()


def test_a_handler_that_drives_its_profile(recorded: Recorded, said: Said) -> None:
    def ready(prof: profile) -> None:
        prof.step()
        prof.start()

    with profile(schedule=schedule(0, 1, 1), on_trace_ready=ready, experimental_config=QUIET) as prof:
        prof.step()
        said()
        prof.step()
        assert [text.split("of")[0] for _, text in said()] == [
            "on_trace_ready called step() ",
            "on_trace_ready called start() ",
        ]
        assert (prof.step_num, prof.prof_if.recording) == (2, True)
