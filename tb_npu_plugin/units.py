"""Parses figures of result files into integer nanoseconds and bytes; no other module does.

Result files write decimal text ("1736408883704643.212" us, "18816.5" KB). float64 would lose the nanoseconds of an
epoch time (its step there is 0.25 us), so the decimal digits are parsed exactly.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from decimal import ROUND_HALF_EVEN, Decimal

import numpy as np
from numpy.typing import NDArray

#: Nanoseconds by time unit, as spelled in result files.
TIME_UNITS = {"ns": 1, "us": 1_000, "ms": 1_000_000, "s": 1_000_000_000}
#: Bytes by size unit in CSV files: units are powers of 1024.
SIZE_UNITS = {"Byte": 1, "Bytes": 1, "B": 1, "KB": 1024, "MB": 1024**2, "GB": 1024**3}
#: 1e9 bytes per second, by bandwidth unit.
BANDWIDTH_UNITS = {"GB/s": 1.0, "MB/s": 1e-3, "KB/s": 1e-6, "B/s": 1e-9}
#: Bytes by size unit in communication.json and communication_matrix.json: decimal, so that MB/ms is GB/s.
DECIMAL_SIZE_UNITS = {"KB": 1_000, "MB": 1_000_000, "GB": 1_000_000_000}

_BRACKETS = re.compile(r"\(([^()]*)\)\s*$")
_INT64_MAX = 2**63 - 1
#: Below this limit, text times a factor in float64 is off by less than 0.25.
_FLOAT_EXACT = 2.0**49


def unit_of(header: str) -> str:
    """Unit in the brackets at the end of a header: "Start Time(us)" -> "us"; "" without one."""
    found = _BRACKETS.search(header)
    return found.group(1).strip() if found else ""


def is_whole(text: str) -> bool:
    """Whether the number has no fraction: "3", "3.0", "1e3". True also for text that is not a number."""
    if text.isdigit():
        return True
    value = float_or_none(text)
    return value is None or value == int(value)


def scale_decimal(text: str, factor: int) -> int | None:
    """Decimal text times an integer factor, rounded half to even; None if it is not a number
    or exceeds int64. Accepts surrounding white space, a sign and an exponent.

    >>> scale_decimal("1736408883704643.212\\t", 1000)
    1736408883704643212
    >>> scale_decimal("3.6500000000000004", 1000)
    3650
    >>> scale_decimal("N/A", 1000) is None
    True
    """
    text = text.strip()
    if factor == 1000 and len(text) > 4 and text[-4] == "." and text[0] != "-":
        digits = text[:-4] + text[-3:]
        if digits.isdigit() and digits.isascii() and len(digits) < 19:
            return int(digits)
    if len(text) < 10 and text.isdigit() and text.isascii():
        return int(text) * factor
    if "_" in text:  # Python reads 1_000 as a number
        return None
    try:
        value = Decimal(text) * factor
        if not value.is_finite() or abs(value) > _INT64_MAX:
            return None
        result = int(value.to_integral_value(rounding=ROUND_HALF_EVEN))
    except (ArithmeticError, ValueError):  # also an exponent that overflows
        return None
    return result if abs(result) <= _INT64_MAX else None


def float_or_none(text: str) -> float | None:
    """Finite float from text; None for other text (N/A, NaN, infinities)."""
    try:
        value = float(text.strip()) if "_" not in text else math.nan
    except ValueError:
        return None
    return value if value - value == 0.0 else None


def scaled_column(texts: Sequence[str], factor: int) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """`scale_decimal` for a column: the integers, and a mask of the invalid texts (their integer is 0).

    As exact as `scale_decimal`; common shapes are vectorized.
    """
    plain = _plain_ascii(texts)
    if plain:
        values = _fixed_width(texts, factor)
        if values is not None:
            return values, np.zeros(len(texts), dtype=np.bool_)
        exact = _through_floats(texts, factor)
        if exact is not None:
            return exact
    results = [scale_decimal(text, factor) for text in texts]
    bad = np.fromiter((value is None for value in results), np.bool_, len(results))
    return np.fromiter((value or 0 for value in results), np.int64, len(results)), bad


def number_column(texts: Sequence[str]) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """`float_or_none` for a column: the floats, and a mask of the invalid texts (their float is NaN)."""
    if _plain_ascii(texts):
        try:
            values = np.fromiter(map(float, texts), np.float64, len(texts))
        except ValueError:
            pass
        else:
            bad = ~np.isfinite(values)
            values[bad] = np.nan
            return values, bad
    numbers = map(float_or_none, texts)
    values = np.fromiter((math.nan if value is None else value for value in numbers), np.float64, len(texts))
    return values, np.isnan(values)


def _plain_ascii(texts: Sequence[str]) -> bool:
    """False if a text holds what Python accepts in a number but result files never write: 1_000, full-width digits."""
    joined = "".join(texts)
    return joined.isascii() and "_" not in joined


def _fixed_width(texts: Sequence[str], factor: int) -> NDArray[np.int64] | None:
    """Parse epoch times whose texts share length, position of the decimal point, and a resolution of exactly 1 ns.

    Returns None for other columns.
    """
    width = len(texts[0]) if texts else 0
    point = texts[0].find(".") if texts else -1
    if point < 1 or width > 20 or 10 ** (width - point - 1) != factor:
        return None
    joined = "".join(texts).encode("ascii")
    if len(joined) != width * len(texts) or set(map(len, texts)) != {width}:
        return None
    cells = np.frombuffer(joined, np.uint8).reshape(len(texts), width)
    digits = np.delete(cells, point, axis=1) - np.uint8(ord("0"))
    if (cells[:, point] != ord(".")).any() or (digits > 9).any():
        return None
    if width == 20 and (digits[:, 0] > 8).any():
        return None  # might not fit int64
    values = np.zeros(len(texts), dtype=np.int64)
    for column in digits.T:
        values = values * 10 + column
    return values


def _through_floats(texts: Sequence[str], factor: int) -> tuple[NDArray[np.int64], NDArray[np.bool_]] | None:
    """Parse small figures through float64; only products near a half take the exact path. None if the column holds
    large figures or texts that are not numbers."""
    try:
        product = np.fromiter(map(float, texts), np.float64, len(texts)) * factor
    except ValueError:
        return None
    bad = ~np.isfinite(product)
    product[bad] = 0.0
    if np.abs(product).max(initial=0.0) > _FLOAT_EXACT:
        return None
    nearest = np.rint(product)
    values = nearest.astype(np.int64)
    for row in np.flatnonzero(np.abs(product - nearest) > 0.25).tolist():
        exact = scale_decimal(texts[row], factor)
        values[row] = 0 if exact is None else exact
    return values, bad
