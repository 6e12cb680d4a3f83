"""Results of plain msprof runs: mindstudio_profiler_output of a PROF_* folder, and a database beside it. The files are
those that torch_npu copies from there under other names, with CANN's own headers. Source: specs/ascend_pt.md 4, 6."""

from __future__ import annotations

import dataclasses
import re

from tb_npu_plugin.schema.core import Condition, ResultFile
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

#: Where the export is, below PROF_*.
OUTPUT_FOLDER = "mindstudio_profiler_output"
#: `PROF_{number}_{local time}_{random}`.
FOLDER_NAME = re.compile(r"PROF_\d+(?:_(?P<time>\d{14,17}))?(?:_\w+)?")
HOST_FOLDER = "host"
DEVICE_FOLDER = re.compile(r"device_(?P<device>\d+)")
#: Call that makes it, from raw data.
EXPORT = 'msprof --export=on --output="{path}"'

_DEFAULT = Condition("--task-time=on", "Exported unless --task-time=off.")
_AICORE = Condition("--ai-core=on, or --task-time=l1", "Exported where operators were profiled.")
_API = Condition("--ascendcl=on", "Exported where CANN's calls were profiled.")
_MEMORY = Condition("--sys-hardware-mem=on, or --ge-api", "Exported where memory was profiled.")


def _like(file: ResultFile, stem: str, condition: Condition) -> ResultFile:
    """The same table from a file `{stem}_{time of the export}.csv`, maybe with the number of a device before."""
    pattern = re.compile(rf"{stem}(?:_\d+)*\.csv")
    return dataclasses.replace(file, name=f"{stem}_*.csv", pattern=pattern, condition=condition)


#: In the PROF_* folder itself. Profilers of frameworks move it into their results, under their own names.
MSPROF_DATABASE = ResultFile(
    id="msprof_db",
    name="msprof_*.db",
    pattern=re.compile(r"msprof(?:_\d+)*\.db"),
    title="msprof's database",
    columns=(),
    condition=Condition("msprof --export=on --type=db", "Exported where a database is asked for."),
    fills=("kernels", "op_statistic", "api_statistic", "module_memory", "trace"),
    stages=("tables", "trace"),
    fallback=True,
    doc="The device and CANN, as tables of a SQLite database; nothing of a framework: no steps, no operators.",
)

MSPROF_FILES: tuple[ResultFile, ...] = (
    dataclasses.replace(
        TRACE_VIEW, name="msprof_*.json", pattern=re.compile(r"msprof(?:_slice_0)?(?:_\d+)*\.json"), condition=_DEFAULT
    ),
    _like(KERNELS, "op_summary", _AICORE),
    _like(OP_STATISTIC, "op_statistic", _AICORE),
    _like(API_STATISTIC, "api_statistic", _API),
    _like(TASK_TIME, "task_time", _DEFAULT),
    _like(OP_MEMORY, "operator_memory", _MEMORY),
    _like(MEMORY_RECORD, "memory_record", _MEMORY),
    _like(MODULE_MEMORY, "npu_module_mem", _MEMORY),
    _like(DATA_PREPROCESS, "aicpu", Condition("--aicpu=on", "Exported where AI CPU tasks were profiled.")),
    _like(L2_CACHE, "l2_cache", Condition("--l2=on", "Exported where the L2 cache was profiled.")),
    MSPROF_DATABASE,
)
