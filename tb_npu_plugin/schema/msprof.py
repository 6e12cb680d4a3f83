"""Results of plain msprof runs: mindstudio_profiler_output of a PROF_* folder, and a database next to it. torch_npu
copies the same files under other names; here they have CANN's headers.
Source: docs/facts/ascend_pt.md; docs/facts/databases.md.
"""

from __future__ import annotations

import dataclasses
import re

from tb_npu_plugin.messages import Message
from tb_npu_plugin.schema.core import DEVICE_ID, PIECE, Condition, ResultFile
from tb_npu_plugin.schema.files import result_file
from tb_npu_plugin.schema.link_files import HCCS, NIC, PCIE, ROCE
from tb_npu_plugin.schema.torch_npu_csv import (
    API_STATISTIC,
    DATA_PREPROCESS,
    KERNELS,
    L2_CACHE,
    OP_STATISTIC,
    TASK_TIME,
)
from tb_npu_plugin.schema.torch_npu_json import TRACE_VIEW
from tb_npu_plugin.schema.torch_npu_memory_csv import MEMORY_RECORD, MODULE_MEMORY, OP_MEMORY

#: Folder of the export in PROF_*.
OUTPUT_FOLDER = "mindstudio_profiler_output"
#: `PROF_{number}_{local time}_{random}`.
FOLDER_NAME = re.compile(r"PROF_\d+(?:_(?P<time>\d{14,17}))?(?:_\w+)?")
HOST_FOLDER = "host"
DEVICE_FOLDER = re.compile(r"device_(?P<device>\d+)")
#: Mark before the piece number of a split file: msprof splits a CSV file after a million rows, and the trace on demand.
PIECE_MARK = "_slice_"
#: Command that creates it from raw data.
EXPORT = "msprof --export=on --output={path}"

_DEFAULT = Condition("--task-time=on", Message("written.msprof_default"))
_AICORE = Condition(
    Message("option.either", one="--ai-core=on", other="--task-time=l1"), Message("written.msprof_operators")
)
_API = Condition("--ascendcl=on", Message("written.msprof_cann"))
_IO = Condition("--sys-io-profiling=on", Message("written.msprof_network_cards"))
_INTERCONNECTION = Condition("--sys-interconnection-profiling=on", Message("written.msprof_server_links"))
_MEMORY = Condition(
    Message("option.either", one="--sys-hardware-mem=on", other="--ge-api"), Message("written.msprof_memory")
)


def _exported(file: ResultFile, stem: str, condition: Condition) -> ResultFile:
    """The same table from a file `{stem}_{export time}.csv`, optionally with a device number before the time."""
    return dataclasses.replace(file, name=f"{stem}_*.csv", pattern=exported_name(stem), condition=condition)


def _of_cann(file: ResultFile) -> ResultFile:
    """A memory file with CANN's header of the device."""
    device = file.column("device")
    renamed = dataclasses.replace(device, headers=(*device.headers, "Device"))
    columns = (renamed if column is device else column for column in file.columns)
    return dataclasses.replace(file, columns=(dataclasses.replace(DEVICE_ID, written=""), *columns))


def exported_name(stem: str, end: str = "csv") -> re.Pattern[str]:
    """File names `{stem}_{time}.{end}`, or for pieces `{stem}_slice_0_{time}.{end}`, `{stem}_slice_1_{time}.{end}`."""
    return re.compile(rf"{stem}(?:_\d+)*(?:{PIECE_MARK}(?P<{PIECE}>0|[1-9]\d{{0,5}}))?(?:_\d+)*\.{end}")


#: In the PROF_* folder itself. Profilers of frameworks move it into their results and rename it.
MSPROF_DATABASE = result_file("msprof.msprof_db")

#: step_trace_*.csv: iterations of graphs. Each reduce has a pair of columns of these names after the others.
ITERATION_ID, ITERATION_END = "Iteration ID", "Iteration End(us)"
DEVICE, MODEL = "Device_id", "Model ID"
REDUCE_START, REDUCE_DURATION = "Reduce Start(us)", "Reduce Duration(us)"
#: Unit of its times without a unit in the header.
ITERATION_UNIT = "us"
#: Name given to a reduce, which has none in the file.
REDUCE_NAME = "Reduce {0}"
ITERATIONS = result_file("msprof.msprof_iterations")

FUSION_OP = result_file("msprof.fusion_op")

COMMUNICATION_STATISTIC = result_file("msprof.communication_statistic")

MSPROF_FILES: tuple[ResultFile, ...] = (
    dataclasses.replace(TRACE_VIEW, name="msprof_*.json", pattern=exported_name("msprof", "json"), condition=_DEFAULT),
    _exported(KERNELS, "op_summary", _AICORE),
    _exported(OP_STATISTIC, "op_statistic", _AICORE),
    _exported(API_STATISTIC, "api_statistic", _API),
    _exported(TASK_TIME, "task_time", _DEFAULT),
    _exported(_of_cann(OP_MEMORY), "operator_memory", _MEMORY),
    _exported(_of_cann(MEMORY_RECORD), "memory_record", _MEMORY),
    _exported(MODULE_MEMORY, "npu_module_mem", _MEMORY),
    _exported(DATA_PREPROCESS, "aicpu", Condition("--aicpu=on", Message("written.msprof_ai_cpu"))),
    _exported(L2_CACHE, "l2_cache", Condition("--l2=on", Message("written.msprof_l2_cache"))),
    ITERATIONS,
    *(_exported(file, file.id, _IO) for file in (NIC, ROCE)),
    *(_exported(file, file.id, _INTERCONNECTION) for file in (PCIE, HCCS)),
    FUSION_OP,
    COMMUNICATION_STATISTIC,
    MSPROF_DATABASE,
)
