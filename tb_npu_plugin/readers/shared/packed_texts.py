"""Texts of a column that are too many to be Python objects all at once."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tb_npu_plugin.readers.shared.spool import Spool
from tb_npu_plugin.texts import TextList
from tb_npu_plugin.units import number_column


class PackedTexts:
    """Texts by their numbers. Each call brings texts that differ from each other, though not from those before."""

    def __init__(self, spool: Spool, as_figures: bool) -> None:
        self._blob = spool.column(np.uint8)
        self._lengths = spool.column(np.int64)
        self._hashes = spool.column(np.int64)
        self._figures = spool.column(np.float64)
        self._are_figures = as_figures
        self._count = 0
        self._texts: TextList | None = None

    def __len__(self) -> int:
        return self._count

    def append(self, texts: list[str]) -> None:
        """More texts."""
        packed = TextList.of(texts)
        self._blob.append(np.frombuffer(packed.blob, np.uint8))
        self._lengths.append(np.diff(packed.ends))
        self._hashes.append(np.fromiter(map(hash, texts), np.int64, len(texts)))
        if self._are_figures:
            numbers, bad = number_column(texts)
            self._figures.append(numbers)
            self._are_figures = not bad.any()
        self._count += len(texts)

    def texts(self) -> TextList:
        """All of them. Nothing can be appended then."""
        if self._texts is None:
            ends = np.zeros(self._count + 1, dtype=np.int64)
            np.cumsum(self._lengths.values(), out=ends[1:])
            self._texts = TextList(self._blob.values().data, ends)
        return self._texts

    def figures(self) -> NDArray[np.float64] | None:
        """All texts as figures, where they were asked for and each is one."""
        return self._figures.values() if self._are_figures else None

    def same(self) -> NDArray[np.int32] | None:
        """Of each text the number of the first one that equals it; None where all differ."""
        hashes = self._hashes.values()
        order = np.argsort(hashes, kind="stable")
        again = np.flatnonzero(hashes[order[1:]] == hashes[order[:-1]]) + 1
        if not len(again):
            return None
        texts = self.texts()
        same = np.arange(self._count, dtype=np.int32)
        seen: dict[str, int] = {}  # those that share one hash
        for place in again.tolist():
            before, number = int(order[place - 1]), int(order[place])
            if hashes[before] not in {hash(text) for text in seen}:
                seen = {texts[before]: before}
            same[number] = seen.setdefault(texts[number], number)
        return same
