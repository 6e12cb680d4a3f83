"""The simulated run, as torch_npu records it: without what is switched off, with the ranges of mstx that it makes itself, and
with the sends and receives of Megatron in batches. Source: docs/facts/torch_npu_api.md, mstx."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from dataclasses import replace

from tb_npu_plugin.capture.simulation import records
from tb_npu_plugin.capture.simulation.batch import PLANES, RECEIVED
from tb_npu_plugin.capture.simulation.collectives import CALLS
from tb_npu_plugin.capture.simulation.planes import Planes
from tb_npu_plugin.capture.writers.dialect import Options
from tb_npu_plugin.schema.communicators import group_hash

COMMUNICATION, DEFAULT_DOMAIN, DATALOADER = "communication", "default", "dataloader"
#: Name of the operator of a batch -> mark.
_LOADER = "enumerate(DataLoader)"
_PEERS = {records.SEND: "destRank", records.RECEIVE: "srcRank"}
#: Streams of HCCL on which the rows lie (assumed), after those of the planes; ns of the row before and after the operator.
_STREAM, _AROUND = 1024, 400
#: Connections of marks count from here: no call of CANN has them.
_FIRST = 4_000_000_000


class BuiltInMarks:
    """Adds the ranges of mstx that torch_npu makes by itself to the segments of one process: dataloader, around each batch;
    communication, around the call of each communication operator, in a separate domain.

    The latter is made by the thread that calls HCCL and is given its stream, so that it has a row on the device as well.
    """

    def __init__(self, communication: bool, dataloader: bool) -> None:
        self._communication, self._dataloader = communication, dataloader
        self._count = 0

    def __call__(self, segment: records.Segment) -> records.Segment:
        """The segment with its marks, in the order in which they end."""
        marks = list(segment.marks)
        if self._dataloader:
            marks += [
                records.UserMark(DATALOADER, DEFAULT_DOMAIN, op.tid, op.start, op.end)
                for op in segment.ops
                if op.info.name.startswith(_LOADER)
            ]
        if self._communication:
            calls = {call.connection: call for call in segment.cann if call.level == "hccl"}
            for op in segment.comm:
                if (call := calls.get(op.connection)) is not None:
                    self._count += 1
                    stream, message = _STREAM + op.group.index, message_of(op)
                    kernel = records.Kernel(message, records.MSTX, "", records.MSTX)
                    start, dur = op.start - _AROUND, op.dur + 2 * _AROUND
                    task = records.Task(kernel, start, dur, stream, self._count, _FIRST + self._count)
                    marks.append(records.UserMark(message, COMMUNICATION, call.tid, call.start, call.end, task))
        marks.sort(key=lambda mark: mark.end)
        rows = [mark.task for mark in marks if mark.task is not None and mark.domain == COMMUNICATION]
        return replace(segment, marks=marks, tasks=sorted([*segment.tasks, *rows], key=records.by_start))


def message_of(op: records.CommOp) -> str:
    """A communication operator as a JSON text, written as the example of the vendor's guide is:

    {"streamId": "32","count": "25701386","dataType": "fp16","groupName": "group_name_43","opName": "HcclAllreduce"}.
    """
    content = {"streamId": str(_STREAM + op.group.index), "count": str(op.count), "dataType": op.data_type.lower()}
    if op.type in _PEERS:
        content[_PEERS[op.type]] = str(1 - op.group.rank)  # groups of two
    content |= {"groupName": op.group.name or op.group.id, "opName": CALLS.get(op.type, op.type)}
    return json.dumps(content, separators=(",", ": "))


_ROLES = frozenset(("pp", "p2p"))
#: Names of sends and receives: of operators, and of calls.
_NAMES = dict.fromkeys((records.SEND, records.RECEIVE), records.BATCH) | {
    CALLS[name]: CALLS[records.BATCH] for name in (records.SEND, records.RECEIVE)
}


class Batches:
    """Replaces the sends and receives of one process by batches, as Megatron launches them (batch_isend_irecv).

    HCCL runs a batch as one operator. The profiler does not count that operator as a receive, so Bubble is 0.
    """

    def __init__(self, process: records.Process) -> None:
        process.groups = [
            replace(group, planes=PLANES) if group.planes and group.group_name in _ROLES else group
            for group in process.groups
        ]
        self._groups, self._counts = process.groups, Counter[int]()
        self._infos: dict[records.OpInfo, records.OpInfo] = {}

    def __call__(self, segment: records.Segment) -> records.Segment:
        """The segment with batches. What joins a batch loses its launch."""
        comm: list[records.CommOp] = []
        open_: dict[int, records.CommOp] = {}
        joined: list[records.CommOp] = []
        for op in segment.comm:
            if op.type not in (records.SEND, records.RECEIVE):
                comm.append(op)
                continue
            index = op.group.index
            planes = op.planes.renamed((0, 1), RECEIVED) if op.type == records.RECEIVE else op.planes
            if index in open_:
                batch = open_.pop(index)
                batch.dur, batch.count = op.end - batch.start, batch.count + op.count
                batch.planes = Planes.joined([batch.planes, planes])
                joined.append(op)
                continue
            name = f"{records.BATCH}_{group_hash(op.group.name)[-3:]}_{self._counts[index]}_1"
            comm.append(replace(op, name=name, type=records.BATCH, group=self._groups[index], planes=planes))
            self._counts[index] += 1
            if op.joined:
                open_[index] = comm[-1]
        segment, gone = replace(segment, comm=comm), {op.op for op in joined}
        calls = {number for op in joined for number in range(op.connection - 2, op.connection + 1)}  # of one launch
        segment.ops = [op for op in segment.ops if op not in gone]
        segment.queue = [item for item in segment.queue if item.op not in gone]
        segment.cann = [call for call in segment.cann if call.connection not in calls]
        for host_op in segment.ops:  # the names of batches on the host
            if (info := host_op.info).name in _NAMES:
                host_op.info = self._infos.setdefault(info, replace(info, name=_NAMES[info.name]))
        for item in segment.queue:
            item.name = _NAMES.get(item.name, item.name)
        for call in segment.cann:
            call.name, call.item = _NAMES.get(call.name, call.name), _NAMES.get(call.item, call.item)
        return segment


def recording(process: records.Process, options: Options) -> Callable[[records.Segment], records.Segment]:
    """Drops what the options do not record from each segment. Without the host there are no step marks: `process` says so."""
    process.marks = process.marks and options.cpu
    batched = Batches(process) if options.batches else None
    marked = BuiltInMarks(COMMUNICATION in options.built_in_marks, DATALOADER in options.built_in_marks)

    def seen(segment: records.Segment) -> records.Segment:
        if batched is not None:
            segment = batched(segment)
        if options.built_in_marks:
            segment = marked(segment)
        if not options.device:
            # Level_none is for marks: they are known on the host
            marks = [replace(mark, task=None) for mark in segment.marks] if options.npu else []
            segment = replace(segment, cann=[], tasks=[], comm=[], samples=[], modules=[], marks=marks)
        if not options.cpu:
            segment = replace(segment, step=None, ops=[], python=[], queue=[], gc=[])
        return segment

    return seen
