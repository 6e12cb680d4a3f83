"""Finds operator calls nested in calls of the same operator: their total time is part of the outer call's."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tb_npu_plugin.tables import IntArray, StringColumn, Table, known

#: Values of the column: not in a call of the same operator; in one with other input shapes; in one with the same
#: shapes.
OUTERMOST, SAME_NAME, SAME_SHAPES = 0, 1, 2


def nesting(parent: NDArray[np.int64], name: IntArray, shapes: IntArray) -> IntArray:
    """One of the values above for each call. parent: row of the enclosing call, -1 at the top; name, shapes: codes."""
    out = np.full(len(parent), OUTERMOST, dtype=np.int64)
    above = parent
    rows = np.flatnonzero(above >= 0)
    while len(rows):
        outer = above[rows]
        same = name[outer] == name[rows]
        out[rows[same]] = np.maximum(out[rows[same]], SAME_NAME)
        out[rows[same & (shapes[outer] == shapes[rows])]] = SAME_SHAPES
        above = np.full(len(parent), -1, dtype=np.int64)
        above[rows] = parent[outer]
        rows = rows[above[rows] >= 0]
    return out


def nesting_of_rows(operators: Table) -> IntArray:
    """The same for rows sorted by start without recorded parents, which are derived from host times."""
    parent = parents(operators.ints("host_self_ns"), operators.ints("host_total_ns"))
    return nesting(parent, codes(operators.text("name")), codes(operators.text("input_shapes")))


def codes(text: StringColumn) -> IntArray:
    """Codes that are equal for equal strings."""
    return text.codes.astype(np.int64)


def parents(self_ns: IntArray, total_ns: IntArray) -> NDArray[np.int64]:
    """Row of the enclosing call of each, -1 at the top. Calls are sorted by start, so nested calls follow their parent,
    and total minus self of a call is the sum of its direct children's totals."""
    certain = known(self_ns) & known(total_ns)
    total = np.where(certain, total_ns, 0)
    below = np.where(certain, total_ns - self_ns, 0).data
    out = np.full(len(total), -1, dtype=np.int64)
    parent, totals = out.data, total.data
    rows: list[int] = []
    left: list[int] = []  # for each of `rows`: ns of its remaining children
    for row in range(len(totals)):
        while left and (left[-1] <= 0 or totals[row] > left[-1] + _rounding_tolerance(row - rows[-1])):
            rows.pop()
            left.pop()
        if left:
            parent[row] = rows[-1]
            left[-1] -= totals[row]
        if below[row] > 0:
            rows.append(row)
            left.append(below[row])
    return out


def _rounding_tolerance(rows: int) -> int:
    """Tolerance for the rounding of this number of figures, ns."""
    return min(rows, 10)
