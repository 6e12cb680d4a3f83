"""Enumerations of the API. All but the first two are classes of plain strings.
Source: docs/facts/torch_npu_api.md, Enumerations."""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum


class ProfilerActivity(Enum):
    """What is recorded: the framework's side, the device's side."""

    CPU = 0
    NPU = 1

    def __str__(self) -> str:
        return f"ProfilerActivity.{self.name}"


class ProfilerAction(Enum):
    """What the profiler does in a step."""

    NONE = 0
    WARMUP = 1
    RECORD = 2
    RECORD_AND_SAVE = 3


class ProfilerLevel:
    """How much of the device's side is recorded."""

    Level0 = "Level0"
    Level1 = "Level1"
    Level2 = "Level2"
    Level_none = "Level_none"


class AiCMetrics:
    """The set of counters that AI cores record."""

    PipeUtilization = "ACL_AICORE_PIPE_UTILIZATION"
    ArithmeticUtilization = "ACL_AICORE_ARITHMETIC_UTILIZATION"
    Memory = "ACL_AICORE_MEMORY_BANDWIDTH"
    MemoryL0 = "ACL_AICORE_L0B_AND_WIDTH"
    MemoryUB = "ACL_AICORE_MEMORY_UB"
    ResourceConflictRatio = "ACL_AICORE_RESOURCE_CONFLICT_RATIO"
    L2Cache = "ACL_AICORE_L2_CACHE"
    MemoryAccess = "ACL_AICORE_MEMORY_ACCESS"
    AiCoreNone = "ACL_AICORE_NONE"


class ExportType:
    """Form of the result."""

    Db = "db"
    Text = "text"


class HostSystem:
    """Counters of the host."""

    CPU = "cpu"
    MEM = "mem"
    DISK = "disk"
    NETWORK = "network"
    OSRT = "osrt"
    NUMA = "numa"


def values_of(cls: type) -> Callable[[], set[str]]:
    """A function that returns the strings of one of the classes above."""
    return lambda: {value for name, value in vars(cls).items() if not name.startswith("_")}


def supported_activities() -> set[ProfilerActivity]:
    """Both activities."""
    return set(ProfilerActivity)


supported_profiler_level, supported_ai_core_metrics = values_of(ProfilerLevel), values_of(AiCMetrics)
supported_export_type, supported_host_systems = values_of(ExportType), values_of(HostSystem)
