"""Distinct texts of a column and their codes, in C or Python with equal codes."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from typing import Union

import numpy as np
from numpy.typing import NDArray

from tb_npu_plugin.readers.shared.spool import Spool
from tb_npu_plugin.scan import native_or_python
from tb_npu_plugin.texts import TextList
from tb_npu_plugin.units import number_column

# Compact storage for the distinct texts of a column.


class PackedTexts:
    """Texts by number. The texts of one `append` differ from each other, but may repeat earlier ones."""

    def __init__(self, spool: Spool, as_figures: bool) -> None:
        self._blob = spool.column(np.uint8)
        self._lengths = spool.column(np.int64)
        self._hashes = spool.column(np.uint32)
        self._figures = spool.column(np.float64)
        self._are_figures = as_figures
        self._count = 0
        self._batches = 0
        self._texts: TextList | None = None

    def __len__(self) -> int:
        return self._count

    def append(self, texts: TextList, hashes: NDArray[np.uint32]) -> None:
        """Add distinct texts; their numbers follow the last one. hashes: equal for equal texts."""
        self._blob.append(np.asarray(texts.blob))
        self._lengths.append(np.diff(texts.ends))
        self._hashes.append(hashes)
        if self._are_figures:
            numbers, bad = number_column(list(texts))
            self._figures.append(numbers)
            self._are_figures = not bad.any()
        self._count += len(texts)
        self._batches += 1

    def texts(self) -> TextList:
        """Return all texts. No text can be appended afterwards."""
        if self._texts is None:
            ends = np.zeros(self._count + 1, dtype=np.int64)
            np.cumsum(self._lengths.values(), out=ends[1:])
            self._texts = TextList(self._blob.values().data, ends)
        return self._texts

    def figures(self) -> NDArray[np.float64] | None:
        """Return the texts as numbers; None if one is not a number, or without `as_figures`."""
        return self._figures.values() if self._are_figures else None

    def same(self) -> NDArray[np.int32] | None:
        """Return, for each text, the number of the first equal text; None if all differ."""
        if self._batches < 2:
            return None
        hashes = self._hashes.values()
        order = np.argsort(hashes, kind="stable")
        again = np.flatnonzero(hashes[order[1:]] == hashes[order[:-1]]) + 1
        if not len(again):
            return None
        texts = self.texts()
        same = np.arange(self._count, dtype=np.int32)
        seen: dict[str, int] = {}  # texts with the current hash
        last = -1
        for place in again.tolist():
            before, number = int(order[place - 1]), int(order[place])
            if last != place - 1:
                seen = {texts[before]: before}
            last = place
            same[number] = seen.setdefault(texts[number], number)
        return same


class NativeTexts:
    """As PythonTexts, but in C, to which `_csv.Rows` adds. native: what it adds to."""

    def __init__(self) -> None:
        from tb_npu_plugin.readers import _csv

        self.native = _csv.Texts(secrets.randbits(64))
        self.code = self.native.code

    def __len__(self) -> int:
        return len(self.native)

    def take(self) -> tuple[TextList, NDArray[np.uint32]]:
        """See PythonTexts."""
        blob, ends, hashes = self.native.take()
        return TextList(blob, np.frombuffer(ends, np.int64)), np.frombuffer(hashes, np.uint32)


class PythonTexts:
    """Texts in a dict; their number is that since the last `take`."""

    def __init__(self) -> None:
        self._codes: dict[str, int] = {}
        self._first = 0

    def __len__(self) -> int:
        return len(self._codes)

    def code(self, text: str, /) -> int:
        """Code of a text, which is added if it is new."""
        return self._codes.setdefault(text, self._first + len(self._codes))

    def take(self) -> tuple[TextList, NDArray[np.uint32]]:
        """The texts with a hash of each, and forget them."""
        texts = list(self._codes)
        self._codes.clear()
        self._first += len(texts)
        return TextList.of(texts), np.fromiter((hash(text) & 0xFFFFFFFF for text in texts), np.uint32, len(texts))


#: Texts in order of first use. Their codes go on behind those of the texts that were taken.
DistinctTexts = Union[NativeTexts, PythonTexts]


def distinct_texts() -> DistinctTexts:
    """Return an empty `DistinctTexts`. Raises ImportError as native_or_python."""
    native: Callable[[], DistinctTexts] = NativeTexts
    return native_or_python(native, PythonTexts)
