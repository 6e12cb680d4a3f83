"""Events of PyTorch's profiler from the Chrome trace that its C++ writes, read in pieces and without PyTorch."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any, Callable, NamedTuple, Optional

import msgspec
import numpy as np
from msgspec import Raw, Struct, field

from tb_npu_plugin.capture.simulation.records import OpInfo, PyCall, outer_first
from tb_npu_plugin.errors import BadFile

_PIECE, _TAIL = 4 << 20, 8192
_HEAD, _BETWEEN, _END = b'"traceEvents": [', b"\n  },\n", b"\n  ],"
_BASE = re.compile(rb'"baseTimeNanoseconds":\s*(\d+)')
_SEPARATOR = ";\r\n"
#: Prefixes of names that are not stack frames: modules, functions of C.
_MODULE, _BUILT_IN = "nn.Module: ", "<"


class Call(NamedTuple):
    """An operator call. info: without its stack; forward: the forward thread, 0 outside the backward pass."""

    start: int
    end: int
    tid: int
    info: OpInfo
    sequence: int = -1
    forward: int = 0


class _Args(Struct, frozen=True, gc=False):
    """What is read of an event's args."""

    sequence: int = field(name="Sequence number", default=-1)
    forward: int = field(name="Fwd thread id", default=0)
    dims: Raw = field(name="Input Dims", default=Raw(b"[]"))
    types: Raw = field(name="Input type", default=Raw(b"[]"))
    id: int = field(name="Python id", default=0)
    parent: Optional[int] = field(name="Python parent id", default=None)
    module: Optional[int] = field(name="Python module id", default=None)


class _Event(Struct, gc=False):
    """What is read of an event. ts, dur: us with three decimals."""

    ts: float
    name: str = ""
    ph: str = ""
    cat: str = ""
    tid: Any = 0  # a text for events that are not calls
    dur: float = 0.0
    args: _Args = _Args()


_EVENTS = msgspec.json.Decoder(list[_Event])


class HostLane:
    """The events of one trace. calls: by start, outer ones first; lost: how many events are not JSON."""

    def __init__(self, path: Path, progress: Callable[[int], None]) -> None:
        """progress: takes the bytes read so far. BadFile if it is not such a trace."""
        self.calls: list[Call] = []
        self.functions: list[PyCall] = []
        self.lost = base = 0
        self._operator = cache(_operator)
        for piece, done in _pieces(path):
            if not base:
                found = _BASE.search(piece) or _BASE.search(tail(path))  # the last key up to PyTorch 2.4
                start = piece.find(_HEAD)
                if found is None or start < 0:
                    raise BadFile(f"{path} is not a trace of PyTorch's profiler", "Record it again.")
                base = int(found[1])
                piece = piece[start + len(_HEAD) :]
            self._take(self._parsed(piece), base)
            progress(done)
        if self.lost:
            print(f"{path}: {self.lost} events are no JSON and are left out", file=sys.stderr)
        self.calls = outer_first(self.calls)

    def _parsed(self, piece: bytes) -> list[_Event]:
        """The events of a piece, which begins and ends between events."""
        try:
            return _EVENTS.decode(b"[" + piece.strip().rstrip(b",") + b"]")
        except (msgspec.MsgspecError, UnicodeDecodeError):
            out = []
            for event in piece.split(_BETWEEN):
                text = event.decode("utf-8", "replace").encode().strip().rstrip(b",")
                try:
                    out += _EVENTS.decode(b"[" + text + (b"]" if text.endswith(b"\n  }") else b"}]"))
                except msgspec.MsgspecError:
                    self.lost += bool(text)
            return out

    def _take(self, events: list[_Event], base: int) -> None:
        starts, durs = _ns([event.ts for event in events], base), _ns([event.dur for event in events])
        for event, start, dur in zip(events, starts, durs):
            category, args = event.cat, event.args
            is_call = category in ("cpu_op", "user_annotation") and event.ph == "X"
            # gloo computes for HCCL here: a host with a device does not have its works
            if is_call and not event.name.startswith("gloo:"):
                info = self._operator(event.name, bytes(args.dims), bytes(args.types))
                self.calls.append(Call(start, start + dur, event.tid, info, args.sequence, args.forward))
            elif category == "python_function":
                name, parent = sys.intern(event.name), args.parent or 0
                self.functions.append(PyCall(name, event.tid, start, start + dur, args.id, parent, args.module))


def _operator(name: str, *arguments: bytes) -> OpInfo:
    """The operator, from "Input Dims" and "Input type": as torch_npu prints them, tensors of a list one by one."""
    flat: list[tuple[Sequence[int], str]] = []
    for shape, type_ in zip(*(msgspec.json.decode(text) or [] for text in arguments)):
        is_list = shape and isinstance(shape[0], list)
        flat += [(inner, type_ or "None") for inner in (shape if is_list else [shape])]
    shapes = _SEPARATOR.join(",".join(map(str, shape)) for shape, _ in flat)
    return OpInfo(name, shapes, _SEPARATOR.join(type_ for _, type_ in flat))


def _ns(us: Sequence[float], base: int = 0) -> list[int]:
    """us with three decimals, from a base in ns. A float is exact up to 2**43 us; PyTorch counts from the beginning of
    a quarter of a year."""
    exact = np.array(us, dtype=np.float64)
    whole = np.floor(exact)
    thousandths = np.rint((exact - whole) * 1000)
    found: list[int] = (whole.astype(np.int64) * 1000 + thousandths.astype(np.int64) + base).tolist()
    return found


def tail(path: Path) -> bytes:
    """The end, where it holds all that follows the events: a path, and figures."""
    with path.open("rb") as file:
        file.seek(max(0, path.stat().st_size - _TAIL))
        return file.read()


def _pieces(path: Path) -> Iterator[tuple[bytes, int]]:
    """The text in pieces that end behind an event, each with the bytes that are done."""
    rest, done = b"", 0
    with path.open("rb") as file:
        while more := file.read(_PIECE):
            done += len(more)
            piece, between, rest = (rest + more).rpartition(_BETWEEN)
            if between:
                yield piece + between, done
    yield rest[: rest.rfind(_END)] if _END in rest else rest, done


def stacks_of(calls: Sequence[Call], functions: Sequence[PyCall]) -> list[tuple[str, ...]]:
    """Python functions that are open around each call on its thread, innermost first. Both by start, outer ones first."""
    out: list[tuple[str, ...]] = []
    threads: dict[int, list[tuple[int, tuple[str, ...]]]] = {}  # ends, with the stack there
    known: dict[tuple[str, tuple[str, ...]], tuple[str, ...]] = {}
    entered = 0
    for call in calls:
        while entered < len(functions) and functions[entered].start <= call.start:
            item = functions[entered]
            entered += 1
            if not item.name.startswith((_MODULE, _BUILT_IN)):
                around = _open_at(threads.setdefault(item.tid, []), item.start)
                key = (item.name, around)
                threads[item.tid].append((item.end, known.setdefault(key, (item.name, *around))))
        out.append(_open_at(threads.get(call.tid, []), call.start))
    return out


def _open_at(thread: list[tuple[int, tuple[str, ...]]], now: int) -> tuple[str, ...]:
    while thread and thread[-1][0] <= now:
        thread.pop()
    return thread[-1][1] if thread else ()
