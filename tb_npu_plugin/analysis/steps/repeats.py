"""Counts how often a capture without steps repeats its work, from its kernels."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tb_npu_plugin.analysis.grouping import Groups
from tb_npu_plugin.analysis.kernels.kinds import is_computing, is_copy
from tb_npu_plugin.tables import Table, known

#: A type of kernels that occurs more often in a step does not separate the steps.
_MOST_A_STEP = 16


def repeats(kernels: Table) -> int:
    """Number of complete, consecutive repetitions in the type sequence of the busiest stream's computing kernels; 1 if
    the sequence does not repeat.

    A training step has forward, backward and parameter update, so that neither a part of it nor the layers of a single
    step count as a repetition. Types are compared, not shapes, which may change with the input.
    """
    codes = _sequence(kernels)
    if not len(codes):
        return 1
    count = np.bincount(codes)
    rarest = np.flatnonzero(codes == np.where(count > 0, count, len(codes) + 1).argmin())
    for number in range(1, min(_MOST_A_STEP, len(rarest) - 1) + 1):
        period = int(rarest[number] - rarest[0])
        if np.array_equal(codes[period:], codes[:-period]):
            return max(len(codes) // period, 1)
    return 1


def _sequence(kernels: Table) -> NDArray[np.int64]:
    """Codes of the types (of the names for unknown types), by start."""
    rows = kernels.take((is_computing(kernels) | is_copy(kernels)) & known(kernels.ints("start_ns")))
    types = rows.text("type")
    words = types if (types.codes >= 0).any() else rows.text("name")
    rows, words = rows.take(words.codes >= 0), words.take(words.codes >= 0)
    streams = Groups([rows.ints("stream_id")], len(rows))
    if not len(streams):
        return np.zeros(0, dtype=np.int64)
    own = streams.of_row == streams.count().argmax()
    order = np.argsort(rows.ints("start_ns")[own], kind="stable")
    return np.asarray(words.codes[own][order], dtype=np.int64)
