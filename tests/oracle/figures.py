"""Figures of result files as the product must hold them: integer ns and bytes from the digits. Standard library only."""

from __future__ import annotations

from decimal import ROUND_HALF_EVEN, Decimal
from typing import Optional, Union


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
