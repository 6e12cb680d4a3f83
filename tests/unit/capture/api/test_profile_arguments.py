"""Arguments of profile: what they may be, and what is said of others."""

from __future__ import annotations

from typing import Any

import pytest

from tb_npu_plugin.capture.api.enums import AiCMetrics, ProfilerAction, ProfilerActivity, supported_activities
from tb_npu_plugin.capture.api.experimental_config import _ExperimentalConfig
from tb_npu_plugin.capture.api.profile import profile
from tb_npu_plugin.capture.api.schedule import schedule
from tests.unit.capture.api.conftest import QUIET, Recorded, Said, Truthless

N, W, R, S = ProfilerAction
CPU, NPU = ProfilerActivity
DEFAULT_WARNING = (
    "WARNING",
    "Please use level1 or level2 if you want to collect aic metrics, reset aic metrics to None!",
)


def _bool(name: str) -> list[str]:
    return [f"Parameter {name} is of boolean type, reset it to False."]


ACTIVITIES = "Invalid activities, only CPU and NPU are supported, reset it to default."
SCHEDULE = "schedule is not Callable, set by default."
HANDLER = "on_trace_ready is not Callable, set by default."
UNUSED = "Experimental config will not be used while ProfilerActivity.NPU is not set."


#: Argument, stored in prof_if (or in the profile), printed.
ROWS: list[tuple[dict[str, Any], dict[str, Any], list[str]]] = [
    ({"activities": None}, {"activities": {CPU, NPU}}, []),
    ({"activities": []}, {"activities": {CPU, NPU}}, []),
    ({"activities": [NPU]}, {"activities": {NPU}}, []),
    ({"activities": iter([CPU, NPU])}, {"activities": {CPU, NPU}}, []),
    ({"activities": [CPU]}, {"activities": {CPU}}, [UNUSED]),
    ({"activities": [CPU, "GPU"]}, {"activities": {CPU, NPU}}, [ACTIVITIES]),
    ({"activities": 5}, {"activities": {CPU, NPU}}, [ACTIVITIES]),
    ({"record_shapes": 1}, {"record_shapes": False}, _bool("record_shapes")),
    ({"profile_memory": None}, {"profile_memory": False}, _bool("profile_memory")),
    ({"with_stack": "yes"}, {"with_stack": False}, _bool("with_stack")),
    ({"with_flops": 0}, {"with_flops": False}, _bool("with_flops")),
    ({"with_modules": []}, {"with_modules": False}, _bool("with_modules")),
    ({"with_modules": True}, {"with_modules": True}, []),
    ({"activities": Truthless()}, {"activities": {CPU, NPU}}, [ACTIVITIES]),
    ({"schedule": 3}, {}, [SCHEDULE]),
    ({"schedule": 0}, {}, []),
    ({"schedule": Truthless()}, {}, [SCHEDULE]),
    ({"on_trace_ready": "x"}, {}, [HANDLER]),
    ({"on_trace_ready": Truthless()}, {}, [HANDLER]),
    ({"use_cuda": False}, {}, ["This is npu environment, use_cuda is invalid"]),
    ({"custom_trace_id_callback": 1}, {}, ["Parameter custom_trace_id_callback is not callable, reset it to default."]),
]


@pytest.mark.parametrize(("arguments", "stored", "lines"), ROWS)
def test_validation(arguments: dict[str, Any], stored: dict[str, Any], lines: list[str], said: Said) -> None:
    prof = profile(**{"experimental_config": QUIET, **arguments})
    assert {name: getattr(prof.prof_if, name) for name in stored} == stored
    assert said() == [("WARNING", line) for line in lines]


def test_validation_of_the_config(said: Said) -> None:
    prof = profile(experimental_config={"level": 1})  # type: ignore[arg-type]
    assert isinstance(prof.prof_if.experimental_config, _ExperimentalConfig)
    assert said() == [
        ("WARNING", "Parameter experimental_config is an instance of _ExperimentalConfig, reset it to default."),
        DEFAULT_WARNING,
    ]
    profile()
    assert said() == [DEFAULT_WARNING]
    config = _ExperimentalConfig(aic_metrics=AiCMetrics.AiCoreNone, gc_detect_threshold=1)
    profile(activities=[NPU], experimental_config=config)
    assert said() == [("WARNING", "GC detect will not take effect while ProfilerActivity.CPU is not set.")]


#: Arguments of the config, what is named.
NOT_SIMULATED: list[tuple[dict[str, Any], str]] = [
    ({"record_op_args": True}, "record_op_args"),
    ({"op_attr": True, "export_type": "db"}, "op_attr"),
    ({"op_attr": True, "export_type": "db", "host_sys": ["cpu"], "sys_io": True}, "op_attr, host_sys"),
]


@pytest.mark.parametrize(("arguments", "named"), NOT_SIMULATED)
def test_settings_that_are_not_simulated_are_reported(arguments: dict[str, Any], named: str, said: Said) -> None:
    profile(experimental_config=_ExperimentalConfig(aic_metrics=AiCMetrics.AiCoreNone, **arguments))
    assert said() == [("WARNING", f"The simulated device records nothing for {named}: no file comes of it.")]


def test_attributes(recorded: Recorded) -> None:
    plan = schedule(1, 1, 1)
    prof = profile(schedule=plan, experimental_config=QUIET)
    assert (prof.step_num, prof.current_action, prof.schedule, prof.stopped) == (0, N, plan, False)
    assert prof.metadata == {}
    with prof as same:
        assert same is prof
        prof.step()
        assert (prof.step_num, prof.current_action) == (1, W)
    assert prof.stopped
    assert prof.prof_if.activities == supported_activities()
