import os

if os.environ.get("STANDIN_BROKEN"):
    raise OSError("libhccl.so: cannot open shared object file")

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
]
if not os.environ.get("STANDIN_OLD"):
    __all__ += ["HostSystem"]
for _name in [*__all__, "_KinetoProfile", "_NonIntrusiveProfile", "added_later"]:
    globals()[_name] = type(_name, (), {"__module__": __name__})
