"""Maps millions of distinct texts to indices, with a fraction of the memory of a dict."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from tb_npu_plugin.texts import TextList

_FIRST_SLOTS = 1024
_FREE = -1


class TextTable:
    """Texts in order of first use, in a hash table with open addressing that is searched in bulk."""

    def __init__(self, hash_of: Callable[[str], int] = hash) -> None:
        """hash_of: 64-bit hash; collisions are allowed."""
        self._hash_of = hash_of
        self._blob = bytearray()
        self._ends = array("q", [0])
        self._hashes = np.zeros(0, dtype=np.int64)  # of the texts, with spare capacity
        self._slots = np.full(_FIRST_SLOTS, _FREE, dtype=np.int32)
        self._shared: dict[str, int] = {}  # texts whose hash equals that of an earlier text

    def __len__(self) -> int:
        return len(self._ends) - 1

    def indices(self, texts: Sequence[str]) -> NDArray[np.int32]:
        """Indices of distinct texts; new texts are added."""
        hashes = np.fromiter(map(self._hash_of, texts), dtype=np.int64, count=len(texts))
        out = self._find(hashes)
        for place in np.flatnonzero(out != _FREE).tolist():
            out[place] = self._index_of_text(int(out[place]), texts[place])
        new = np.flatnonzero(out == _FREE)
        if not len(new):
            return out
        _, first = np.unique(hashes[new], return_index=True)
        chosen = new[np.sort(first)]
        out[chosen] = self._add([texts[place] for place in chosen.tolist()], hashes[chosen])
        for place in np.setdiff1d(new, chosen).tolist():
            out[place] = self._index_of_text(int(self._find(hashes[place : place + 1])[0]), texts[place])
        return out

    def copy(self) -> TextList:
        """The texts so far."""
        return TextList(bytes(self._blob), np.array(self._ends, dtype=np.int64))

    def take(self) -> TextList:
        """The texts, without a copy. No text can be added afterwards."""
        return TextList(self._blob, np.frombuffer(self._ends, dtype=np.int64))

    def _find(self, hashes: NDArray[np.int64]) -> NDArray[np.int32]:
        """Index of the first text with each hash; _FREE without one."""
        out = np.full(len(hashes), _FREE, dtype=np.int32)
        mask = len(self._slots) - 1
        rows, slots = np.arange(len(hashes)), hashes & mask
        while len(rows):
            found = self._slots[slots]
            taken = found != _FREE
            same = np.zeros(len(rows), dtype=bool)
            same[taken] = self._hashes[found[taken]] == hashes[rows[taken]]
            out[rows[same]] = found[same]
            on = taken & ~same
            rows, slots = rows[on], (slots[on] + 1) & mask
        return out

    def _index_of_text(self, index: int, text: str) -> int:
        """The index of a text whose hash equals that of the text at `index`."""
        encoded = text.encode("utf-8", "replace")
        if self._blob[self._ends[index] : self._ends[index + 1]] == encoded:
            return index
        if text not in self._shared:
            self._shared[text] = self._append(encoded)
        return self._shared[text]

    def _append(self, encoded: bytes) -> int:
        self._blob += encoded
        self._ends.append(len(self._blob))
        return len(self) - 1

    def _add(self, texts: list[str], hashes: NDArray[np.int64]) -> NDArray[np.int32]:
        """Add new texts with distinct hashes. Returns their indices."""
        indices = np.array([self._append(text.encode("utf-8", "replace")) for text in texts], dtype=np.int32)
        if len(self) > len(self._hashes):
            room = np.zeros(len(self) // 2 + _FIRST_SLOTS, dtype=np.int64)
            self._hashes = np.concatenate([self._hashes[: indices[0]], np.zeros(len(texts), dtype=np.int64), room])
        self._hashes[indices] = hashes
        if 2 * len(self) > len(self._slots):
            known = self._slots[self._slots != _FREE]
            while 2 * len(self) > len(self._slots):
                self._slots = np.zeros(2 * len(self._slots), dtype=np.int32)
            self._slots[:] = _FREE
            self._fill_slots(known)
        self._fill_slots(indices)
        return indices

    def _fill_slots(self, indices: NDArray[np.int32]) -> None:
        """Put texts into free slots. There must be enough."""
        mask = len(self._slots) - 1
        slots = self._hashes[indices] & mask
        while len(indices):
            free = self._slots[slots] == _FREE
            self._slots[slots[free]] = indices[free]  # one of those with the same slot gets it
            on = self._slots[slots] != indices
            indices, slots = indices[on], (slots[on] + 1) & mask
