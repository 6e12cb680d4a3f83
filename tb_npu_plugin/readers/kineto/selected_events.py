"""The trace events that tables are built from, and access to their args."""

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
from tb_npu_plugin.schema.serving import mark_of
from tb_npu_plugin.schema.trace import STEP_MARK
from tb_npu_plugin.tables import NULL_INT, IntArray, StringColumn

Index = NDArray[np.int64]
T = TypeVar("T")


@dataclass(frozen=True)
class SelectedEvents:
    """Rows of the events of each kind, in file order, with access to their args.

    steps: Marks of steps. engine_marks: those of iterations of a serving engine; with steps, if an engine marks whole ones.
    """

    events: TraceEvents
    args: ArgsFile | None
    ops: Index
    runtime: Index
    device: Index
    memory: Index
    steps: Index
    engine_marks: Index
    python: Index

    @staticmethod
    def of(events: TraceEvents, args: ArgsFile | None) -> SelectedEvents:
        """Select events by category and name."""
        annotations, ops = _slices(events, kineto.ANNOTATION), _slices(events, kineto.CPU_OP)
        marks = np.array([text.startswith(STEP_MARK) for text in events.names], dtype=bool)
        memory = [code for code, text in enumerate(events.names) if text == kineto.MEMORY_EVENT]
        instants = events.of_phase("i")
        steps = annotations[marks[events.name[annotations]]]
        found = {code: mark_of(events.names[code]) for code in np.unique(events.name[annotations]).tolist()}
        of_engines = [code for code, mark in found.items() if mark is not None]
        if len(steps) and not any(mark is not None and mark.engine.marks_whole for mark in found.values()):
            of_engines = []
        return SelectedEvents(
            events,
            args,
            ops=ops[~marks[events.name[ops]]],
            runtime=_slices(events, kineto.RUNTIME),
            device=_slices(events, (*kineto.KERNEL, *kineto.MEMCPY, *kineto.MEMSET)),
            memory=instants[np.isin(events.name[instants], memory) & (events.ts[instants] != NULL_INT)],
            steps=steps,
            engine_marks=annotations[np.isin(events.name[annotations], of_engines)],
            python=_slices(events, kineto.PYTHON_FUNCTION),
        )

    def integers(self, rows: Index, *keys: str) -> list[IntArray]:
        """Return arg values by key; NULL_INT if missing. `rows` must be in file order."""
        everything = np.full(len(rows), (1 << len(keys)) - 1, dtype=np.uint8)
        events = self.events
        found = read_columns(
            self.args, events.args_offset[rows], events.args_length[rows], everything, [Key(key) for key in keys]
        )
        return found.values

    def external(self, rows: Index) -> IntArray:
        """Return the external id of each event; NULL_INT if missing. `rows` must be in file order."""
        newer, older = self.integers(rows, *kineto.EXTERNAL_ID)
        return np.where(newer == NULL_INT, older, newer)

    def correlations(self, rows: Index) -> IntArray:
        """Return the correlation id, which a call shares with the work it launched; NULL_INT for none (0 in traces).
        `rows` must be in file order."""
        (found,) = self.integers(rows, kineto.CORRELATION)
        return np.where(found == 0, NULL_INT, found)

    def objects(self, rows: Index) -> Iterator[dict[str, Any]]:
        """Yield the args of each event, {} without args. `rows` must be in file order."""
        if self.args is None:
            yield from ({} for _ in rows)
            return
        events = self.events
        for data in self.args.each(events.args_offset[rows], events.args_length[rows]):
            yield (read_object(data) or {}) if data else {}

    def structs(self, rows: Index, kind: type[T]) -> Iterator[T | None]:
        """Yield the args of each event as a msgspec.Struct, None if invalid. `rows` must be in file order."""
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
        """Return the names of events."""
        used, codes = np.unique(self.events.name[rows], return_inverse=True)
        return StringColumn(codes.astype(np.int32), self.events.names.take(used))


def _slices(events: TraceEvents, categories: Sequence[str]) -> Index:
    """Return the complete events of some categories that the timeline draws."""
    codes = [code for code, text in enumerate(events.categories) if text in categories]
    rows = np.flatnonzero(np.isin(events.category, codes)) if codes else np.zeros(0, dtype=np.int64)
    good = (events.phase[rows] == ord("X")) & (events.name[rows] >= 0)
    good &= (events.dur[rows] >= 0) & (events.ts[rows] != NULL_INT)  # an unknown duration is negative
    return np.asarray(rows[good], dtype=np.int64)
