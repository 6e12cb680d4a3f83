"""The arguments of a profile, checked (docs/facts/torch_npu_api.md, profile), and the Settings of its captures."""

from __future__ import annotations

from typing import Any

from tb_npu_plugin.capture import side_files
from tb_npu_plugin.capture.api import ranks, task_queue
from tb_npu_plugin.capture.api.enums import ProfilerActivity, supported_activities
from tb_npu_plugin.capture.api.experimental_config import _ExperimentalConfig
from tb_npu_plugin.capture.api.messages import truth, warn
from tb_npu_plugin.capture.backend import HostSwitches, Settings

#: Of HostSwitches, of the arguments of profile() and of profiler_info.
SWITCHES = ("record_shapes", "profile_memory", "with_stack", "with_flops", "with_modules")
#: Of the experimental config: the simulated device has nothing to tell of these.
_NOT_SIMULATED = ("record_op_args", "_op_attr", "_host_sys")


def checked_bool(name: str, value: Any) -> bool:
    """The value, False (and a warning) where it is none."""
    if isinstance(value, bool):
        return value
    warn(f"Parameter {name} is of boolean type, reset it to False.")
    return False


def checked_activities(activities: Any) -> set[ProfilerActivity]:
    """The activities; all where none are named, and (with a warning) where something else is."""
    try:
        found = list(activities) if truth(activities) else []
    except Exception:  # the user's object; told below
        found = [None]
    if any(not isinstance(item, ProfilerActivity) for item in found):
        warn("Invalid activities, only CPU and NPU are supported, reset it to default.")
        return supported_activities()
    return set(found) or supported_activities()


def checked_config(config: Any, activities: set[ProfilerActivity]) -> _ExperimentalConfig:
    """The config, or the default one; warnings for what takes no effect."""
    if config is not None and not isinstance(config, _ExperimentalConfig):
        warn("Parameter experimental_config is an instance of _ExperimentalConfig, reset it to default.")
        config = None
    checked = config if config is not None else _ExperimentalConfig()
    if ProfilerActivity.NPU not in activities:
        warn("Experimental config will not be used while ProfilerActivity.NPU is not set.")
    if ProfilerActivity.CPU not in activities and checked.with_gc:
        warn("GC detect will not take effect while ProfilerActivity.CPU is not set.")
    idle = ", ".join(name.lstrip("_") for name in _NOT_SIMULATED if getattr(checked, name))
    if idle:
        warn(f"The simulated device records nothing for {idle}: no file comes of it.")
    return checked


def make(config: _ExperimentalConfig, activities: set[ProfilerActivity], host: HostSwitches, active: Any) -> Settings:
    """The settings of a capture that begins now: ranks, groups and variables are those of this moment.

    active: steps that the schedule records, where it tells an int.
    """
    cpu, rank = ProfilerActivity.CPU in activities, ranks.rank_id()
    return Settings(
        cpu=cpu,
        npu=ProfilerActivity.NPU in activities,
        host=host,
        level=config._profiler_level,
        aic_metrics=config._aic_metrics,
        l2_cache=config._l2_cache,
        mstx=config._mstx or config._msprof_tx,
        op_attr=config._op_attr,
        record_op_args=config.record_op_args,
        data_simplification=config._data_simplification is not False,
        gc_threshold=config._gc_detect_threshold if cpu else None,
        export_types=tuple(config._export_type),
        host_sys=tuple(config._host_sys),
        sys_io=config._sys_io,
        sys_interconnection=config._sys_interconnection,
        rank=None if rank is None else int(rank),
        world=ranks.world_size(),
        groups=ranks.groups(),
        environment=side_files.environment(),
        active=active if isinstance(active, int) else None,
        task_queue=task_queue.level(),
        mstx_include=tuple(config._mstx_domain_include),
        mstx_exclude=tuple(config._mstx_domain_exclude),
    )
