"""batch_isend_irecv: its sends and receives are one operator of the device, as torch_npu calls HCCL."""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable

from tb_npu_plugin.capture.mock.exchanges import transfer_of, type_of
from tb_npu_plugin.capture.mock.host import Batch
from tb_npu_plugin.capture.mock.kineto import Call
from tb_npu_plugin.capture.simulation.batch import Item
from tb_npu_plugin.capture.simulation.records import RECEIVE, SEND

#: Argument of sends and receives that is the other rank, counted in the group.
_PEER = 2


class Batches:
    """`batches`: as HostData.batches. The last call of each stands for all of it."""

    def __init__(self, batches: Iterable[Batch], calls: Iterable[Call]) -> None:
        spans: dict[int, list[tuple[int, int]]] = defaultdict(list)
        for start, end, tid in sorted(batches):
            spans[tid].append((start, end))
        self._first: dict[tuple[int, int], tuple[int, int]] = {}  # call -> its batch
        self._calls: dict[tuple[int, int], list[Call]] = defaultdict(list)
        for call in calls if spans else ():
            if type_of(call.signature) not in (SEND, RECEIVE) or not _peer(call).isdigit():
                continue
            mine = spans.get(call.tid, [])
            middle = (call.start + call.end) // 2
            place = bisect_right(mine, (middle, middle)) - 1
            if place >= 0 and middle <= mine[place][1]:
                self._first[call.tid, call.start] = key = (call.tid, mine[place][0])
                self._calls[key].append(call)
        for found in self._calls.values():
            found.sort(key=lambda call: call.start)

    def of(self, call: Call) -> list[Call] | None:
        """All of the batch that this call stands for; empty: another call stands for its batch; None: it is in none."""
        key = self._first.get((call.tid, call.start))
        if key is None:
            return None
        calls = self._calls[key]
        return calls if calls[-1].start == call.start else []

    @staticmethod
    def items(calls: Iterable[Call]) -> list[Item]:
        """What a batch sends and receives."""
        found = [(call, transfer_of(call, "", 1)) for call in calls]
        return [Item(what.type == SEND, int(_peer(call)), what.size) for call, what in found if what is not None]


def _peer(call: Call) -> str:
    values = call.signature.values
    return values[_PEER] if len(values) > _PEER else ""
