"""Event types that msgspec decodes, and the conversion of texts to indices."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any, Optional, Union

import msgspec
import numpy as np
from numpy.typing import NDArray

from tb_npu_plugin.scan.columns import Columns
from tb_npu_plugin.scan.events import TEXT_COLUMNS, Interner
from tb_npu_plugin.scan.text_table import TextTable

_Raw = msgspec.Raw
_ABSENT = _Raw()


class Event(msgspec.Struct, gc=False):
    """One event. Values whose digits matter stay JSON text."""

    ph: str = ""
    name: Optional[str] = None
    cat: Optional[str] = None
    pid: Union[int, str, None] = None
    tid: Union[int, str, None] = None
    ts: _Raw = _ABSENT
    dur: _Raw = _ABSENT
    id: _Raw = _ABSENT
    bp: Optional[str] = None
    args: _Raw = _ABSENT


class LooseEvent(msgspec.Struct, gc=False):
    """One event whose fields may have any type."""

    ph: _Raw = _ABSENT
    name: _Raw = _ABSENT
    cat: _Raw = _ABSENT
    pid: _Raw = _ABSENT
    tid: _Raw = _ABSENT
    ts: _Raw = _ABSENT
    dur: _Raw = _ABSENT
    id: _Raw = _ABSENT
    bp: _Raw = _ABSENT
    args: _Raw = _ABSENT


_ERRORS = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
LIST = msgspec.json.Decoder(list[Event])
ONE = msgspec.json.Decoder(Event)
ONE_LOOSE = msgspec.json.Decoder(LooseEvent)


class Texts:
    """Maps values to text indices, None to -1. 12, "12" and their JSON texts as bytes have the same index."""

    def __init__(self) -> None:
        self.table = TextTable()

    def codes(self, values: Iterable[Any]) -> NDArray[np.int32]:
        """Indices of many values."""
        different, texts = Interner(), Interner()
        codes = np.array(list(map(different.__getitem__, values)), dtype=np.int32)
        found = [-1 if text is None else texts[text] for text in map(_text, different)]
        return np.append(self.table.indices(list(texts)), np.int32(-1))[found][codes]


def _text(value: Any) -> str | None:
    if isinstance(value, bytes):
        return json_text(value)
    return None if value is None else str(value)


class Rows:
    """Collects the rows that a scanner reads; those of the scanner in Python."""

    def __init__(self, columns: Columns) -> None:
        self._columns = columns
        self._texts = {column: Texts() for column in TEXT_COLUMNS}

    def codes(self, column: str, values: Iterable[Any]) -> NDArray[np.int32]:
        """Indices of texts for one of TEXT_COLUMNS; `values` as for Texts."""
        return self._texts[column].codes(values)

    def add(self, batch: dict[str, NDArray[Any]]) -> None:
        """Append one batch: every column of DTYPES, equal lengths."""
        self._columns.add(batch)

    def so_far(self) -> dict[str, Any]:
        """Columns and texts added so far, by their names in TraceEvents."""
        texts = {TEXT_COLUMNS[column]: found.table.copy() for column, found in self._texts.items()}
        return {**self._columns.arrays(), **texts}

    def take(self) -> dict[str, Any]:
        """As so_far, for all rows. Call it once, at the end: it frees the tables one by one."""
        out: dict[str, Any] = {}
        for column, name in TEXT_COLUMNS.items():
            out[name] = self._columns.texts(name, self._texts.pop(column).table.take())
        return {**out, **self._columns.arrays()}


def phase_code(phase: str) -> int:
    """Phase in the form of TraceEvents."""
    return ord(phase) if len(phase) == 1 and phase.isascii() else 0


def json_text(raw: bytes) -> str | None:
    """Text of a JSON string, or the digits of a number; None for null or no value."""
    if not raw or raw == b"null":
        return None
    if not raw.startswith(b'"'):
        return raw.decode("utf-8", "replace")
    return str(json.loads(raw, strict=False)).encode("utf-8", "replace").decode()


def decode(decoder: msgspec.json.Decoder[Any], data: bytes) -> Any:
    """The decoded value; None if the data are not valid JSON of that type."""
    try:
        return decoder.decode(data)
    except _ERRORS:
        return None


def to_strict(loose: LooseEvent) -> Event:
    """The same event with the fields that can be converted."""
    return Event(
        ph=json_text(bytes(loose.ph)) or "",
        name=json_text(bytes(loose.name)),
        cat=json_text(bytes(loose.cat)),
        pid=json_text(bytes(loose.pid)),
        tid=json_text(bytes(loose.tid)),
        bp=json_text(bytes(loose.bp)),
        **{key: getattr(loose, key) for key in ("ts", "dur", "id", "args")},
    )
