"""Figures of result files as the product must hold them: integer ns and bytes from the digits. Standard library only."""

from __future__ import annotations

from decimal import ROUND_HALF_EVEN, Decimal
from typing import Optional, Union

#: The step budgets of the real data, us: docs/facts/analysis.md, Reference figures of step times.
REAL_BUDGETS = {
    0: {
        "computing": "8873.756",
        "communication_not_overlapped": "101963.203",
        "overlapped": "4028.675",
        "communication": "105991.878",
        "free": "25744.050",
        "stage": "136581.0",
        "preparing": "17902.5",
    },
    1: {
        "computing": "8878.295",
        "communication_not_overlapped": "96359.047",
        "overlapped": "4016.239",
        "communication": "100375.286",
        "free": "26675.274",
        "stage": "131912.5",
        "preparing": "20433.25",
    },
}


def whole(value: Union[Decimal, str, float, None], factor: int) -> Optional[int]:
    """A figure times its unit, rounded half to even; None for N/A and nothing."""
    if value is None or value in ("", "N/A"):
        return None
    return int((Decimal(str(value)) * factor).to_integral_value(ROUND_HALF_EVEN))


def us(value: Union[Decimal, str, None]) -> Optional[int]:
    """us -> ns."""
    return whole(value, 1000)


def ms(value: Union[Decimal, float]) -> int:
    """ms -> ns."""
    return whole(value, 1_000_000) or 0


def mean(total: int, count: int) -> int:
    """Mean in whole ns, half to even."""
    return int((Decimal(total) / count).to_integral_value(ROUND_HALF_EVEN))
