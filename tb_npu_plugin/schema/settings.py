"""Values of profiler settings as profiler_info.json stores them. Source: docs/facts/torch_npu_api.md, Enumerations."""

from __future__ import annotations

#: Switch of the memory profiling.
PROFILE_MEMORY = "profile_memory"
#: Stored value -> name of the AiCMetrics member that users write.
AIC_METRICS = {
    "ACL_AICORE_PIPE_UTILIZATION": "PipeUtilization",
    "ACL_AICORE_ARITHMETIC_UTILIZATION": "ArithmeticUtilization",
    "ACL_AICORE_MEMORY_BANDWIDTH": "Memory",
    "ACL_AICORE_L0B_AND_WIDTH": "MemoryL0",
    "ACL_AICORE_MEMORY_UB": "MemoryUB",
    "ACL_AICORE_RESOURCE_CONFLICT_RATIO": "ResourceConflictRatio",
    "ACL_AICORE_L2_CACHE": "L2Cache",
    "ACL_AICORE_MEMORY_ACCESS": "MemoryAccess",
    "ACL_AICORE_NONE": "AiCoreNone",
}
