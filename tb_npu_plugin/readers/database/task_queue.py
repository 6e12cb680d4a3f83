"""The framework's task queue. Source: docs/facts/databases.md, ascend_pytorch_profiler.db."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tb_npu_plugin.readers.database.context import Context
from tb_npu_plugin.readers.database.source import Rows
from tb_npu_plugin.schema import trace_events
from tb_npu_plugin.schema.torch_npu_db import CONNECTION_OFFSET
from tb_npu_plugin.tables import NULL_INT, IntArray, StringColumn


def entries(context: Context, queue: Rows, names: StringColumn) -> tuple[NDArray[np.bool_], IntArray]:
    """Return a mask of the enqueue calls (the others dequeue) and each call's entry number, NULL_INT for none. queue:
    calls of kind "queue"; names: their names."""
    enters = np.array([name.startswith(trace_events.ENQUEUES) for name in names.values] + [False])[names.codes]
    row, connection = context.links(queue)
    number = np.full(len(queue), NULL_INT, dtype=np.int64)
    number[row] = np.where(connection >= CONNECTION_OFFSET, connection - CONNECTION_OFFSET, connection)
    return enters, number
