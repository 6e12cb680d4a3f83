"""Attributes of many records as columns."""

from __future__ import annotations

from collections.abc import Sequence
from operator import attrgetter
from typing import Any

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]


def columns(records: Sequence[Any], *names: str) -> list[list[Any]]:
    """Values of these attributes of all records; a name may have a dot: "before.allocated"."""
    return [list(map(attrgetter(name), records)) for name in names]


def arrays(records: Sequence[Any], *names: str, none: int = 0) -> list[Ints]:
    """Values of these attributes of all records, which are whole numbers, or None: `none`."""
    return [
        np.array([none if value is None else value for value in values] if None in values else values, dtype=np.int64)
        for values in columns(records, *names)
    ]
