"""The only place that turns the figures of result files into integer nanoseconds and bytes.

Result files write decimal text ("1736408883704643.212" us, "18816.5" KB). Going through float64 would lose
the nanoseconds of an epoch time (its step there is 0.25 us), so the digits are read as they stand.
"""

from __future__ import annotations

import re
from decimal import ROUND_HALF_EVEN, Decimal, InvalidOperation

#: Nanoseconds in one unit of time as result files spell it.
TIME_UNITS = {"ns": 1, "us": 1_000, "ms": 1_000_000, "s": 1_000_000_000}
#: Bytes in one unit of size. CSV files mean 1024-based units.
SIZE_UNITS = {"Byte": 1, "Bytes": 1, "B": 1, "KB": 1024, "MB": 1024**2, "GB": 1024**3}
#: Bytes in one unit of size in communication.json and communication_matrix.json (decimal: MB/ms is GB/s).
DECIMAL_SIZE_UNITS = {"KB": 1_000, "MB": 1_000_000, "GB": 1_000_000_000}

_BRACKETS = re.compile(r"\(([^()]*)\)\s*$")
_INT64_MAX = 2**63 - 1


def unit_of(header: str) -> str:
    """The unit in the brackets at the end of a header: "Start Time(us)" -> "us"; "" without one."""
    found = _BRACKETS.search(header)
    return found.group(1).strip() if found else ""


def scaled(text: str, factor: int) -> int | None:
    """Decimal text times an integer factor, rounded half to even to an integer; None if it is no number
    or does not fit int64. Accepts surrounding white space, a sign and an exponent.

    >>> scaled("1736408883704643.212\\t", 1000)
    1736408883704643212
    >>> scaled("3.6500000000000004", 1000)
    3650
    >>> scaled("N/A", 1000) is None
    True
    """
    text = text.strip()
    if factor == 1000 and len(text) > 4 and text[-4] == "." and text[0] != "-":
        digits = text[:-4] + text[-3:]
        if digits.isdigit() and digits.isascii() and len(digits) < 19:
            return int(digits)
    try:
        value = Decimal(text) * factor
        if not value.is_finite() or abs(value) > _INT64_MAX:
            return None
        result = int(value.to_integral_value(rounding=ROUND_HALF_EVEN))
    except (InvalidOperation, ValueError):
        return None
    return result if abs(result) <= _INT64_MAX else None


def number(text: str) -> float | None:
    """Finite float from text, None otherwise (N/A, NaN and infinities are unknown)."""
    try:
        value = float(text.strip())
    except ValueError:
        return None
    return value if value - value == 0.0 else None
