from __future__ import annotations

from tb_npu_plugin.capture.api import enums

METRICS = {
    "PipeUtilization": "ACL_AICORE_PIPE_UTILIZATION",
    "ArithmeticUtilization": "ACL_AICORE_ARITHMETIC_UTILIZATION",
    "Memory": "ACL_AICORE_MEMORY_BANDWIDTH",
    "MemoryL0": "ACL_AICORE_L0B_AND_WIDTH",
    "MemoryUB": "ACL_AICORE_MEMORY_UB",
    "ResourceConflictRatio": "ACL_AICORE_RESOURCE_CONFLICT_RATIO",
    "L2Cache": "ACL_AICORE_L2_CACHE",
    "MemoryAccess": "ACL_AICORE_MEMORY_ACCESS",
    "AiCoreNone": "ACL_AICORE_NONE",
}


def test_activities_print_as_the_native_enum() -> None:
    assert [str(item) for item in enums.ProfilerActivity] == ["ProfilerActivity.CPU", "ProfilerActivity.NPU"]
    assert enums.supported_activities() == {enums.ProfilerActivity.CPU, enums.ProfilerActivity.NPU}


def test_actions_have_the_documented_values() -> None:
    names = ["NONE", "WARMUP", "RECORD", "RECORD_AND_SAVE"]
    assert [(item.name, item.value) for item in enums.ProfilerAction] == list(zip(names, range(4)))


def test_the_others_are_strings() -> None:
    assert {name: getattr(enums.AiCMetrics, name) for name in METRICS} == METRICS
    assert enums.supported_ai_core_metrics() == set(METRICS.values())
    assert enums.supported_profiler_level() == {"Level0", "Level1", "Level2", "Level_none"}
    assert enums.ProfilerLevel.Level1 == "Level1"
    assert enums.supported_export_type() == {"text", "db"} == {enums.ExportType.Text, enums.ExportType.Db}
    assert set(enums.values(enums.HostSystem)) == {"cpu", "mem", "disk", "network", "osrt", "numa"}
