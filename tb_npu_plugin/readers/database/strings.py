"""Resolves ids of STRING_IDS and enumeration tables to texts."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from tb_npu_plugin.messages import Message
from tb_npu_plugin.readers.database.source import Source, spool_column
from tb_npu_plugin.readers.shared.damage import is_damaged, repair
from tb_npu_plugin.readers.shared.spool import Spool
from tb_npu_plugin.schema.torch_npu_db import NO_ID, Select
from tb_npu_plugin.tables import NULL_INT, IntArray, StringColumn
from tb_npu_plugin.texts import TextList

#: Texts that mean "no value".
_MISSING = frozenset(("", "N/A"))
_PIECE = 1 << 18
#: Name for an id without a text.
_STAND_IN = "text {0}"


class Strings:
    """The texts of an id table; the first row of an id counts."""

    def __init__(self, source: Source, select: Select) -> None:
        self._spool = source.spool
        self._report = source.report
        self._where = select.table
        self._is_reported = False
        ids: list[IntArray] = []
        blob = bytearray()
        lengths: list[int] = []

        def take(chunk: dict[str, object]) -> None:
            values = chunk.get("value")
            found = chunk["id"]
            assert isinstance(found, np.ndarray)
            texts = values if isinstance(values, list) else [None] * len(found)
            ids.append(found)
            for text in texts:
                data = (text or "").encode("utf-8", "surrogateescape")
                blob.extend(data)
                lengths.append(len(data))

        source.chunks(select, (), take)
        every = np.concatenate([np.zeros(0, dtype=np.int64), *ids])
        ends = np.zeros(len(lengths) + 1, dtype=np.int64)
        np.cumsum(lengths, out=ends[1:])
        self._texts = TextList(blob, ends)
        self._ids, self._place = np.unique(every, return_index=True)

    def __len__(self) -> int:
        return len(self._ids)

    def _places(self, ids: IntArray) -> NDArray[np.int64]:
        """Return the index of each id's text; -1 if missing."""
        if not len(self._ids):
            return np.full(len(ids), -1, dtype=np.int64)
        at = np.minimum(np.searchsorted(self._ids, ids), len(self._ids) - 1)
        return np.where(self._ids[at] == ids, self._place[at], -1)

    def text(self, id_: int) -> str | None:
        """Return the text of one id; None if missing."""
        place = int(self._places(np.array([id_], dtype=np.int64))[0])
        return None if place < 0 else self._text_at(place)

    def _text_at(self, place: int) -> str:
        start, end = self._texts.ends[place : place + 2].tolist()
        text = bytes(self._texts.blob[start:end]).decode("utf-8", "surrogateescape")
        if is_damaged(text):
            self._report.add("bad_bytes", self._where, found=text)
            return repair(text)
        return text

    def names(self, ids: IntArray) -> StringColumn:
        """As `column`, for required names: an id without a text gives a substitute name."""
        text = self.column(ids)
        missing = np.flatnonzero(self.missing(ids))
        if not len(missing):
            return text
        found, code = np.unique(ids[missing], return_inverse=True)
        codes = text.codes.copy()
        codes[missing] = code.reshape(-1) + len(text.values)
        return StringColumn(codes, [*text.values, *(_STAND_IN.format(id_) for id_ in found.tolist())])

    def missing(self, ids: IntArray) -> NDArray[np.bool_]:
        """Mask of the ids whose text is missing."""
        return np.asarray((self._places(ids) < 0) & (ids != NULL_INT) & (ids != NO_ID))

    def column(self, ids: IntArray, unquote: bool = False, raw: bool = False) -> StringColumn:
        """Return a text column for a column of ids. Empty and N/A are unknown, as in text files. unquote: remove the
        quotation marks around shapes. raw: return texts unchanged."""
        missing = np.flatnonzero(self.missing(ids))
        if len(missing) and not self._is_reported:
            self._is_reported = True
            self._report.add("unknown_text", self._where, found=Message("found.id", id=int(ids[missing[0]])))
        codes = self._spool.column(np.int32)
        code_of_place = np.full(len(self._texts) + 1, -2, dtype=np.int32)  # -2: not seen; last entry: no text
        code_of_place[-1] = -1
        values: dict[str, int] = {}
        for piece in _split(ids):
            places = self._places(piece)
            for place in _by_first_use(places[code_of_place[places] == -2]):
                text = self._text_at(place)
                if not raw:
                    text = text.strip()
                    if unquote and len(text) > 1 and text[0] == text[-1] == '"':
                        text = text[1:-1]
                unknown = not raw and text in _MISSING
                code_of_place[place] = -1 if unknown else values.setdefault(text, len(values))
            codes.append(code_of_place[places])
        return StringColumn(codes.values(), list(values))


def _by_first_use(places: NDArray[np.int64]) -> list[int]:
    found, first = np.unique(places, return_index=True)
    return [int(place) for place in found[np.argsort(first)]]


def _split(values: IntArray) -> Iterator[IntArray]:
    return (values[start : start + _PIECE] for start in range(0, len(values), _PIECE))


def take_text(spool: Spool, text: StringColumn, rows: NDArray[np.int64]) -> StringColumn:
    """Return rows of a text column (-1: unknown), with values in order of first use."""
    codes = np.where(rows >= 0, text.codes[rows], np.int32(-1)) if len(text) else np.full(len(rows), -1, np.int32)
    found, first = np.unique(codes, return_index=True)
    order = found[np.argsort(first)]
    order = order[order >= 0]
    new = np.full(len(text.values) + 1, -1, dtype=np.int32)  # last entry: unknown
    new[order] = np.arange(len(order), dtype=np.int32)
    return StringColumn(spool_column(spool, new[codes]), [text.values[code] for code in order.tolist()])
