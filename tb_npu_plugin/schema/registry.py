"""All result files that are read, in the order in which they are read (small ones first)."""

from __future__ import annotations

from tb_npu_plugin.schema import torch_npu_csv, torch_npu_json
from tb_npu_plugin.schema.core import ResultFile
from tb_npu_plugin.schema.torch_npu_json import (
    COMM_BANDWIDTH_COLUMNS,
    COMM_LINKS_COLUMNS,
    COMM_OPS_COLUMNS,
    COMM_PACKETS_COLUMNS,
)
from tb_npu_plugin.tables import Column

RESULT_FILES: tuple[ResultFile, ...] = (*torch_npu_json.JSON_FILES, *torch_npu_csv.CSV_FILES)

#: Logical tables of a span: id -> declared columns (kernels may have more: its metrics).
TABLES: dict[str, tuple[Column, ...]] = {
    **{file.id: file.columns for file in torch_npu_csv.CSV_FILES},
    "comm_ops": COMM_OPS_COLUMNS,
    "comm_bandwidth": COMM_BANDWIDTH_COLUMNS,
    "comm_packets": COMM_PACKETS_COLUMNS,
    "comm_links": COMM_LINKS_COLUMNS,
}


def file_of(table: str) -> ResultFile:
    """The result file that fills a logical table."""
    return next(file for file in RESULT_FILES if table == file.id or table in file.fills)
