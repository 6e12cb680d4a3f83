"""All declared result files, and the logical tables that they fill."""

from __future__ import annotations

from tb_npu_plugin.schema import torch_npu_csv
from tb_npu_plugin.schema.columns import columns_of
from tb_npu_plugin.schema.core import ResultFile
from tb_npu_plugin.schema.formats import FORMATS, TORCH_NPU
from tb_npu_plugin.schema.mindspore_files import OPERATORS
from tb_npu_plugin.schema.msprof import COMMUNICATION_STATISTIC, FUSION_OP
from tb_npu_plugin.tables import Column

#: Every declared file once.
RESULT_FILES: tuple[ResultFile, ...] = tuple(
    dict.fromkeys(file for format in FORMATS.values() for file in format.files)
)

#: Tables of other files than CSV files, by name in columns.csv. op_totals: a row per operator of the network, sums by the
#: recorder. step_marks: steps marked on the host, from the trace; bounds of the step figures. engine_iterations: of a
#: serving engine; their times are in step_trace.
_OTHERS = (
    *("comm_ops", "comm_bandwidth", "comm_packets", "comm_links", "dataset"),
    *("minddata_ops", "minddata_queues", "minddata_batches", "minddata_cpu", "minddata_remarks"),
    *(
        "iterations",
        "iteration_reduces",
        "step_points",
        "parallel_times",
        "op_totals",
        "flops_summary",
        "memory_summary",
    ),
    *("step_marks", "engine_iterations"),
)
#: Logical tables of a span: id -> declared columns (kernels may have more: its metrics).
TABLES: dict[str, tuple[Column, ...]] = {
    **{file.id: file.columns for file in torch_npu_csv.CSV_FILES},
    torch_npu_csv.OPERATORS.id: (*torch_npu_csv.OPERATORS.columns, torch_npu_csv.NESTED),
    **{table: columns_of(table) for table in _OTHERS},
    **{file.id: file.columns for file in (OPERATORS, FUSION_OP, COMMUNICATION_STATISTIC)},
}


def file_of(table: str, format: str = TORCH_NPU.id) -> ResultFile:
    """The result file that fills a logical table in a format; torch_npu's if the format has none."""
    found = FORMATS[format].file_of(table) or TORCH_NPU.file_of(table)
    if found is None:
        found = next(file for file in RESULT_FILES if table in file.tables)
    return found
