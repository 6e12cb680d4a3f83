"""Batches of sends and receives, as Megatron launches them (batch_isend_irecv).

HCCL runs a batch as one operator. The profiler does not count that operator as a receive, so Bubble is 0."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

from tb_npu_plugin.capture.simulation.batch import PLANES, RECEIVED
from tb_npu_plugin.capture.simulation.collectives import CALLS
from tb_npu_plugin.capture.simulation.planes import Planes
from tb_npu_plugin.capture.simulation.records import BATCH, RECEIVE, SEND, CommOp, OpInfo, Process, Segment
from tb_npu_plugin.schema.communicators import group_hash

_ROLES = frozenset(("pp", "p2p"))
#: Names of sends and receives: of operators, and of calls.
_NAMES = dict.fromkeys((SEND, RECEIVE), BATCH) | {CALLS[name]: CALLS[BATCH] for name in (SEND, RECEIVE)}


class Batches:
    """Replaces the sends and receives of one process. The times stay as they are."""

    def __init__(self, process: Process) -> None:
        process.groups = [
            replace(group, planes=PLANES) if group.planes and group.group_name in _ROLES else group
            for group in process.groups
        ]
        self._groups, self._counts = process.groups, Counter[int]()
        self._infos: dict[OpInfo, OpInfo] = {}

    def __call__(self, segment: Segment) -> Segment:
        """The segment with batches. What joins a batch loses its launch."""
        comm: list[CommOp] = []
        open_: dict[int, CommOp] = {}
        joined: list[CommOp] = []
        for op in segment.comm:
            if op.type not in (SEND, RECEIVE):
                comm.append(op)
                continue
            index = op.group.index
            planes = op.planes.renamed((0, 1), RECEIVED) if op.type == RECEIVE else op.planes
            if index in open_:
                batch = open_.pop(index)
                batch.dur, batch.count = op.end - batch.start, batch.count + op.count
                batch.planes = Planes.joined([batch.planes, planes])
                joined.append(op)
                continue
            name = f"{BATCH}_{group_hash(op.group.name)[-3:]}_{self._counts[index]}_1"
            comm.append(replace(op, name=name, type=BATCH, group=self._groups[index], planes=planes))
            self._counts[index] += 1
            if op.joined:
                open_[index] = comm[-1]
        return self._renamed(replace(segment, comm=comm), joined)

    def _renamed(self, segment: Segment, joined: list[CommOp]) -> Segment:
        """The same with the names of batches on the host."""
        gone = {op.op for op in joined}
        calls = {number for op in joined for number in range(op.connection - 2, op.connection + 1)}  # of one launch
        segment.ops = [op for op in segment.ops if op not in gone]
        segment.queue = [item for item in segment.queue if item.op not in gone]
        segment.cann = [call for call in segment.cann if call.connection not in calls]
        for op in segment.ops:
            if op.info.name in _NAMES:
                op.info = self._infos.setdefault(op.info, replace(op.info, name=_NAMES[op.info.name]))
        for item in segment.queue:
            item.name = _NAMES.get(item.name, item.name)
        for call in segment.cann:
            call.name, call.item = _NAMES.get(call.name, call.name), _NAMES.get(call.item, call.item)
        return segment
