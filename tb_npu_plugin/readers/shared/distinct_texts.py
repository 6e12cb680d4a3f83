"""Distinct texts of a column and their codes, in C or Python with equal codes."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from tb_npu_plugin.scan import native_or_python
from tb_npu_plugin.texts import TextList


class DistinctTexts(Protocol):
    """Texts in order of first use. Their codes go on behind those of the texts that were taken."""

    def __len__(self) -> int:
        """Number of texts since the last `take`."""

    def code(self, text: str, /) -> int:
        """Code of a text, which is added if it is new."""

    def take(self) -> tuple[TextList, NDArray[np.uint32]]:
        """The texts with a hash of each, and forget them."""


def distinct_texts() -> DistinctTexts:
    """Return an empty `DistinctTexts`. Raises ImportError as native_or_python."""
    native: Callable[[], DistinctTexts] = NativeTexts
    return native_or_python(native, PythonTexts)


class NativeTexts:
    """DistinctTexts in C, to which `_csv.Rows` adds. native: what it adds to."""

    def __init__(self) -> None:
        from tb_npu_plugin.readers import _csv

        self.native = _csv.Texts(secrets.randbits(64))
        self.code = self.native.code

    def __len__(self) -> int:
        return len(self.native)

    def take(self) -> tuple[TextList, NDArray[np.uint32]]:
        """See DistinctTexts."""
        blob, ends, hashes = self.native.take()
        return TextList(blob, np.frombuffer(ends, np.int64)), np.frombuffer(hashes, np.uint32)


class PythonTexts:
    """DistinctTexts in a dict."""

    def __init__(self) -> None:
        self._codes: dict[str, int] = {}
        self._first = 0

    def __len__(self) -> int:
        return len(self._codes)

    def code(self, text: str, /) -> int:
        """See DistinctTexts."""
        return self._codes.setdefault(text, self._first + len(self._codes))

    def take(self) -> tuple[TextList, NDArray[np.uint32]]:
        """See DistinctTexts."""
        texts = list(self._codes)
        self._codes.clear()
        self._first += len(texts)
        return TextList.of(texts), np.fromiter((hash(text) & 0xFFFFFFFF for text in texts), np.uint32, len(texts))
