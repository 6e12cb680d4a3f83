"""Natural order of texts in C; see native/natural.h. Columns are C-contiguous arrays of exactly the types named."""

import numpy as np
from numpy.typing import NDArray

def natural_order(
    blob: NDArray[np.uint8], ends: NDArray[np.int64], folded_blob: NDArray[np.uint8], folded_ends: NDArray[np.int64], /
) -> bytearray:
    """Indices of the texts in natural order, as int32. folded: the texts with case folded; ASCII need not be."""
