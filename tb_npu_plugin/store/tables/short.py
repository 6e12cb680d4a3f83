"""Short tables in one binary file: it is read or written in 1 ms, a DuckDB file in 50 ms.

    file:   u64 length of the index, the index (JSON: {table: [offset, length, CRC32]}), then the tables
    table:  u64 length of the header, the header (JSON: rows, columns), then the columns
    column: int64 or float64 values, by `Column.kind`; for texts int32 codes, int64 ends of the values, values in UTF-8

Little-endian; every part is aligned to 8 bytes from the start of the file.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tb_npu_plugin.messages import from_json, to_json
from tb_npu_plugin.tables import Column, Data, Kind, StringColumn, Table
from tb_npu_plugin.texts import TextList

_ALIGN = 8


def write_short(path: Path, tables: Mapping[str, Table]) -> None:
    """Write tables into a new file. Raises OSError."""
    parts = {name: _pack(table) for name, table in tables.items()}
    offsets, at = {}, 0
    for name, part in parts.items():
        offsets[name] = [at, len(part), zlib.crc32(part)]
        at += len(part)
    with path.open("wb") as out:
        out.write(_head(offsets))
        out.writelines(parts.values())


def read_short(path: Path, table: str) -> Table | None:
    """One table; None when the file lacks it. Raises OSError; ValueError for a damaged file."""
    with path.open("rb") as file:
        length = int.from_bytes(file.read(8), "little")
        start = 8 + length
        if start > path.stat().st_size:
            raise ValueError(f"{path.name} is damaged: no index")
        offsets = json.loads(file.read(length))
        if table not in offsets:
            return None
        offset, size, check = offsets[table]
        file.seek(start + offset)
        part = bytearray(size)  # not bytes: its arrays must be writable, like all others
        if file.readinto(part) != size or zlib.crc32(part) != check:
            raise ValueError(f"{path.name} is damaged: {table}")
    return _unpack(part)


def _pack(table: Table) -> bytes:
    columns = [
        (column.key, column.kind.value, to_json(column.title), to_json(column.doc), column.group)
        for column in table.columns
    ]
    parts: list[bytes] = []
    values: list[int] = []
    for column in table.columns:
        data = table.data[column.key]
        if isinstance(data, StringColumn):
            words = TextList.of(data.values)
            parts += [data.codes.astype("<i4").tobytes(), words.ends.astype("<i8").tobytes(), bytes(words.blob)]
            values.append(len(words))
        else:
            parts.append(data.astype("<i8" if column.kind.is_int else "<f8").tobytes())
            values.append(0)
    head = _head({"rows": len(table), "columns": columns, "values": values})
    return b"".join([head, *(part + bytes(-len(part) % _ALIGN) for part in parts)])


def _head(content: Any) -> bytes:
    """A JSON object after its length."""
    text = json.dumps(content).encode()
    text += b" " * (-len(text) % _ALIGN)
    return len(text).to_bytes(8, "little") + text


@dataclass
class _Reader:
    """Reads aligned parts in sequence."""

    part: bytearray
    at: int = 0

    def bytes(self, size: int) -> memoryview:
        start = self.at
        self.at += size + -size % _ALIGN
        return memoryview(self.part)[start : start + size]

    def array(self, count: int, kind: str) -> NDArray[Any]:
        return np.frombuffer(self.bytes(count * np.dtype(kind).itemsize), dtype=kind)


def _unpack(part: bytearray) -> Table:
    reader = _Reader(part)
    head = json.loads(bytes(reader.bytes(int(reader.array(1, "<u8")[0]))))
    data: dict[str, Data] = {}
    columns = tuple(
        Column(key, Kind(kind), from_json(title), from_json(doc), group)
        for key, kind, title, doc, group in head["columns"]
    )
    for column, values in zip(columns, head["values"]):
        if column.kind is Kind.TEXT:
            codes, ends = reader.array(head["rows"], "<i4"), reader.array(values + 1, "<i8")
            data[column.key] = StringColumn(codes, list(TextList(reader.bytes(int(ends[-1])), ends)))
        else:
            data[column.key] = reader.array(head["rows"], "<i8" if column.kind.is_int else "<f8")
    return Table(columns, data)
