"""The framework's tables of the profiler's database, but for its memory. Source: specs/ascend_pt.md 6.1."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain, compress
from typing import Any, Optional

import numpy as np

from tb_npu_plugin.capture.simulation.columns import Columns, columns
from tb_npu_plugin.capture.simulation.records import HostOp, OpInfo, Segment
from tb_npu_plugin.capture.writers.database import Database, Strings
from tb_npu_plugin.capture.writers.files import Output
from tb_npu_plugin.capture.writers.host_memory_db import MemoryTables
from tb_npu_plugin.schema import torch_npu_db as schema

_OP, _QUEUE, _TRACE, _MARK = (schema.API_TYPES[name] for name in ("op", "queue", "trace", "mstx"))
#: Ids of what an operator shares with all calls from one place: types, shapes, call chain, name; and its kind.
_Shared = tuple[Optional[int], Optional[int], Optional[int], int, int]


class HostTables:
    """PYTORCH_API and what it refers to, steps, memory: everything that `database` holds."""

    def __init__(self, output: Output, database: Database) -> None:
        self._output, self._database = output, database
        self._torch = Strings(database, schema.TORCH_STRINGS)
        self._memory = MemoryTables(output, database) if output.options.memory else None
        self._pid = output.process.pid << 32
        self._connections = 0
        self._chains: dict[tuple[str, ...], int] = {}
        self._infos: dict[OpInfo, _Shared] = {}
        self._queued: dict[str, tuple[int, int]] = {}  # names of enqueue and dequeue

    def add(self, segment: Segment) -> None:
        """Write one segment."""
        database = self._database
        if segment.step is not None:
            database.add("STEP_TIME", [(segment.step.id, segment.step.start, segment.step.end)])
        self._calls(segment)
        database.add("GC_RECORD", [(pause.start, pause.end, self._pid | pause.tid) for pause in segment.gc])
        if self._memory is not None:
            self._memory.add(segment)
        self._flush()

    def close(self) -> None:
        """Write what was kept."""
        if self._memory is not None:
            self._memory.close()
        self._flush()
        self._database.close()

    def _flush(self) -> None:
        self._torch.flush()
        if self._memory is not None:
            self._memory.flush()

    # -- calls --------------------------------------------------------------------------------------
    def _calls(self, segment: Segment) -> None:
        """Operators, elements of the task queue, Python functions; and what connects them."""
        links, ids, connections = self._links(segment)
        correlations = [schema.CONNECTION_OFFSET + number for number in columns(segment.queue, "correlation")[0]]
        queued = list(range(self._connections, self._connections + len(correlations)))
        self._connections += len(correlations)
        self._database.add_columns("CONNECTION_IDS", [*ids, *queued], [*connections, *correlations])
        parts = [self._ops(segment, links), self._queue(segment, queued)]
        if self._output.options.stack:
            parts.append(self._functions(segment))
        self._database.add_columns("PYTORCH_API", *([*chain.from_iterable(column)] for column in zip(*parts)))

    def _links(self, segment: Segment) -> tuple[list[Optional[int]], list[int], list[int]]:
        """Id of each operator's connections, and rows of CONNECTION_IDS: launches of kernels, forward with backward."""
        sequences, backward = columns(segment.ops, "sequence", "forward_tid")
        launches = [_launches(records, segment.ops) for records in (segment.tasks, segment.comm)]
        kernels = [bool(kernel.core) for kernel in columns(segment.tasks, "kernel")[0]]
        pairs = _pairs(sequences, backward)
        places = np.array([
            *compress(launches[0][0], kernels), *launches[1][0], *(place for place, _ in pairs)
        ], dtype=np.int64)  # fmt: skip
        connections = np.array([
            *compress(launches[0][1], kernels), *launches[1][1],
            # beside the correlation ids of the task queue, which count by one from 8000 on
            *(schema.CONNECTION_OFFSET + (1 << 27) + number for _, number in pairs),
        ], dtype=np.int64)  # fmt: skip
        order = np.argsort(places, kind="stable")
        order = order[(places[order] >= 0) & (places[order] < len(sequences))]  # of an operator that is recorded
        linked, ids = np.unique(places[order], return_inverse=True)
        links: list[Optional[int]] = [None] * len(sequences)
        for number, place in enumerate(linked.tolist(), self._connections):
            links[place] = number
        ids = ids + self._connections
        self._connections += len(linked)
        return links, ids.tolist(), connections[order].tolist()

    def _ops(self, segment: Segment, links: list[Optional[int]]) -> list[Sequence[Any]]:
        """Columns of PYTORCH_API."""
        infos, tids, starts, ends, sequences, forward = columns(
            segment.ops, "info", "tid", "start", "end", "sequence", "forward_tid"
        )
        for info in dict.fromkeys(infos):
            if info not in self._infos:
                self._infos[info] = self._shared(info)
        types, shapes, chains, names, kinds = zip(*map(self._infos.__getitem__, infos)) if infos else [()] * 5
        threads = [self._pid | tid for tid in tids]
        return [starts, ends, threads, links, names, sequences, forward, types, shapes, chains, kinds]

    def _shared(self, info: OpInfo) -> _Shared:
        options = self._output.options
        types = self._torch[info.types] if options.shapes and info.types else None
        shapes = self._torch[info.shapes] if options.shapes and info.shapes else None
        chain_ = self._chain(info.stack) if options.stack and info.stack else None
        kind = _MARK if info.name.startswith(schema.MARK_OPERATOR) else _OP
        return types, shapes, chain_, self._torch[info.name], kind

    def _chain(self, stack: tuple[str, ...]) -> int:
        found = self._chains.get(stack)
        if found is None:
            found = self._chains[stack] = len(self._chains)
            rows = [(found, self._torch[frame], depth) for depth, frame in enumerate(stack)]
            self._database.add("PYTORCH_CALLCHAINS", rows)
        return found

    def _queue(self, segment: Segment, links: list[int]) -> list[Sequence[Any]]:
        """Columns of PYTORCH_API: both ends of each element, one behind the other."""
        names, tids, starts, ends, dequeue_starts, dequeue_ends = columns(
            segment.queue, "name", "tid", "start", "end", "dequeue_start", "dequeue_end"
        )
        launching, size = self._pid | self._output.process.dequeue_tid, 2 * len(names)
        for name in dict.fromkeys(names):
            if name not in self._queued:
                self._queued[name] = self._torch[f"Enqueue@{name}"], self._torch[f"Dequeue@{name}"]
        both = (
            (starts, dequeue_starts), (ends, dequeue_ends), ([self._pid | tid for tid in tids], [launching] * len(names)),
            (links, links), zip(*map(self._queued.__getitem__, names)) if names else ((), ()),
        )  # fmt: skip
        none = [None] * size
        return [*(_mixed(*pair) for pair in both), none, none, none, none, none, [_QUEUE] * size]

    def _functions(self, segment: Segment) -> list[Sequence[Any]]:
        """Columns of PYTORCH_API."""
        names, tids, starts, ends = columns(segment.python, "name", "tid", "start", "end")
        none = [None] * len(names)
        threads = [self._pid | tid for tid in tids]
        ids = list(map(self._torch.__getitem__, names))
        return [starts, ends, threads, none, ids, none, none, none, none, none, [_TRACE] * len(names)]


def _launches(records: Sequence[Any], ops: Sequence[HostOp]) -> tuple[list[int], list[int]]:
    """Place of the operator that launched each task or communication, -1: none of these; and the connections."""
    (connections,) = columns(records, "connection")
    if isinstance(records, Columns):
        return records.column("op_place"), connections
    places = {op: place for place, op in enumerate(ops)}
    return [places.get(record.op, -1) for record in records], connections


def _pairs(sequences: list[int], backward: list[int]) -> list[tuple[int, int]]:
    """(place, number) of the operators that are linked with their other direction."""
    ways: tuple[dict[int, int], dict[int, int]] = ({}, {})
    for place, (number, back) in enumerate(zip(sequences, backward)):
        if number >= 0:
            ways[bool(back)][number] = place
    return [(way[number], number) for number in ways[0].keys() & ways[1].keys() for way in ways]


def _mixed(left: Sequence[Any], right: Sequence[Any]) -> list[Any]:
    """One of each by turns."""
    return list(chain.from_iterable(zip(left, right)))
