"""The framework's tables of the profiler's database, but for its memory.
Source: docs/facts/databases.md, ascend_pytorch_profiler.db."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Optional

import numpy as np

from tb_npu_plugin.capture.simulation.columns import arrays, columns
from tb_npu_plugin.capture.simulation.records import HostOp, OpInfo, Segment
from tb_npu_plugin.capture.writers.database import Database, Ints, Strings
from tb_npu_plugin.capture.writers.files import Output
from tb_npu_plugin.capture.writers.host_memory_db import MemoryTables
from tb_npu_plugin.schema import torch_npu_db as schema
from tb_npu_plugin.tables import NULL_INT

_OP, _QUEUE, _TRACE, _MARK = (schema.API_TYPES[name] for name in ("op", "queue", "trace", "mstx"))
#: Columns of calls other than operators, which lack sequence, thread of the forward, sizes, types, call chain.
_OF_CALLS = ("startNs", "endNs", "globalTid", "connectionId", "name", "type")
#: Ids of what an operator shares with all calls from one place: sizes, types (torch_npu writes the sizes of inputs into
#: inputDtypes, and their types into inputShapes), call chain, name; and its kind.
_Shared = tuple[Optional[int], Optional[int], Optional[int], int, int]


class HostTables:
    """PYTORCH_API and what it refers to, steps, memory."""

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

    def _flush(self) -> None:
        self._torch.flush()
        if self._memory is not None:
            self._memory.flush()

    # -- calls --------------------------------------------------------------------------------------
    def _calls(self, segment: Segment) -> None:
        """Operators, elements of the task queue, Python functions; and what connects them."""
        links, ids, connections = self._links(segment)
        correlations = schema.CONNECTION_OFFSET + arrays(segment.queue, "correlation")[0]
        queued = np.arange(self._connections, self._connections + len(correlations))
        self._connections += len(correlations)
        both = np.concatenate([ids, queued]), np.concatenate([connections, correlations])
        self._database.add_columns("CONNECTION_IDS", *both)
        self._ops(segment, links)
        self._queue(segment, queued)
        if self._output.options.stack:
            self._functions(segment)

    def _links(self, segment: Segment) -> tuple[Ints, Ints, Ints]:
        """Id of each operator's connections, and rows of CONNECTION_IDS: launches of kernels, forward with backward."""
        sequences, backward = arrays(segment.ops, "sequence", "forward_tid")
        launches = [_launches(records, segment.ops) for records in (segment.tasks, segment.comm)]
        kernels = np.array([bool(kernel.core) for kernel in columns(segment.tasks, "kernel")[0]], dtype=bool)
        paired, numbers = _pairs(sequences, backward)
        places = np.concatenate([launches[0][0][kernels], launches[1][0], paired])
        # pairs: beside the correlation ids of the task queue, which count by one from 8000 on
        numbers = schema.CONNECTION_OFFSET + (1 << 27) + numbers
        connections = np.concatenate([launches[0][1][kernels], launches[1][1], numbers])
        order = np.argsort(places, kind="stable")
        order = order[(places[order] >= 0) & (places[order] < len(sequences))]  # of an operator that is recorded
        linked, ids = np.unique(places[order], return_inverse=True)
        links = np.full(len(sequences), NULL_INT)
        links[linked] = self._connections + np.arange(len(linked))
        ids = ids + self._connections
        self._connections += len(linked)
        return links, ids, connections[order]

    def _ops(self, segment: Segment, links: Ints) -> None:
        """Rows of PYTORCH_API."""
        infos, tids, forward = columns(segment.ops, "info", "tid", "forward_tid")
        starts, ends, sequences = arrays(segment.ops, "start", "end", "sequence")
        for info in dict.fromkeys(infos):
            if info not in self._infos:
                self._infos[info] = self._shared(info)

        if infos:
            sizes, types, chains, names, kinds = zip(*map(self._infos.__getitem__, infos))
            threads = [self._pid | tid for tid in tids]
            self._database.add_columns(
                "PYTORCH_API", starts, ends, threads, links, names, sequences, forward, sizes, types, chains, kinds
            )

    def _shared(self, info: OpInfo) -> _Shared:
        options = self._output.options
        sizes = self._torch[info.shapes] if options.shapes and info.shapes else None
        types = self._torch[info.types] if options.shapes and info.types else None
        chain_ = self._chain(info.stack) if options.stack and info.stack else None
        kind = _MARK if info.name.startswith(schema.MARK_OPERATOR) else _OP
        return sizes, types, chain_, self._torch[info.name], kind

    def _chain(self, stack: tuple[str, ...]) -> int:
        found = self._chains.get(stack)
        if found is None:
            found = self._chains[stack] = len(self._chains)
            rows = [(found, self._torch[frame], depth) for depth, frame in enumerate(stack)]
            self._database.add("PYTORCH_CALLCHAINS", rows)
        return found

    def _queue(self, segment: Segment, links: Ints) -> None:
        """Rows of PYTORCH_API: both ends of each element, one behind the other."""
        names, tids = columns(segment.queue, "name", "tid")
        starts, ends, dequeue_starts, dequeue_ends = arrays(
            segment.queue, "start", "end", "dequeue_start", "dequeue_end"
        )
        launching = self._pid | self._output.process.dequeue_tid
        for name in dict.fromkeys(names):
            if name not in self._queued:
                self._queued[name] = self._torch[f"Enqueue@{name}"], self._torch[f"Dequeue@{name}"]

        threads = self._pid | arrays(segment.queue, "tid")[0]
        ids = np.array([self._queued[name] for name in names], dtype=np.int64).reshape(-1, 2)
        both = (
            (starts, dequeue_starts),
            (ends, dequeue_ends),
            (threads, np.full(len(tids), launching)),
            (links, links),
            ids.T,
        )
        self._database.add_columns("PYTORCH_API", *(_interleave(*pair) for pair in both), _QUEUE, only=_OF_CALLS)

    def _functions(self, segment: Segment) -> None:
        """Rows of PYTORCH_API."""
        names, tids = columns(segment.python, "name", "tid")
        starts, ends = arrays(segment.python, "start", "end")

        threads = [self._pid | tid for tid in tids]
        ids = list(map(self._torch.__getitem__, names))
        self._database.add_columns("PYTORCH_API", starts, ends, threads, None, ids, _TRACE, only=_OF_CALLS)


def _launches(records: Sequence[Any], ops: Sequence[HostOp]) -> tuple[Ints, Ints]:
    """Place of the operator that launched each task or communication, -1: none of these; and the connections."""
    (connections,) = arrays(records, "connection")
    places = {op: place for place, op in enumerate(ops)}
    return np.array([places.get(record.op, -1) for record in records], dtype=np.int64), connections


def _pairs(sequences: Ints, backward: Ints) -> tuple[Ints, Ints]:
    """Places and numbers of the operators that are linked with their other direction: the last ones of a number."""
    ways = []
    for back in (False, True):
        places = np.flatnonzero((sequences >= 0) & ((backward != 0) == back))[::-1]
        numbers, firsts = np.unique(sequences[places], return_index=True)
        ways.append((numbers, places[firsts]))
    both, *found = np.intersect1d(ways[0][0], ways[1][0], assume_unique=True, return_indices=True)
    places = np.concatenate([places[at] for (_, places), at in zip(ways, found)])
    return places, np.concatenate([both, both])


def _interleave(left: Ints, right: Ints) -> Ints:
    """One of each by turns."""
    return np.stack([left, right], axis=1).ravel()
