"""Values of profiler settings as profiler_info.json stores them. Source: docs/facts/torch_npu_api.md, Enumerations."""

from __future__ import annotations

#: Switch of the memory profiling.
PROFILE_MEMORY = "profile_memory"
#: Object of the schedule.
SCHEDULE = "schedule"
#: Stored profiler_level -> its number; -1: no kernels.
LEVELS = {"Level_none": -1, "Level0": 0, "Level1": 1, "Level2": 2}
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
#: The reverse.
STORED_METRICS = {name: stored for stored, name in AIC_METRICS.items()}

#: Keys of profiler_info*.json that a profiler writes together: torch_npu, MindSpore.
ROOT_KEYS = (("config", "start_info", "end_info"), ("profiler_parameters", "ms_profiler_info", "ms_version"))
#: Object of profiler_info*.json -> keys that profilers always write into it together. The schedule's may begin with "_".
WRITTEN_KEYS: dict[str, tuple[str, ...]] = {
    "config": ("common_config", "experimental_config"),
    "common_config": (
        "activities",
        SCHEDULE,
        "record_shapes",
        PROFILE_MEMORY,
        "with_stack",
        "with_flops",
        "with_modules",
    ),
    "experimental_config": (
        "_profiler_level",
        "_aic_metrics",
        "_l2_cache",
        "_data_simplification",
        "record_op_args",
        "_export_type",
    ),
    SCHEDULE: ("wait", "active", "warmup", "repeat", "skip_first"),
    "start_info": ("freq", "start_monotonic"),
    "end_info": ("collectionTimeEnd", "MonotonicTimeEnd"),
    "ms_profiler_info": ("rank_id", "device_id"),
    "profiler_parameters": (
        "activities",
        "aic_metrics",
        "data_process",
        "export_type",
        "hbm_ddr",
        "is_set_schedule",
        "l2_cache",
        "parallel_strategy",
        "pcie",
        PROFILE_MEMORY,
        "profiler_level",
        "record_shapes",
        SCHEDULE,
        "start_profile",
        "sync_enable",
        "with_stack",
    ),
}
#: Keys of experimental_config by the release that added them, oldest first: a later one proves the earlier ones. All write
#: those of WRITTEN_KEYS.
ADDED_KEYS = (("_msprof_tx",), ("_op_attr",), ("_gc_detect_threshold",), ("_sys_io", "_sys_interconnection"))
#: Keys that torch_npu writes together: of each communicator, and of Megatron's arguments.
GROUP_KEYS = ("group_name", "group_rank", "global_ranks")
DISTRIBUTED_KEYS = (
    "tensor_model_parallel_size",
    "pipeline_model_parallel_size",
    "data_parallel_size",
    "rank",
    "world_size",
    "sequence_parallel",
)
#: Keys of profiler_parameters that newer releases of MindSpore write together.
NEWER_KEYS = ("mstx", "sys_io", "sys_interconnection")
#: Keys that MindSpore 2.0 to 2.2 writes together.
LEGACY_KEYS = ("context_mode", "rank_id", "rank_size", "parallel_mode", "pipeline_stage_num", "ms_version")
#: Versions that torch_npu writes together.
VERSION_KEYS = ("torch_npu_version", "cann_version")
