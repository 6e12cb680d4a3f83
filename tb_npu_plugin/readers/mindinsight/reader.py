"""Which reader reads which file of a legacy result, and what is made of all of them."""

from __future__ import annotations

from collections.abc import Callable

from tb_npu_plugin.model import Capture
from tb_npu_plugin.problems import ProblemLog
from tb_npu_plugin.readers.mindinsight import hccl, ops, side, steps
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
    "flops_summary": side.read_flops_summary,
    "memory_summary": side.read_memory_summary,
}

#: Tables that `finish` makes others of.
PARTS = {**minddata.PARTS, **ops.PARTS}


def read_file(reading: Reading) -> Tables:
    """As readers.text.reader.read_file. Where two files fill the same table, both are in it, or the better one is."""
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
    """Operators of several files joined; links told apart by the rank that recorded them."""
    links = tables.get("comm_links")
    if links is not None and capture.rank is not None:
        group = StringColumn.of([group_name(capture.rank)] * len(links))
        tables = {**tables, "comm_links": Table(links.columns, {**links.data, "group": group})}
    return ops.joined(minddata.joined(tables), log)
