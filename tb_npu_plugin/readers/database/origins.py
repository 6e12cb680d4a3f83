"""The tables of databases that the rows of logical tables come from."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from tb_npu_plugin.problems import ProblemLog
from tb_npu_plugin.readers.shared.report import FileReport
from tb_npu_plugin.schema import cluster
from tb_npu_plugin.schema import torch_npu_db as schema
from tb_npu_plugin.schema.torch_npu_json import COMMUNICATION_CORES
from tb_npu_plugin.tables import Table

#: Logical table -> the tables whose rows it has one by one: of a profiler's database, of a cluster's.
_ONE_BY_ONE = {
    "step_trace": (schema.STEP_TRACE.table, cluster.STEP_ROWS.table),
    "comm_ops": (schema.COMM_TIME.table, cluster.TIME_ROWS.table),
    "comm_links": (schema.COMM_MATRIX.table, cluster.MATRIX_ROWS.table),
    "operators": (schema.PYTORCH_API.table,),
    "op_memory": (schema.OP_MEMORY.table,),
    "module_memory": (schema.MODULE_MEMORY.table,),
}


def count_dropped(
    read: Mapping[str, Table], checked: Mapping[str, Table], files: Mapping[str, str], log: ProblemLog
) -> None:
    """Count the rows that checks took out of tables made from databases. The samples of the process memory are not counted:
    the timeline shows them all. files: table -> file name."""
    changed = {name: table for name, table in read.items() if table is not checked[name]}
    for name, table in changed.items():
        counts, left = log.seen.of(files.get(name, "")), _rows_of(name, checked[name])
        for part, rows in _rows_of(name, table).items():
            if ("rows", part) in counts:
                FileReport(log, files[name]).drop("rows", rows - left[part], part)


def _rows_of(name: str, table: Table) -> dict[str, int]:
    """Return the rows of a logical table by the table that they come from; {} for sums of rows."""
    if name == "kernels":
        communication = int(np.count_nonzero(table.text("core").isin(COMMUNICATION_CORES)))
        return {schema.COMPUTE_TASK.table: len(table) - communication, schema.COMMUNICATION_OP.table: communication}
    if name == "memory_record":
        process = int(np.count_nonzero(table.text("component").equals(schema.APP_COMPONENT)))
        return {schema.MEMORY_RECORD.table: len(table) - process}
    return dict.fromkeys(_ONE_BY_ONE.get(name, ()), len(table))
