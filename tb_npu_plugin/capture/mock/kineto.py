"""Events of PyTorch's profiler from the Chrome trace that its C++ writes, read in pieces and without PyTorch."""

from __future__ import annotations

import codecs
import json
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Callable, NamedTuple, Optional

from tb_npu_plugin.capture.simulation.kernels import Shape
from tb_npu_plugin.errors import BadFile

_PIECE = 4 << 20
_HEAD, _BETWEEN, _END = '"traceEvents": [', "\n  },\n", "\n  ],"
_CLOSED = "\n  }"
_BASE = re.compile(r'"baseTimeNanoseconds":\s*(\d+)')
_SEPARATOR = ";\r\n"
#: Annotations that the host would not have with a device: the threads of gloo.
_NOT_THERE = "gloo:"


@dataclass(frozen=True, eq=False)
class Signature:
    """What calls of an operator share. tensors: shape and type of each tensor; values: the texts of other arguments,
    by position; shapes, types: as torch_npu prints them, tensors of a list one by one."""

    name: str
    tensors: tuple[tuple[Shape, str], ...] = ()
    values: tuple[str, ...] = ()
    shapes: str = ""
    types: str = ""


class Call(NamedTuple):
    """An operator call. forward: the forward thread, 0 outside the backward pass."""

    start: int
    end: int
    tid: int
    signature: Signature
    sequence: int = -1
    forward: int = 0


class Function(NamedTuple):
    """A Python function or module call."""

    start: int
    end: int
    tid: int
    name: str
    id: int
    parent: int
    module: Optional[int]


class Change(NamedTuple):
    """Memory that comes (size > 0) or goes."""

    at: int
    tid: int
    address: int
    size: int


@dataclass
class Recorded:
    """All events, not in order."""

    calls: list[Call] = field(default_factory=list)
    functions: list[Function] = field(default_factory=list)
    memory: list[Change] = field(default_factory=list)
    lost: int = 0  # events that are no JSON


class Reader:
    """Reads one trace."""

    def __init__(self) -> None:
        self.recorded = Recorded()
        self._base = 0
        self._signatures: dict[str, Signature] = {}
        self._names: dict[str, str] = {}

    def read(self, path: Path, progress: Callable[[int], None]) -> Recorded:
        """progress: bytes that are done. BadFile for what is no such trace."""
        for piece, done in _pieces(path):
            if not self._base:
                base = _BASE.search(piece)
                start = piece.find(_HEAD)
                if base is None or start < 0:
                    raise BadFile(f"{path} is no trace of PyTorch's profiler", "Record it again.")
                self._base = int(base[1])
                piece = piece[start + len(_HEAD) :]
            for event in self._parsed(piece):
                self._take(event)
            progress(done)
        if self.recorded.lost:
            print(f"{path}: {self.recorded.lost} events are no JSON and are left out", file=sys.stderr)
        return self.recorded

    def _parsed(self, piece: str) -> list[dict[str, Any]]:
        """The events of a piece, which begins and ends between events."""
        try:
            found: list[dict[str, Any]] = json.loads(f"[{piece.strip().rstrip(',')}]", parse_float=_ns)
            return found
        except ValueError:
            out = []
            for text in piece.split(_BETWEEN):
                text = text.strip().rstrip(",")
                try:
                    out += json.loads(f"[{text}{'' if text.endswith(_CLOSED) else '}'}]", parse_float=_ns)
                except ValueError:
                    self.recorded.lost += bool(text)
            return out

    def _take(self, event: dict[str, Any]) -> None:
        category = event.get("cat")
        args = event.get("args", {})
        if category in ("cpu_op", "user_annotation"):
            if event["ph"] == "X" and not event["name"].startswith(_NOT_THERE):
                start = self._base + event["ts"]
                self.recorded.calls.append(
                    Call(start, start + event["dur"], event["tid"], self._signature(event["name"], args),
                         args.get("Sequence number", -1), args.get("Fwd thread id", 0))
                )  # fmt: skip
        elif category == "python_function":
            start = self._base + event["ts"]
            name = self._names.setdefault(event["name"], event["name"])
            self.recorded.functions.append(
                Function(start, start + event["dur"], event["tid"], name, args.get("Python id", 0),
                         args.get("Python parent id") or 0, args.get("Python module id"))
            )  # fmt: skip
        elif category == "cpu_instant_event" and "Addr" in args:
            self.recorded.memory.append(Change(self._base + event["ts"], event["tid"], args["Addr"], args["Bytes"]))

    def _signature(self, name: str, args: dict[str, Any]) -> Signature:
        dims, types, values = args.get("Input Dims"), args.get("Input type"), args.get("Concrete Inputs")
        key = f"{name}{dims}{types}{values}" if dims else name
        found = self._signatures.get(key)
        if found is None:
            found = self._signatures[key] = _signature(name, dims or [], types or [], values or [])
        return found


def _signature(name: str, dims: list[Any], types: list[str], values: list[str]) -> Signature:
    flat: list[tuple[Shape, str]] = []
    for shape, type_ in zip(dims, types):
        if shape and isinstance(shape[0], list):
            flat += [(tuple(inner), type_) for inner in shape]
        else:
            flat.append((tuple(shape), type_))
    tensors = tuple(
        (shape, "float" if type_ == "TensorList" else type_)
        for shape, type_ in flat
        if type_ not in ("", "None", "Scalar", "ScalarList") and not (type_ == "TensorList" and not shape)
    )
    shapes = _SEPARATOR.join(",".join(map(str, shape)) for shape, _ in flat)
    return Signature(name, tensors, tuple(values), shapes, _SEPARATOR.join(type_ or "None" for _, type_ in flat))


def _ns(text: str) -> int:
    """us with up to three decimals."""
    whole, _, part = text.partition(".")
    if not part.isdigit():
        return int(float(text) * 1000)
    number = int(whole) * 1000
    rest = int((part + "000")[:3])
    return number - rest if text[0] == "-" else number + rest


def _pieces(path: Path) -> Iterator[tuple[str, int]]:
    """The text in pieces that end behind an event, each with the bytes that are done."""
    rest, done = "", 0
    decode = codecs.getincrementaldecoder("utf-8")("replace").decode
    with path.open("rb") as file:
        while True:
            more = file.read(_PIECE)
            done += len(more)
            text = rest + decode(more, not more)
            if not more:
                yield text[: text.rfind(_END)] if _END in text else text, done
                return
            end = text.rfind(_BETWEEN)
            if end < 0:
                rest = text
                continue
            yield text[: end + len(_BETWEEN)], done
            rest = text[end + len(_BETWEEN) :]
