"""Files of `*_ascend_ms` results: torch_npu's declarations where files are equal, with the differences. Source:
docs/facts/ascend_ms.md, Files of the output folder, Kernel names and steps."""

from __future__ import annotations

from dataclasses import replace

from tb_npu_plugin.messages import Message
from tb_npu_plugin.schema import torch_npu_csv, torch_npu_json, torch_npu_memory_csv
from tb_npu_plugin.schema.core import DEVICE_ID, SELDOM, Condition, ResultFile, join_settings
from tb_npu_plugin.schema.files import result_file
from tb_npu_plugin.schema.link_files import LINK_FILES
from tb_npu_plugin.schema.minddata import MINDDATA_FILES
from tb_npu_plugin.schema.mindspore import (
    MEMORY_RECORD_KEYS,
    MEMORY_RECORD_MB,
    OPERATOR_KEYS,
)
from tb_npu_plugin.tables import Column, Kind, column_texts

LEVEL_1 = Condition("profiler_level=ProfilerLevel.Level1", Message("written.level_1"))
LEVEL_1_RANKS = Condition(
    join_settings("profiler_level=ProfilerLevel.Level1", Message("option.ranks")),
    Message("written.text_when_communicating"),
    always=False,
)
LEVEL_2 = Condition("profiler_level=ProfilerLevel.Level2", Message("written.ai_cpu"), always=False)
NPU = Condition(
    join_settings("activities=[ProfilerActivity.NPU, ...]", Message("option.any_level")), Message("written.npu")
)
MEMORY = Condition("profile_memory=True", Message("written.memory"))
# Not in databases: these need the text export.
STEPS = Condition("activities=[ProfilerActivity.NPU, ...], export_type=[ExportType.Text]", Message("written.text_npu"))
MEMORY_TEXT = Condition("profile_memory=True, export_type=[ExportType.Text]", Message("written.text_memory"))
OP_MEMORY_SWITCHES = Condition(
    "profile_memory=True, activities=[ProfilerActivity.CPU, ...], export_type=[ExportType.Text]",
    Message("written.text_memory_host"),
)
TEXT = Condition("export_type=[ExportType.Text]", Message("written.text"))

#: Full kernel name (schema/mindspore.py LAUNCH_SEPARATOR); an additional column of kernels.
FULL_NAME = Column("full_name", Kind.TEXT, *column_texts("full_name"), "identity")
SCOPE = Column("scope", Kind.TEXT, *column_texts("mindspore_files.scope"), "identity")


def _without_device(file: ResultFile) -> ResultFile:
    """A file that MindSpore writes without the device."""
    columns = (replace(one, written=SELDOM) if one.key == DEVICE_ID.key else one for one in file.columns)
    return replace(file, columns=tuple(columns))


KERNELS = _without_device(replace(torch_npu_csv.KERNELS, condition=NPU))
STEP_TRACE = _without_device(replace(torch_npu_csv.STEP_TRACE, condition=STEPS))
OP_STATISTIC = replace(torch_npu_csv.OP_STATISTIC, condition=NPU)
API_STATISTIC = replace(torch_npu_csv.API_STATISTIC, condition=LEVEL_1)
OPERATORS = result_file(
    "mindspore.operator_shapes", columns=tuple(torch_npu_csv.OPERATORS.column(key) for key in OPERATOR_KEYS)
)
OP_MEMORY = replace(torch_npu_memory_csv.OP_MEMORY, condition=OP_MEMORY_SWITCHES)
MEMORY_RECORD = replace(
    torch_npu_memory_csv.MEMORY_RECORD,
    condition=MEMORY_TEXT,
    columns=tuple(torch_npu_memory_csv.MEMORY_RECORD.column(key) for key in MEMORY_RECORD_KEYS),
    sizes=(("MB", MEMORY_RECORD_MB),),
    doc="Totals per component over time: MindSpore, GE, MindSpore+GE, APP. A MB is 1000 KB of 1024 bytes here.",
)
MODULE_MEMORY = replace(torch_npu_memory_csv.MODULE_MEMORY, condition=MEMORY)
DATA_PREPROCESS = replace(torch_npu_csv.DATA_PREPROCESS, condition=LEVEL_2)
TRACE_VIEW = replace(
    torch_npu_json.TRACE_VIEW, condition=TEXT, fills=("trace", "step_marks", "operators"), stages=("tables", "trace")
)
COMMUNICATION = replace(torch_npu_json.COMMUNICATION, condition=LEVEL_1_RANKS)
COMMUNICATION_MATRIX = replace(torch_npu_json.COMMUNICATION_MATRIX, condition=LEVEL_1_RANKS)

PROFILER_DATABASE = result_file("mindspore.profiler_db")
ANALYSIS_DATABASE = result_file("mindspore.analysis_db")
DATABASE_FILES = (PROFILER_DATABASE, ANALYSIS_DATABASE)

#: Files with rows as in torch_npu's files of the same name, and MindSpore's own files.
CSV_FILES = (
    STEP_TRACE,
    KERNELS,
    OP_STATISTIC,
    API_STATISTIC,
    OPERATORS,
    OP_MEMORY,
    MEMORY_RECORD,
    MODULE_MEMORY,
    DATA_PREPROCESS,
    torch_npu_csv.L2_CACHE,
    *LINK_FILES,
)
FILES = (
    COMMUNICATION,
    COMMUNICATION_MATRIX,
    TRACE_VIEW,
    torch_npu_json.PROFILER_INFO,
    torch_npu_json.PROFILER_METADATA,
    *CSV_FILES,
    *MINDDATA_FILES,
    *DATABASE_FILES,
)
