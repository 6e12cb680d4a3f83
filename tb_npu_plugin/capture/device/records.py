"""Reads what the simulated device recorded; native/npu.h and native/records.cpp have the layout."""

from __future__ import annotations

import json
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path
from typing import Any, Union

import numpy as np
import numpy.typing as npt

from tb_npu_plugin.capture.device.extension import extension

#: One record; the fields are explained in native/npu.h.
RECORD = np.dtype(
    [
        *((name, "<i8") for name in ("entry", "begin", "end", "exit", "stream", "id", "bytes", "sequence")),
        *((name, "<i4") for name in ("signature", "thread")),
        ("device", "<i2"),
        *((name, "u1") for name in ("kind", "detail", "flags")),
        ("unused", "V3"),
    ]
)
assert RECORD.itemsize == 80


class Kind(IntEnum):
    """Of a record."""

    OPERATOR = 0
    VIEW = 1
    COPY = 2
    SYNC = 3
    EVENT_RECORD = 4
    STREAM_WAIT = 5
    ALLOCATE = 6
    FREE = 7
    COLLECTIVE = 8
    COLLECTIVE_WAIT = 9
    ARRIVAL = 10


class Copy(IntEnum):
    """`detail` of a copy."""

    HOST_TO_DEVICE = 0
    DEVICE_TO_HOST = 1
    DEVICE_TO_DEVICE = 2


class Sync(IntEnum):
    """`detail` of a synchronisation: what the host waits for."""

    EVENT = 0
    STREAM = 1
    DEVICE = 2
    SCALAR = 3
    COPY = 4
    SHAPE = 5


#: Bits of `flags`.
PINNED, NON_BLOCKING, BACKWARD = 1, 2, 4
#: Types by their number in PyTorch (c10::ScalarType).
_TYPES = dict(
    enumerate(
        [
            "uint8",
            "int8",
            "int16",
            "int32",
            "int64",
            "float16",
            "float32",
            "float64",
            "complex32",
            "complex64",
            "complex128",
            "bool",
            "qint8",
            "quint8",
            "qint32",
            "bfloat16",
        ]
    )
) | {23: "float8_e5m2", 24: "float8_e4m3fn", 27: "uint16", 28: "uint32", 29: "uint64"}
_NONE, _TENSOR, _LIST, _INT, _BOOL, _DOUBLE, _INTS, _TEXT, _SCALAR, _RESULTS = range(10)
#: Memory that a recording may take, in bytes.
CEILING = 1 << 30


@dataclass(frozen=True)
class TensorInfo:
    """A tensor of a signature. device: -1 for the host; is_number: a number of Python."""

    shape: tuple[int, ...]
    dtype: str
    device: int
    is_contiguous: bool = True
    is_number: bool = False


#: What an operator takes or gives; Ellipsis: a number whose value no kernel depends on.
Value = Union[TensorInfo, tuple["Value", ...], int, float, bool, str, None, Any]


@dataclass(frozen=True)
class Signature:
    """An operator with its arguments, in the order of its schema."""

    name: str
    arguments: tuple[Value, ...]
    results: tuple[Value, ...]

    @property
    def inputs(self) -> tuple[TensorInfo, ...]:
        """Tensors among the arguments, those of lists too."""
        return tensors_in(self.arguments)

    @property
    def outputs(self) -> tuple[TensorInfo, ...]:
        """Tensors among the results."""
        return tensors_in(self.results)


@dataclass(frozen=True)
class Recording:
    """Records by the time of their exit; records["signature"] counts in signatures. lost: records without room."""

    records: npt.NDArray[np.void]
    signatures: list[Signature]
    lost: int

    def of(self, *kinds: Kind) -> npt.NDArray[np.void]:
        """The records of these kinds."""
        return self.records[np.isin(self.records["kind"], kinds)]

    def names(self, *kinds: Kind) -> list[str]:
        """Names of their signatures, in order; without kinds: of operators."""
        return [self.signatures[number].name for number in self.of(*(kinds or (Kind.OPERATOR,)))["signature"]]


