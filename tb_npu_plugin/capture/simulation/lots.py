"""Random numbers by the thousand."""

from __future__ import annotations

from random import Random

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


class Lots:
    """Numbers from 0 to 1, the same that Random(seed).random() gives one by one: both are the Mersenne Twister."""

    def __init__(self, seed: str) -> None:
        *key, place = Random(seed).getstate()[1]
        self._twister = np.random.RandomState()
        self._twister.set_state(("MT19937", np.array(key, dtype=np.uint32), place, 0, 0.0))

    def take(self, count: int) -> Floats:
        """The next numbers."""
        return self._twister.random_sample(count)
