"""Writes Summary files, and reads event files of TensorBoard, with the standard library alone."""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Union

_TABLE = []
for _byte in range(256):
    for _ in range(8):
        _byte = _byte >> 1 ^ (0x82F63B78 if _byte & 1 else 0)
    _TABLE.append(_byte)
#: A field: number and content. An int is a varint, a float a double, bytes are as they are.
Field = tuple[int, Union[int, float, str, bytes, "Single"]]


class Single(float):
    """A float of 4 bytes."""


def masked_crc(data: bytes) -> int:
    """CRC-32C, rotated and moved as in TFRecord."""
    crc = 0xFFFFFFFF
    for byte in data:
        crc = _TABLE[(crc ^ byte) & 0xFF] ^ crc >> 8
    crc ^= 0xFFFFFFFF
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF


def record(data: bytes) -> bytes:
    """A record of an event file."""
    length = struct.pack("<Q", len(data))
    return length + struct.pack("<I", masked_crc(length)) + data + struct.pack("<I", masked_crc(data))


def records(content: bytes) -> Iterator[bytes]:
    """Data of the intact records of an event file."""
    at = 0
    while at < len(content):
        (length,) = struct.unpack_from("<Q", content, at)
        data = content[at + 12 : at + 12 + length]
        assert struct.unpack_from("<I", content, at + 12 + length) == (masked_crc(data),)
        yield data
        at += length + 16


def message(*fields: Field) -> bytes:
    """A message of protobuf."""
    return b"".join(_field(number, value) for number, value in fields)


def _varint(value: int) -> bytes:
    value &= 0xFFFFFFFFFFFFFFFF
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    return bytes([*out, value])


def _field(number: int, value: int | float | str | bytes) -> bytes:
    if isinstance(value, Single):
        return _varint(number << 3 | 5) + struct.pack("<f", value)
    if isinstance(value, float):
        return _varint(number << 3 | 1) + struct.pack("<d", value)
    if isinstance(value, int):
        return _varint(number << 3) + _varint(value)
    content = value.encode() if isinstance(value, str) else value
    return _varint(number << 3 | 2) + _varint(len(content)) + content


def fields(data: bytes) -> list[tuple[int, bytes]]:
    """Numbers and contents of a message's fields; varints as 8 bytes."""
    out, at = [], 0
    while at < len(data):
        key, at = _read_varint(data, at)
        kind = key & 7
        if kind == 0:
            value, at = _read_varint(data, at)
            out.append((key >> 3, value.to_bytes(8, "little")))
            continue
        size = {1: 8, 5: 4}.get(kind)
        if size is None:
            size, at = _read_varint(data, at)
        out.append((key >> 3, data[at : at + size]))
        at += size
    return out


def _read_varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        value |= (data[at] & 127) << shift
        shift += 7
        at += 1
        if not data[at - 1] & 128:
            return value, at


VERSION = message((1, 1.7e9), (3, "MindSpore.Event:1"))


def event(step: int, *values: bytes, time: float = 1.7e9) -> bytes:
    """An event with values at a step."""
    return message((1, time), (2, step), (5, message(*((1, value) for value in values))))


def scalar(tag: str, value: float) -> bytes:
    return message((1, tag), (3, Single(value)))


def image(tag: str, encoded: bytes) -> bytes:
    return message((1, tag), (4, message((1, 8), (2, 6), (3, 3), (4, encoded))))


def histogram(tag: str, buckets: Sequence[tuple[float, float, int]], nan: int = 0) -> bytes:
    """buckets: left, width, count."""
    rows = [(1, message((1, left), (2, width), (3, count))) for left, width, count in buckets]
    return message((1, tag), (9, message(*rows, (2, nan))))


def tensor(tag: str, values: Sequence[float]) -> bytes:
    packed = struct.pack(f"<{len(values)}f", *values)
    return message((1, tag), (8, message((1, len(values)), (2, 11), (3, packed))))


def graph(nodes: Mapping[str, Sequence[str]], parameters: Sequence[str] = ()) -> bytes:
    """An event with a graph. nodes: names with those of their inputs; the last part of a name is the type."""
    rows = []
    for name, inputs in nodes.items():
        kind = name.rpartition("/")[2]
        rows.append(
            message(*((1, message((1, item))) for item in inputs), (2, name), (3, kind), (8, f"Default/{name}"))
        )
    found = [(1, row) for row in rows] + [(3, message((1, name))) for name in parameters]
    return message((1, 1.7e9), (4, message(*found)))


def train_lineage(optimizer: str, rate: float, epochs: int) -> bytes:
    return message((1, 1.7e9), (6, message((1, message((1, optimizer), (2, Single(rate)), (4, epochs))))))


def evaluation_lineage(metric: str) -> bytes:
    return message((1, 1.7e9), (7, message((2, metric))))


def custom_lineage(name: str, value: float) -> bytes:
    pair = message((1, name), (2, value))
    return message((1, 1.7e9), (10, message((1, message((5, pair))))))


def dataset_graph(operation: str) -> bytes:
    parameter = message((1, message((1, "op_type"), (2, operation))))
    return message((1, 1.7e9), (9, message((2, parameter))))


def name_of(second: int = 1700000000, rank: int = 0, end: str = "_MS") -> str:
    """Name of a Summary file."""
    return f"events.out.events.summary.{second}.{rank}.host{end}"


def write(folder: Path, *events: bytes, name: str = name_of()) -> Path:
    """A Summary file with the version and these events."""
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / name
    file.write_bytes(b"".join(map(record, (VERSION, *events))))
    return file


def append(file: Path, content: bytes) -> None:
    """Append bytes to a file."""
    with file.open("ab") as opened:
        opened.write(content)