#: Of a process without a device.
NOTHING = Recording(np.zeros(0, RECORD), [], 0)


def start(ceiling: int = CEILING) -> None:
    """Record from now, in all threads; what was recorded before is dropped."""
    extension().start_recording(ceiling)


def stop() -> Recording:
    """Record no longer, and give what there is."""
    extension().stop_recording()
    return take()


def take() -> Recording:
    """What was recorded since the last call; recording goes on."""
    records, names, words, ends, lost = extension().take_records()
    return Recording(np.frombuffer(records, RECORD), list(_signatures(names, words, ends)), lost)


def save(path: Path) -> Recording:
    """Record no longer, write what there is, and give it."""
    extension().stop_recording()
    records, names, words, ends, lost = extension().take_records()
    columns = {
        "records": np.frombuffer(records, "u1"),
        "words": np.frombuffer(words, "<i8"),
        "ends": np.frombuffer(ends, "<i8"),
    }
    texts = np.frombuffer(json.dumps([names, lost]).encode(), "u1")
    with path.open("wb") as file:
        np.savez(file, allow_pickle=False, texts=texts, **columns)
    return Recording(np.frombuffer(records, RECORD), list(_signatures(names, words, ends)), lost)


def load(path: Path) -> Recording:
    """What `save` wrote. Raises OSError, ValueError, KeyError."""
    with np.load(path, allow_pickle=False) as found:
        names, lost = json.loads(found["texts"].tobytes())
        signatures = list(_signatures(names, found["words"].tobytes(), found["ends"].tobytes()))
        return Recording(np.frombuffer(found["records"].tobytes(), RECORD), signatures, lost)


def tensors_in(values: tuple[Value, ...]) -> tuple[TensorInfo, ...]:
    """The tensors among values, those of lists too."""
    out: list[TensorInfo] = []
    for value in values:
        if isinstance(value, TensorInfo):
            out.append(value)
        elif isinstance(value, tuple):
            out += tensors_in(value)
    return tuple(out)


def _signatures(names: list[str], words: bytes, ends: bytes) -> Iterator[Signature]:
    numbers: list[int] = np.frombuffer(words, "<i8").tolist()
    begin = 0
    for end in np.frombuffer(ends, "<i8").tolist():
        reader = _Reader(names, numbers[begin:end])
        yield reader.signature()
        begin = end


class _Reader:
    """Decodes the words of one signature."""

    def __init__(self, names: list[str], words: list[int]) -> None:
        self.names, self.words, self.place = names, words, 0

    def signature(self) -> Signature:
        name = self.names[self._next()]
        arguments = self._values()
        return Signature(name, arguments, self._values())

    def _next(self) -> int:
        self.place += 1
        return self.words[self.place - 1]

    def _values(self) -> tuple[Value, ...]:
        """Groups up to the end or the word that begins the results."""
        out = []
        while self.place < len(self.words):
            word = self._next()
            if word == _RESULTS:
                break
            out.append(self._value(word))
        return tuple(out)

    def _value(self, word: int) -> Value:
        tag, count = word & 0xFF, word >> 32
        if tag == _TENSOR:
            shape = tuple(self._next() for _ in range(count))
            number = word >> 8 & 0xFF
            flags = word >> 24 & 0xFF
            return TensorInfo(
                shape, _TYPES.get(number, f"type {number}"), (word >> 16 & 0xFF) - 1, bool(flags & 1), bool(flags & 2)
            )
        if tag == _LIST:
            return tuple(self._value(self._next()) for _ in range(count))
        if tag == _INTS:
            return tuple(self._next() for _ in range(count))
        if tag == _INT:
            return self._next()
        if tag == _BOOL:
            return bool(self._next())
        if tag == _DOUBLE:
            return float(struct.unpack("<d", struct.pack("<q", self._next()))[0])
        if tag == _TEXT:
            return self.names[count]
        return None if tag == _NONE else ...
