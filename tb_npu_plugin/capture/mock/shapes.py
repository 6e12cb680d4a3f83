"""Shapes of a capture that recorded none: of the same calls as the observer saw them, or of a step before the capture
(the sample) that did record them.

Either is laid beside the capture, thread by thread: operators take the shapes of those that they stand beside. What was
observed stands beside all of it; the sample beside each step, since the steps of a training run the same operators in the
same order. Where the orders differ it goes on at the next run of operators that both have, forward if there is one, else
back (a loop that runs more often). An operator in between takes the shapes of the same operator that was met last. What
the sample never ran is passed over and has none, so that nothing is known to run for it on the device. A sample tells
nothing of shapes that change from step to step.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import Optional

from tb_npu_plugin.capture.mock.kineto import Call, Signature
from tb_npu_plugin.capture.simulation.records import outer_first

#: Operators in a row that show where two orders agree again.
_RUN = 8
_Found = Optional[Signature]


class Sample:
    """Operators with shapes, by thread in order of their start. `missing`: how often each operator was met that is not
    among them."""

    def __init__(self, threads: Mapping[int, Sequence[Signature]]) -> None:
        self._threads = {tid: _Order(signatures) for tid, signatures in threads.items()}
        self._last: dict[str, Signature] = {}
        for order in self._threads.values():
            for signature in order.signatures:
                self._last.setdefault(signature.name, signature)
        self.missing: Counter[str] = Counter()

    @classmethod
    def of(cls, calls: Iterable[Call]) -> Sample:
        """A sample that was recorded as a capture is."""
        threads = _by_thread(outer_first(calls))
        return cls({tid: [call.signature for call in mine] for tid, mine in threads.items()})

    def beside(self, calls: Iterable[Call]) -> list[Call]:
        """The calls of a capture with the shapes of these operators, by start."""
        return self._beside(outer_first(calls), None)

    def beside_steps(self, calls: Iterable[Call], step_prefix: str) -> list[Call]:
        """The same, each step by itself. Steps are the calls with names of this prefix."""
        ordered = outer_first(calls)
        ends = [call.end for call in ordered if call.signature.name.startswith(step_prefix)]
        out: list[Call] = []
        first = 0
        starts = [call.start for call in ordered]
        for end in [*ends[:-1], None]:
            until = len(ordered) if end is None else bisect_left(starts, end)
            out += self._beside(ordered[first:until], step_prefix)
            first = until
        return out

    def _beside(self, calls: list[Call], step_prefix: str | None) -> list[Call]:
        found: dict[int, list[_Found]] = {}
        mine = _by_thread(call for call in calls if call.signature.name in self._last)
        for tid, own in mine.items():
            names = [call.signature.name for call in own]
            order = self._threads.get(tid)
            found[tid] = order.beside(names) if order else [None] * len(names)
        rows = {tid: iter(row) for tid, row in found.items()}
        return [
            self._with_shapes(call, next(rows[call.tid]))
            if call.signature.name in self._last
            else self._without(call, step_prefix)
            for call in calls
        ]

    def _with_shapes(self, call: Call, found: _Found) -> Call:
        name = call.signature.name
        if found is None:
            found = self._last[name]
        else:
            self._last[name] = found
        return Call(call.start, call.end, call.tid, found, call.sequence, call.forward)

    def _without(self, call: Call, step_prefix: str | None) -> Call:
        if step_prefix is None or not call.signature.name.startswith(step_prefix):
            self.missing[call.signature.name] += 1
        return call


class _Order:
    """The operators of one thread."""

    def __init__(self, signatures: Sequence[Signature]) -> None:
        self.signatures = signatures
        self._names = [signature.name for signature in signatures]

    @cached_property
    def _runs(self) -> dict[tuple[str, ...], list[int]]:
        """Each run of operators -> where it begins. Not needed where the orders agree."""
        found: dict[tuple[str, ...], list[int]] = defaultdict(list)
        for at in range(len(self._names)):
            found[tuple(self._names[at : at + _RUN])].append(at)
        return found

    def beside(self, names: Sequence[str]) -> list[_Found]:
        """For each of these operators the one that it stands beside; None: none."""
        if names == self._names:
            return list(self.signatures)
        out: list[_Found] = []
        at = 0
        for number, name in enumerate(names):
            if at >= len(self._names) or self._names[at] != name:
                again = self._again(tuple(names[number : number + _RUN]), at)
                if again is None:
                    out.append(None)
                    continue
                at = again
            out.append(self.signatures[at])
            at += 1
        return out

    def _again(self, run: tuple[str, ...], at: int) -> int | None:
        places = self._runs.get(run)
        if not places:
            return None
        following = bisect_left(places, at)
        return places[following] if following < len(places) else places[-1]


def _by_thread(calls: Iterable[Call]) -> dict[int, list[Call]]:
    threads: dict[int, list[Call]] = defaultdict(list)
    for call in calls:
        threads[call.tid].append(call)
    return threads
