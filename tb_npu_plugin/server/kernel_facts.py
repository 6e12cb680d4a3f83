"""Facts of the kernel table about a device slice; the trace has neither core nor shapes."""

from __future__ import annotations

from typing import Any, cast

import numpy as np

from tb_npu_plugin.model import SpanData
from tb_npu_plugin.schema.torch_npu_csv import TENSORS
from tb_npu_plugin.store.timeline.contract import KernelFactsJson
from tb_npu_plugin.tables import StringColumn, known

#: Maximum difference of a start between the files, in ns: both write microseconds with three decimals.
_ROUNDING = 1
#: Columns of the table that the response holds.
_FACTS = (
    "step",
    "type",
    "core",
    "wait_ns",
    "block_dim",
    "mix_block_dim",
    *TENSORS,
    "bound",
)


def kernel_facts(span: SpanData, name: str, start_ns: int) -> KernelFactsJson | None:
    """The table row of the kernel with this name and start (ns since the epoch); None without one."""
    table = span.table("kernels")
    if table is None:
        return None
    start, names = table.ints("start_ns"), table.text("name")
    near = np.flatnonzero(known(start) & (np.abs(start - start_ns) <= _ROUNDING))
    row = next((index for index in near.tolist() if names[index] == name), None)
    if row is None:
        return None
    found = table.loaded(np.asarray([row]))
    facts: Any = {"source": span.source("kernels")}
    for key in _FACTS:
        facts[key] = _value(found.data[key]) if found.has(key) else None
    return cast(KernelFactsJson, facts)


def _value(column: Any) -> Any:
    if isinstance(column, StringColumn):
        return column[0]
    return int(column[0]) if bool(known(column)[0]) else None
