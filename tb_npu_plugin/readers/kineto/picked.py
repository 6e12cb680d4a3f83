"""The events of a trace that tables are made of, and values of their args."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import msgspec
import numpy as np
from numpy.typing import NDArray

from tb_npu_plugin.scan import TraceEvents
from tb_npu_plugin.scan.args import ArgsFile, read_object
from tb_npu_plugin.scan.args_columns import Key, read_columns
from tb_npu_plugin.schema import kineto
from tb_npu_plugin.schema.trace import STEP_MARK
from tb_npu_plugin.tables import NULL_INT, IntArray, StringColumn

Index = NDArray[np.int64]
T = TypeVar("T")


@dataclass(frozen=True)
class Picked:
    """Numbers of the events of each sort, in file order; and the args of all."""

    events: TraceEvents
    args: ArgsFile | None
    ops: Index
    runtime: Index
    device: Index
    memory: Index
    steps: Index
    python: Index

    @staticmethod
    def of(events: TraceEvents, args: ArgsFile | None) -> Picked:
        """Choose by category and name."""
        annotations, ops = _slices(events, kineto.ANNOTATION), _slices(events, kineto.CPU_OP)
        marks = np.array([text.startswith(STEP_MARK) for text in events.names], dtype=bool)
        memory = [code for code, text in enumerate(events.names) if text == kineto.MEMORY_EVENT]
        instants = events.of_phase("i")
        return Picked(
            events,
            args,
            ops=ops[~marks[events.name[ops]]],
            runtime=_slices(events, kineto.RUNTIME),
            device=_slices(events, (*kineto.KERNEL, *kineto.MEMCPY, *kineto.MEMSET)),
            memory=instants[np.isin(events.name[instants], memory) & (events.ts[instants] != NULL_INT)],
            steps=annotations[marks[events.name[annotations]]],
            python=_slices(events, kineto.PYTHON_FUNCTION),
        )

    def integers(self, rows: Index, *keys: str) -> list[IntArray]:
        """Values of keys of these events, which must be in file order; NULL_INT where one is not there."""
        everything = np.full(len(rows), (1 << len(keys)) - 1, dtype=np.uint8)
        events = self.events
        found = read_columns(
            self.args, events.args_offset[rows], events.args_length[rows], everything, [Key(key) for key in keys]
        )
        return found.values

    def external(self, rows: Index) -> IntArray:
        """The operators that these events name, which must be in file order; NULL_INT where none is named."""
        newer, older = self.integers(rows, *kineto.EXTERNAL_ID)
        return np.where(newer == NULL_INT, older, newer)

    def correlations(self, rows: Index) -> IntArray:
        """What a call and the work that it launched share, of events in file order; NULL_INT for none, which is 0."""
        (found,) = self.integers(rows, kineto.CORRELATION)
        return np.where(found == 0, NULL_INT, found)

    def objects(self, rows: Index) -> Iterator[dict[str, Any]]:
        """The args of each of these events, which must be in file order; empty where it has none."""
        if self.args is None:
            yield from ({} for _ in rows)
            return
        events = self.events
        for data in self.args.each(events.args_offset[rows], events.args_length[rows]):
            yield (read_object(data) or {}) if data else {}

    def structs(self, rows: Index, kind: type[T]) -> Iterator[T | None]:
        """The args of each of these events as a msgspec.Struct, in file order too; None where they are none."""
        decoder = msgspec.json.Decoder(kind)
        events = self.events
        if self.args is None:
            yield from (None for _ in rows)
            return
        for data in self.args.each(events.args_offset[rows], events.args_length[rows]):
            try:
                yield decoder.decode(data) if data else None
            except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
                yield None

    def names(self, rows: Index) -> StringColumn:
        """Names of these events."""
        used, codes = np.unique(self.events.name[rows], return_inverse=True)
        return StringColumn(codes.astype(np.int32), self.events.names.take(used))


def _slices(events: TraceEvents, categories: Sequence[str]) -> Index:
    """Complete events of some categories, those that the timeline draws."""
    codes = [code for code, text in enumerate(events.categories) if text in categories]
    rows = np.flatnonzero(np.isin(events.category, codes)) if codes else np.zeros(0, dtype=np.int64)
    good = (events.phase[rows] == ord("X")) & (events.name[rows] >= 0)
    good &= (events.dur[rows] >= 0) & (events.ts[rows] != NULL_INT)  # an unknown one is less than nothing, too
    return np.asarray(rows[good], dtype=np.int64)


def looked_up(keys: IntArray, wanted: IntArray) -> Index:
    """Place of each wanted value among the keys, the first of equal ones; -1 where it is none or unknown."""
    order = np.argsort(keys, kind="stable")
    if not len(order):
        return np.full(len(wanted), -1, dtype=np.int64)
    place = np.minimum(np.searchsorted(keys[order], wanted), len(order) - 1)
    found = (keys[order[place]] == wanted) & (wanted != NULL_INT)
    return np.where(found, order[place], -1)
