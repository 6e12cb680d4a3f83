"""Shapes of a capture that recorded none, from a step before it (the sample) that did.

The steps of a training run the same operators in the same order. Each step of the capture is laid beside the sample,
thread by thread: operators take the shapes of those that they stand beside. Where the orders differ it goes on at the
next run of operators that both have, forward if there is one, else back (a loop that runs more often). An operator in
between takes the shapes of the same operator that was met last. What the sample never ran is passed over and has none, so
that nothing is known to run for it on the device. Shapes that change from step to step are not seen at all.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from typing import Optional

from tb_npu_plugin.capture.mock.kineto import Call, Signature
from tb_npu_plugin.capture.simulation.records import outer_first

#: Operators in a row that show where two orders agree again.
_RUN = 8
_Found = Optional[Signature]


class Sample:
    """The operators of the step before. `missing`: how often each operator was met that it did not run."""

    def __init__(self, calls: Iterable[Call]) -> None:
        threads = _by_thread(_in_order(calls))
        self._threads = {tid: _Order([call.signature for call in mine]) for tid, mine in threads.items()}
        self._last: dict[str, Signature] = {}
        for order in self._threads.values():
            for signature in order.signatures:
                self._last.setdefault(signature.name, signature)
        self.missing: Counter[str] = Counter()

    def applied(self, calls: Iterable[Call], step_prefix: str) -> list[Call]:
        """The calls of a capture with these shapes, by start. Steps are the calls with names of this prefix."""
        ordered = _in_order(calls)
        ends = [call.end for call in ordered if call.signature.name.startswith(step_prefix)]
        out: list[Call] = []
        first = 0
        starts = [call.start for call in ordered]
        for end in [*ends[:-1], None]:
            until = len(ordered) if end is None else bisect_left(starts, end)
            out += self._step(ordered[first:until], step_prefix)
            first = until
        return out

    def _step(self, calls: list[Call], step_prefix: str) -> list[Call]:
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

    def _without(self, call: Call, step_prefix: str) -> Call:
        if not call.signature.name.startswith(step_prefix):
            self.missing[call.signature.name] += 1
        return call


class _Order:
    """The operators of one thread of the sample."""

    def __init__(self, signatures: list[Signature]) -> None:
        self.signatures = signatures
        self._names = [signature.name for signature in signatures]
        self._runs: dict[tuple[str, ...], list[int]] = defaultdict(list)
        for at in range(len(signatures)):
            self._runs[tuple(self._names[at : at + _RUN])].append(at)

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


def _in_order(calls: Iterable[Call]) -> list[Call]:
    return outer_first(calls)


def _by_thread(calls: Iterable[Call]) -> dict[int, list[Call]]:
    threads: dict[int, list[Call]] = defaultdict(list)
    for call in calls:
        threads[call.tid].append(call)
    return threads
