"""Maps the files of a legacy result to their readers, and combines their tables."""

from __future__ import annotations

from collections.abc import Callable

from tb_npu_plugin.model import Capture
from tb_npu_plugin.problems import ProblemLog
from tb_npu_plugin.readers.mindinsight import hccl, ops, steps, summaries
from tb_npu_plugin.readers.mindinsight.capture import group_name
from tb_npu_plugin.readers.shared.reading import Reading, Tables
from tb_npu_plugin.readers.text import minddata
from tb_npu_plugin.schema.formats import MINDINSIGHT
from tb_npu_plugin.tables import StringColumn, Table

_READERS: dict[str, Callable[[Reading], Tables]] = {
    "iterations": steps.read_step_trace,
    "step_points": steps.read_points,
    "parallel_times": steps.read_cluster,
    "aicore_types": ops.read_types,
    "aicore_ops": ops.read_ops,
    "aicpu_ops": ops.read_aicpu,
    "framework_ops": ops.read_framework,
    "op_flops": ops.read_flops,
    "kernels": ops.read_timeline_data,
    "flops_summary": summaries.read_flops_summary,
    "memory_summary": summaries.read_memory_summary,
}

#: Intermediate table -> logical table that `finish` builds from it.
PARTS = {**minddata.PARTS, **ops.PARTS}


def read_file(reading: Reading) -> Tables:
    """As readers.text.reader.read_file. If two files fill one table, it holds both, or the better one."""
    spec = MINDINSIGHT.file(reading.name)
    if spec is None:
        reading.report.add("unknown_file", found=reading.name)
        return {}
    if spec.id == "hccl_raw":
        return hccl.read_hccl(reading)
    found = minddata.read_minddata(spec, reading)
    if found is not None:
        return found
    return _READERS[spec.id](reading)


def finish(tables: Tables, capture: Capture, log: ProblemLog) -> Tables:
    """Join operators of several files, and set the rank's group name on links."""
    links = tables.get("comm_links")
    if links is not None and capture.rank is not None:
        group = StringColumn.of([group_name(capture.rank)] * len(links))
        tables = {**tables, "comm_links": Table(links.columns, {**links.data, "group": group})}
    return ops.with_logical_tables(minddata.with_combined_tables(tables), log)
