import os
from enum import Enum

from .profiler import _KinetoProfile, profile, tensorboard_trace_handler

if os.environ.get("STANDIN_BROKEN"):
    raise OSError("libhccl.so: cannot open shared object file")


class ProfilerActivity(Enum):
    CPU = 0
    NPU = 1


class ProfilerAction(Enum):
    NONE = 0
    WARMUP = 1
    RECORD = 2
    RECORD_AND_SAVE = 3


class schedule:
    def __init__(self, wait, active, warmup=0, repeat=0, skip_first=0, skip_first_wait=0):
        self.arguments = (wait, active, warmup, repeat, skip_first, skip_first_wait)


class ProfilerLevel:
    Level0 = "Level0"


class AiCMetrics:
    PipeUtilization = "ACL_AICORE_PIPE_UTILIZATION"


class ExportType:
    Text = "text"


class _ExperimentalConfig:
    def __init__(self, profiler_level="Level0", aic_metrics=AiCMetrics.PipeUtilization, l2_cache=False, **others):
        self.profiler_level = profiler_level


class _NonIntrusiveProfile: ...


def supported_activities():
    return set(ProfilerActivity)


def supported_profiler_level():
    return {"Level0"}


def supported_ai_core_metrics():
    return {"ACL_AICORE_PIPE_UTILIZATION"}


def supported_export_type():
    return {"text"}


if not os.environ.get("STANDIN_OLD"):

    class HostSystem:
        CPU = "cpu"


__all__ = ["_KinetoProfile", "profile", "tensorboard_trace_handler"]
