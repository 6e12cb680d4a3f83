"""Converts times of a batch of events from JSON text to int64 ns."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from tb_npu_plugin.scan.events import no_time
from tb_npu_plugin.tables import NULL_INT, IntArray
from tb_npu_plugin.units import TIME_UNITS, scale_decimal

_UNIT = TIME_UNITS["us"]  # ts and dur of a trace are microseconds
_DIGITS = 18  # always fit int64
_EXACT = 2.0**40  # below this many ns, float64 arithmetic on a duration is far finer than the tie guard
_TIE = 1e-3


def from_json(value: bytes) -> int:
    """ns of one JSON value in us: a number or a number in quotes. NULL_INT for anything else."""
    text = value.strip(b' \t\r\n"').decode("ascii", "replace")
    result = scale_decimal(text, _UNIT)
    return NULL_INT if result is None else result


def times(values: Sequence[bytes]) -> IntArray:
    """Timestamps in ns. values: JSON texts (bytes-like), empty where absent.

    Values with three decimals, the usual form, are converted in bulk, the others one by one.
    """
    out = no_time(len(values))
    lengths = np.fromiter(map(len, values), dtype=np.int64, count=len(values))
    for length, count in zip(*(part.tolist() for part in np.unique(lengths, return_counts=True))):
        if length == 0:
            continue
        rows = np.flatnonzero(lengths == length)
        chosen = values if count == len(values) else [values[row] for row in rows.tolist()]
        done = _same_length(chosen, length) if count > 8 else no_time(count)
        for index in np.flatnonzero(done == NULL_INT).tolist():
            done[index] = from_json(bytes(chosen[index]))
        out[rows] = done
    return out


def _same_length(values: Sequence[bytes], length: int) -> IntArray:
    """`times` for values of equal length; NULL_INT if the form is not `digits.ddd`, with or without quotes."""
    chars = np.frombuffer(b"".join(values), dtype=np.uint8).reshape(len(values), length)
    quoted = bool(chars[0, 0] == ord('"'))
    body = chars[:, 1:-1] if quoted else chars
    out = no_time(len(values))
    width = body.shape[1]
    if width < 5 or width - 1 > _DIGITS + 1:
        return out
    good = body[:, -4] == ord(".")
    if quoted:
        good &= (chars[:, 0] == ord('"')) & (chars[:, -1] == ord('"'))
    total = np.zeros(len(values), dtype=np.int64)
    for column in [*range(width - 4), *range(width - 3, width)]:
        digit = body[:, column].astype(np.int64) - ord("0")
        good &= (digit >= 0) & (digit <= 9)
        total = total * 10 + digit
    if width - 1 > _DIGITS:  # 19 digits fit when the first is at most 8
        good &= body[:, 0] <= ord("8")
    out[good] = total[good]
    return out


def _float_or_nan(value: bytes) -> float:
    try:
        return float(value)
    except ValueError:
        return np.nan


def durations(values: Sequence[bytes]) -> tuple[IntArray, NDArray[np.float32]]:
    """(durations in ns, rounded half to even; what rounding took off). values: as for `times`."""
    text = np.zeros(len(values), dtype=bool)
    try:
        micros = np.array([float(value) if value else np.nan for value in values], dtype=np.float64)
    except ValueError:  # some are texts, null or objects
        micros = np.array([_float_or_nan(bytes(value)) for value in values], dtype=np.float64)
        text = np.isnan(micros) & np.array([bool(value) for value in values])
    with np.errstate(over="ignore"):  # 1e308: none
        nanos = micros * _UNIT
    out = no_time(len(values))
    with np.errstate(invalid="ignore"):
        near_tie = np.abs(nanos - np.floor(nanos) - 0.5) < _TIE
        fine = (np.abs(nanos) < _EXACT) & ~near_tie
    out[fine] = np.rint(nanos[fine]).astype(np.int64)
    for row in np.flatnonzero(~fine & (text | ~np.isnan(micros))).tolist():
        out[row] = from_json(bytes(values[row]))
    rest = np.zeros(len(values), dtype=np.float32)
    close = (out != NULL_INT) & (np.abs(micros) < _EXACT)
    rest[close] = nanos[close] - out[close]
    return out, rest
