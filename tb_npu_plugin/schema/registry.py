"""All declared result files, and the logical tables that they fill."""

from __future__ import annotations

from tb_npu_plugin.schema import mindinsight_ops, mindinsight_steps, torch_npu_csv
from tb_npu_plugin.schema.core import ResultFile
from tb_npu_plugin.schema.formats import FORMATS, TORCH_NPU
from tb_npu_plugin.schema.minddata import DATASET
from tb_npu_plugin.schema.minddata_tables import MINDDATA_TABLES
from tb_npu_plugin.schema.mindspore_files import OPERATORS, STEP_MARKS_COLUMNS
from tb_npu_plugin.schema.msprof import COMMUNICATION_STATISTIC, FUSION_OP
from tb_npu_plugin.schema.serving import ITERATIONS_COLUMNS
from tb_npu_plugin.schema.torch_npu_json import (
    COMM_BANDWIDTH_COLUMNS,
    COMM_LINKS_COLUMNS,
    COMM_OPS_COLUMNS,
    COMM_PACKETS_COLUMNS,
)
from tb_npu_plugin.tables import Column

#: Every declared file once.
RESULT_FILES: tuple[ResultFile, ...] = tuple(
    dict.fromkeys(file for format in FORMATS.values() for file in format.files)
)

#: Logical tables of a span: id -> declared columns (kernels may have more: its metrics).
TABLES: dict[str, tuple[Column, ...]] = {
    **{file.id: file.columns for file in torch_npu_csv.CSV_FILES},
    torch_npu_csv.OPERATORS.id: (*torch_npu_csv.OPERATORS.columns, torch_npu_csv.NESTED),
    "comm_ops": COMM_OPS_COLUMNS,
    "comm_bandwidth": COMM_BANDWIDTH_COLUMNS,
    "comm_packets": COMM_PACKETS_COLUMNS,
    "comm_links": COMM_LINKS_COLUMNS,
    "dataset": DATASET.columns,
    **MINDDATA_TABLES,
    "iterations": mindinsight_steps.ITERATIONS_COLUMNS,
    "iteration_reduces": mindinsight_steps.REDUCES_COLUMNS,
    "step_points": mindinsight_steps.POINTS_COLUMNS,
    "parallel_times": mindinsight_steps.PARALLEL_COLUMNS,
    "op_totals": mindinsight_ops.OP_TOTALS_COLUMNS,
    "flops_summary": mindinsight_ops.FLOPS_SUMMARY_COLUMNS,
    "memory_summary": mindinsight_ops.MEMORY_SUMMARY_COLUMNS,
    "step_marks": STEP_MARKS_COLUMNS,
    "engine_iterations": ITERATIONS_COLUMNS,
    OPERATORS.id: OPERATORS.columns,
    FUSION_OP.id: FUSION_OP.columns,
    COMMUNICATION_STATISTIC.id: COMMUNICATION_STATISTIC.columns,
}


def file_of(table: str, format: str = TORCH_NPU.id) -> ResultFile:
    """The result file that fills a logical table in a format; torch_npu's if the format has none."""
    found = FORMATS[format].file_of(table) or TORCH_NPU.file_of(table)
    if found is None:
        found = next(file for file in RESULT_FILES if table in file.tables)
    return found
