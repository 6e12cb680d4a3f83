"""The name of a result folder, profiler_info.json and profiler_metadata.json.
Source: docs/facts/ascend_pt.md, Folder name, profiler_info.json, profiler_metadata.json."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timezone
from typing import Any

from tb_npu_plugin.capture import side_files
from tb_npu_plugin.capture.simulation.records import Group, Process
from tb_npu_plugin.capture.writers.dialect import Dialect, Options

#: Monotonic clock and counter at the start of a capture: any would do.
_MONOTONIC, _COUNTER = 172_163_581_670_080, 17_238_197_612_056


def folder_name(process: Process, host: str, digits: int = 17, suffix: str = "_ascend_pt") -> str:
    """host_pid_timestamp and the suffix, the timestamp being that of the capture, in UTC."""
    moment = datetime.fromtimestamp(process.start // 10**9, tz=timezone.utc).strftime("%Y%m%d%H%M%S")
    stamp = (moment + f"{process.start // 10**6 % 1000:03d}")[:digits]
    return f"{host}_{process.pid}_{stamp}{suffix}"


def info(process: Process, options: Options, dialect: Dialect) -> str:
    """Content of profiler_info_N.json."""
    activities = [f"ProfilerActivity.{name}" for name, on in (("CPU", options.cpu), ("NPU", options.npu)) if on]
    schedule = dict(options.schedule or {})
    if dialect.private_schedule:
        schedule = {f"_{key}": value for key, value in schedule.items()}
    common = {
        "activities": activities,
        "schedule": schedule,
        "record_shapes": options.shapes,
        "profile_memory": options.memory,
        "with_stack": options.stack,
        "with_flops": False,
        "with_modules": options.stack,
    }
    experimental = {
        "_profiler_level": options.level_name,
        "_aic_metrics": options.metrics,
        "_l2_cache": options.l2_cache,
        "_msprof_tx": False,
        **({"_mstx": True} if options.built_in_marks else {}),
        "_data_simplification": None if dialect.private_schedule else True,
        "record_op_args": False,
        "_export_type": list(options.export) if dialect.export_list else options.export[0],
        "_op_attr": False,
        "_gc_detect_threshold": options.gc_threshold,
    }
    if options.sys_io or options.sys_interconnection:  # not known to older releases
        experimental |= {"_sys_io": options.sys_io, "_sys_interconnection": options.sys_interconnection}
    boot = process.start - _MONOTONIC
    start = {"syscnt_enable": True, "freq": 100, "start_cnt": _COUNTER, "start_monotonic": _MONOTONIC}
    end = {"collectionTimeEnd": process.end, "MonotonicTimeEnd": process.end - boot}
    versions = {"torch_npu_version": dialect.torch_npu, "cann_version": dialect.cann}
    known = {key: value for key, value in versions.items() if value is not None}
    return side_files.text_of(side_files.info(common, experimental, start, end, known, process.rank))


def environment() -> dict[str, str]:
    """ENV_VARIABLES of releases that lack the last one: none is set."""
    return dict.fromkeys(side_files.ENVIRONMENT_VARIABLES[:-1], "")


def group_infos(groups: Iterable[Group]) -> dict[str, Any]:
    """parallel_group_info: those that have a name."""
    return {
        group.name: {"group_name": group.group_name, "group_rank": group.rank, "global_ranks": list(group.ranks)}
        for group in groups
        if group.name
    }


def metadata(process: Process, options: Options) -> str:
    """Content of profiler_metadata.json."""
    variables = environment() if "text" in options.export else None
    return side_files.text_of(side_files.metadata(options.metadata, variables, group_infos(process.groups)))
