"""Ranges of mstx that torch_npu makes by itself: "dataloader" around each batch, and one around the call of each
communication operator, in a separate domain, with the communication as a JSON text.
Source: docs/facts/torch_npu_api.md, mstx.

The one of a communication operator is made by the thread that calls HCCL and is given its stream, so that it has a row on
the device as well. The text is written as the example of the vendor's guide is:
{"streamId": "32","count": "25701386","dataType": "fp16","groupName": "group_name_43","opName": "HcclAllreduce"}.
"""

from __future__ import annotations

import json
from dataclasses import replace

from tb_npu_plugin.capture.simulation.collectives import CALLS
from tb_npu_plugin.capture.simulation.records import (
    MSTX,
    RECEIVE,
    SEND,
    CannCall,
    CommOp,
    Kernel,
    Segment,
    Task,
    UserMark,
    by_start,
)

COMMUNICATION, DEFAULT_DOMAIN, DATALOADER = "communication", "default", "dataloader"
#: Name of the operator of a batch -> mark.
_LOADER = "enumerate(DataLoader)"
_PEERS = {SEND: "destRank", RECEIVE: "srcRank"}
#: Streams of HCCL on which the rows lie (assumed), after those of the planes; ns of the row before and after the operator.
_STREAM, _AROUND = 1024, 400
#: Connections of marks count from here: no call of CANN has them.
_FIRST = 4_000_000_000


class BuiltInMarks:
    """Adds the marks of one process to its segments. communication, dataloader: which of them."""

    def __init__(self, communication: bool, dataloader: bool) -> None:
        self._communication, self._dataloader = communication, dataloader
        self._count = 0

    def __call__(self, segment: Segment) -> Segment:
        """The segment with its marks, in the order in which they end."""
        marks = list(segment.marks)
        if self._dataloader:
            marks += [
                UserMark(DATALOADER, DEFAULT_DOMAIN, op.tid, op.start, op.end)
                for op in segment.ops
                if op.info.name.startswith(_LOADER)
            ]
        if self._communication:
            calls = {call.connection: call for call in segment.cann if call.level == "hccl"}
            marks += [self._mark(op, calls[op.connection]) for op in segment.comm if op.connection in calls]
        marks.sort(key=lambda mark: mark.end)
        rows = [mark.task for mark in marks if mark.task is not None and mark.domain == COMMUNICATION]
        return replace(segment, marks=marks, tasks=sorted([*segment.tasks, *rows], key=by_start))

    def _mark(self, op: CommOp, call: CannCall) -> UserMark:
        self._count += 1
        stream = _STREAM + op.group.index
        message = message_of(op, stream)
        kernel = Kernel(message, MSTX, "", MSTX)
        task = Task(kernel, op.start - _AROUND, op.dur + 2 * _AROUND, stream, self._count, _FIRST + self._count)
        return UserMark(message, COMMUNICATION, call.tid, call.start, call.end, task)


def message_of(op: CommOp, stream: int) -> str:
    """What torch_npu says of a communication operator: all values are texts."""
    content = {"streamId": str(stream), "count": str(op.count), "dataType": op.data_type.lower()}
    if op.type in _PEERS:
        content[_PEERS[op.type]] = str(1 - op.group.rank)  # groups of two
    content |= {"groupName": op.group.name or op.group.id, "opName": CALLS.get(op.type, op.type)}
    return json.dumps(content, separators=(",", ": "))
