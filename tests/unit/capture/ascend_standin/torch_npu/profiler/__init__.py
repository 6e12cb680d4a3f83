import os
from enum import Enum

from .experimental_config import (
    AiCMetrics,
    ExportType,
    ProfilerLevel,
    _ExperimentalConfig,
    supported_ai_core_metrics,
    supported_export_type,
    supported_profiler_level,
)
from .profiler import ProfilerActivity, _KinetoProfile, profile, supported_activities, tensorboard_trace_handler  # noqa: F401

if os.environ.get("STANDIN_BROKEN"):
    raise OSError("libhccl.so: cannot open shared object file")


class ProfilerAction(Enum):
    NONE = 0
    WARMUP = 1
    RECORD = 2
    RECORD_AND_SAVE = 3


class schedule:
    def __init__(self, wait, active, warmup=0, repeat=0, skip_first=0, skip_first_wait=0):
        self.arguments = (wait, active, warmup, repeat, skip_first, skip_first_wait)

    def __call__(self, step): ...


class _NonIntrusiveProfile:
    @staticmethod
    def init(): ...


if not os.environ.get("STANDIN_OLD"):
    from .experimental_config import HostSystem

__all__ = [
    "profile",
    "ProfilerActivity",
    "supported_activities",
    "tensorboard_trace_handler",
    "schedule",
    "ProfilerAction",
    "_ExperimentalConfig",
    "supported_profiler_level",
    "supported_ai_core_metrics",
    "supported_export_type",
    "ProfilerLevel",
    "AiCMetrics",
    "ExportType",
    "HostSystem",
]
