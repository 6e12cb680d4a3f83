"""Which group an operator of torch.distributed used, and when the device waited for it: from the notes of the capture."""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable

from tb_npu_plugin.capture.mock.host import Communication
from tb_npu_plugin.capture.mock.kineto import Call

#: Functional collectives: PyTorch's C++ runs them, and an operator of torch.distributed inside each.
FUNCTIONAL = "_c10d_functional::"


class Notes:
    """`notes`: as HostData.communication. A note with an end holds for what is inside it; one that ends as it begins for
    the functional collective that follows on its thread; one without an end for all that no other tells."""

    def __init__(self, notes: Iterable[Communication], calls: Iterable[Call]) -> None:
        self._inside: dict[int, list[Communication]] = defaultdict(list)
        self._named: dict[int, list[Communication]] = defaultdict(list)
        self._onward: list[Communication] = []
        for note in sorted(notes, key=lambda note: note[0]):
            start, end, tid, _ = note
            (self._onward if end is None else (self._named if start == end else self._inside)[tid]).append(note)
        groups = (self._onward, *self._inside.values(), *self._named.values())
        self._starts = {id(found): [note[0] for note in found] for found in groups}
        self._functional: dict[int, list[Call]] = defaultdict(list)
        for call in calls:
            if call.signature.name.startswith(FUNCTIONAL):
                self._functional[call.tid].append(call)
        for found in self._functional.values():
            found.sort(key=lambda call: call.start)
        self._begins = {tid: [call.start for call in found] for tid, found in self._functional.items()}

    def of(self, call: Call) -> str | None:
        """Name of a communicator; None: no note tells."""
        around = self.functional(call)
        if around is not None:
            note = self._before(self._named.get(call.tid, []), around.end)
            if note is not None:
                return note[3]
        note = self.inside(call) or self._before(self._onward, _middle(call))
        return None if note is None else note[3]

    def inside(self, call: Call) -> Communication | None:
        """The note of the Python function that a call is in."""
        found = self._before(self._inside.get(call.tid, []), _middle(call))
        return None if found is None or found[1] is None or _middle(call) > found[1] else found

    def functional(self, call: Call) -> Call | None:
        """The functional collective that a call is in."""
        place = bisect_right(self._begins.get(call.tid, []), call.start)
        around = self._functional[call.tid][place - 1] if place else None
        return around if around is not None and call.end <= around.end else None

    def _before(self, notes: list[Communication], at: int) -> Communication | None:
        """The last one that began before."""
        place = bisect_right(self._starts[id(notes)], at) if notes else 0
        return notes[place - 1] if place else None


def _middle(call: Call) -> int:
    """The clock of the notes is not quite that of PyTorch."""
    return (call.start + call.end) // 2
