"""Natural order of many texts, in C or Python with equal results."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tb_npu_plugin.scan import native_or_python
from tb_npu_plugin.texts import TextList, natural_key


def natural_order(texts: TextList) -> NDArray[np.int32]:
    """Indices of the texts in natural order (see natural_key), int32; equal texts keep their order."""
    return native_or_python(lambda: _order_in_c(texts), lambda: _order_in_python(texts))


def _order_in_python(texts: TextList) -> NDArray[np.int32]:
    keys = list(map(natural_key, texts))
    return np.fromiter(sorted(range(len(keys)), key=keys.__getitem__), np.int32, len(keys))


def _order_in_c(texts: TextList) -> NDArray[np.int32]:
    from tb_npu_plugin.store import _natural

    blob = np.asarray(texts.blob)
    folded = texts
    if blob.max(initial=0) > 0x7F:  # only Python knows the cases of other scripts
        folded = TextList.of(map(str.casefold, texts))
    order = _natural.natural_order(blob, texts.ends, np.asarray(folded.blob), folded.ends)
    return np.frombuffer(order, dtype=np.int32)
