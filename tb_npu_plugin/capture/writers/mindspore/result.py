"""What a result of mindspore.profiler consists of. Source: docs/facts/ascend_ms.md, Files of the output folder,
Arguments and side files."""

from __future__ import annotations

import json
from pathlib import Path

from tb_npu_plugin.capture.simulation.records import Process
from tb_npu_plugin.capture.writers.analysis_db import CommunicationDatabase
from tb_npu_plugin.capture.writers.communication import Rules
from tb_npu_plugin.capture.writers.dialect import Dialect, Options
from tb_npu_plugin.capture.writers.files import Output, Writer
from tb_npu_plugin.capture.writers.framework import Framework
from tb_npu_plugin.capture.writers.mindspore.csv_files import (
    Allocations,
    HostWindows,
    LaunchedKernels,
    MemoryRecord,
    OperatorShapes,
    StepTrace,
)
from tb_npu_plugin.capture.writers.mindspore.minddata import MindData
from tb_npu_plugin.capture.writers.mindspore.record import Recorder
from tb_npu_plugin.capture.writers.mindspore.trace import LaunchedTrace
from tb_npu_plugin.capture.writers.result_db import ProfilerDatabase
from tb_npu_plugin.capture.writers.side_files import group_infos
from tb_npu_plugin.schema import mindspore as names
from tb_npu_plugin.schema.mindspore import SUFFIX
from tb_npu_plugin.schema.settings import AIC_METRICS
from tb_npu_plugin.schema.torch_npu_db import TABLES
from tb_npu_plugin.schema.torch_npu_json import GROUPS
from tb_npu_plugin.schema.trace_events import OLD_COMMUNICATION

#: p2p is recognised by case-sensitive words, so that hcom_send_ is a collective without a known type.
_COMMUNICATION = Rules(
    whole=names.WHOLE_STEP,
    name_key=names.OP_NAME,
    p2p=tuple(names.P2P_WORDS),
    types="invalid|broadcast|allreduce|reduce|allgather|reducescatter|scatter|alltoall",
    no_type="{}@{}",
    by_rank=False,
    all_lowest=True,
)
#: MindSpore 2.7 with CANN 8.2: its parser looks for communication under HCCL.
DIALECT = Dialect(
    communication=OLD_COMMUNICATION,
    absent=frozenset({"kernels.device_id", "step_trace.device_id", "memory_record.stream"}),
    task_time=False,
    ids_at_level_0=True,
    spelling={"kernels.step": 1},
    torch_npu=None,
    framework_version="2.7.0",
    cann="8.2.RC1",
)


#: Content of profiler_info_{rank}.json: what every capture has, and defaults.
_INFO = Path(__file__).with_name("profiler_info.json")


def info(process: Process, options: Options, dialect: Dialect) -> str:
    """Content of profiler_info_{rank}.json."""
    metrics, content = AIC_METRICS[options.metrics], json.loads(_INFO.read_bytes())
    parameters = content[names.PARAMETERS]
    parameters |= {
        "activities": [name for name, on in (("CPU", options.cpu), ("NPU", options.npu)) if on],
        "with_stack": options.stack,
        "profile_memory": options.memory,
        "data_process": options.data_process,
        "record_shapes": options.shapes,
        "profiler_level": f"Level{options.level}" if options.kernels else "LevelNone",
        "aic_metrics": "None" if metrics == "AiCoreNone" else metrics,
        "l2_cache": options.l2_cache,
        "export_type": list(options.export),
        "sys_io": options.sys_io,
        "sys_interconnection": options.sys_interconnection,
        names.IS_SET_SCHEDULE: options.schedule is not None,
    }
    schedule = parameters[names.SCHEDULE]
    schedule |= {key: value for key, value in (options.schedule or {}).items() if key in schedule}
    content[names.MS_INFO] = {names.RANK_ID: str(process.rank), names.DEVICE_ID: str(process.device)}
    content |= {names.MS_VERSION: dialect.framework_version, names.CANN_VERSION: dialect.cann}
    return json.dumps(content, indent=4)


def metadata(process: Process, options: Options) -> str:
    """Content of profiler_metadata.json."""
    groups = group_infos(process.groups)
    return json.dumps({**options.metadata, **({GROUPS: groups} if groups else {})}, indent=4)


def _others(output: Output) -> list[Writer]:
    """The files of the data pipeline, and databases."""
    options, process = output.options, output.process
    out: list[Writer] = [MindData(output)]
    if "db" in options.export:
        tables = {table: columns for table, columns in TABLES.items() if table in names.DB_TABLES}
        name = f"{names.PROFILER_DB}_{process.rank}.db"
        out.append(ProfilerDatabase(output, name, tables, with_framework=False))
        out += [CommunicationDatabase(output)] if options.device and options.level >= 1 else []
    return out


MINDSPORE = Framework(
    suffix=SUFFIX,
    dialect=DIALECT,
    windows=HostWindows,
    kernels=LaunchedKernels,
    steps=StepTrace,
    trace=LaunchedTrace,
    operators=OperatorShapes,
    allocations=Allocations,
    memory_record=MemoryRecord,
    communication=_COMMUNICATION,
    others=_others,
    info=info,
    metadata=metadata,
    record=Recorder,
)
