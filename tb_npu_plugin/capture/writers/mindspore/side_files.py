"""profiler_info_{rank}.json and profiler_metadata.json of MindSpore.
Source: docs/facts/ascend_ms.md, Arguments and side files."""

from __future__ import annotations

import json

from tb_npu_plugin.capture.simulation.records import Process
from tb_npu_plugin.capture.writers.dialect import Dialect, Options
from tb_npu_plugin.capture.writers.side_files import group_infos
from tb_npu_plugin.schema import mindspore as names
from tb_npu_plugin.schema.settings import AIC_METRICS
from tb_npu_plugin.schema.torch_npu_json import GROUPS

#: Arguments of a schedule, as they are without one.
_SCHEDULE = {"wait": 0, "active": 1, "warmup": 0, "repeat": 0, "skip_first": 0}


def level_name(options: Options) -> str:
    """profiler_level as stored."""
    return f"Level{options.level}" if options.kernels else "LevelNone"


def info(process: Process, options: Options, dialect: Dialect) -> str:
    """Content of profiler_info_{rank}.json."""
    metrics, schedule = AIC_METRICS[options.metrics], options.schedule or {}
    parameters = {
        "activities": [name for name, on in (("CPU", options.cpu), ("NPU", options.npu)) if on],
        "with_stack": options.stack,
        "profile_memory": options.memory,
        "data_process": options.data_process,
        "parallel_strategy": False,
        "start_profile": True,
        "hbm_ddr": False,
        "pcie": False,
        "sync_enable": True,
        "record_shapes": options.shapes,
        "profiler_level": level_name(options),
        "aic_metrics": "None" if metrics == "AiCoreNone" else metrics,
        "l2_cache": options.l2_cache,
        "mstx": False,
        "mstx_domain_include": [],
        "mstx_domain_exclude": [],
        "data_simplification": True,
        "export_type": list(options.export),
        "sys_io": options.sys_io,
        "sys_interconnection": options.sys_interconnection,
        "host_sys": [],
        names.SCHEDULE: {key: schedule.get(key, default) for key, default in _SCHEDULE.items()},
        names.IS_SET_SCHEDULE: options.schedule is not None,
    }
    return json.dumps(
        {
            names.PARAMETERS: parameters,
            names.MS_INFO: {names.RANK_ID: str(process.rank), names.DEVICE_ID: str(process.device)},
            names.CANN_INFO: {},
            names.COST: {},
            names.MS_VERSION: dialect.framework_version,
            names.CANN_VERSION: dialect.cann,
            names.JIT_LEVEL: "O0",
        },
        indent=4,
    )


def metadata(process: Process, options: Options) -> str:
    """Content of profiler_metadata.json."""
    groups = group_infos(process.groups)
    return json.dumps({**options.metadata, **({GROUPS: groups} if groups else {})}, indent=4)
