"""What the vendor's parser works out of device times: overlap rows and step windows (specs/ascend_pt.md 4.9, 5.6)."""

from __future__ import annotations

from collections.abc import Iterable

from tb_npu_plugin.capture.simulation.records import Segment, Step

Interval = tuple[int, int]
OVERLAP = ("Computing", "Communication", "Communication(Not Overlapped)", "Free")
COMPUTING, COMMUNICATION, ALONE, FREE = range(4)


def union(intervals: Iterable[Interval]) -> list[Interval]:
    """Merge intervals that overlap or touch."""
    out: list[Interval] = []
    start = end = -1
    for begin, stop in sorted(intervals):
        if begin > end:
            if end >= 0:
                out.append((start, end))
            start, end = begin, stop
        elif stop > end:
            end = stop
    if end >= 0:
        out.append((start, end))
    return out


def minus(left: list[Interval], right: list[Interval]) -> list[Interval]:
    """Parts of `left` outside `right`; both merged and sorted."""
    out, first = [], 0
    for start, end in left:
        while first < len(right) and right[first][1] <= start:
            first += 1
        at = first
        while at < len(right) and right[at][0] < end:
            begin, stop = right[at]
            if begin > start:
                out.append((start, begin))
            start = max(start, stop)
            at += 1
        if start < end:
            out.append((start, end))
    return out


class Overlap:
    """The rows of Overlap Analysis, worked out while records come: (start, end, index in OVERLAP) in file order."""

    def __init__(self) -> None:
        self._computing: list[Interval] = []
        self._communication: list[Interval] = []
        self._idle_since: int | None = None

    def add(self, segment: Segment) -> list[tuple[int, int, int]]:
        """Rows that no later record can change."""
        self._computing += [(t.start, t.start + t.dur) for t in segment.tasks if t.kernel.core]
        self._communication += [(op.start, op.start + op.dur) for op in segment.comm]
        return self._rows(self._settled(segment.until))

    def finish(self) -> list[tuple[int, int, int]]:
        """The remaining rows."""
        return self._rows(1 << 63)

    def open_since(self) -> int:
        """No later row begins before."""
        if self._idle_since is not None:
            return self._idle_since
        return min((start for start, _ in (*self._computing, *self._communication)), default=1 << 63)

    def _settled(self, until: int) -> int:
        """Start of the busy time that goes on at `until`, or `until`."""
        for start, end in reversed(union([*self._computing, *self._communication])):
            if start < until:
                return start if end >= until else until
        return until

    def _rows(self, before: int) -> list[tuple[int, int, int]]:
        computing = union(i for i in self._computing if i[0] < before)
        communication = union(i for i in self._communication if i[0] < before)
        self._computing = [i for i in self._computing if i[0] >= before]
        self._communication = [i for i in self._communication if i[0] >= before]
        busy = union([*computing, *communication])
        if not busy:
            return []
        edges = [] if self._idle_since is None else [(0, self._idle_since)]
        edges += busy
        self._idle_since = busy[-1][1]
        free = [(a[1], b[0]) for a, b in zip(edges, edges[1:])]
        kinds = (computing, communication, minus(communication, computing), free)
        rows = [(start, end, kind) for kind, intervals in enumerate(kinds) for start, end in intervals]
        return sorted(rows, key=lambda row: (row[0], row[2]))


class Windows:
    """Steps on the device: from the first task or communication that a step launched to its last one or the end of the
    step on the host."""

    def __init__(self) -> None:
        self.known: list[tuple[int, int, Step]] = []

    def add(self, segment: Segment) -> None:
        """The window of the segment's step."""
        step = segment.step
        if step is None:
            return
        tasks = [(t.start, t.end) for t in segment.tasks if t.acl and step.start <= t.acl < step.end]
        tasks += [(op.start, op.end) for op in segment.comm if step.start <= op.acl < step.end]
        if tasks:
            self.known.append((min(start for start, _ in tasks), max(step.end, *(end for _, end in tasks)), step))


class StepFinder:
    """The step of what begins at a time on the device: the first window that holds it. Times never go back."""

    def __init__(self, windows: Windows) -> None:
        self._windows = windows.known
        self._first = 0

    def __call__(self, at: int) -> Step | None:
        """None outside every step."""
        windows, first = self._windows, self._first
        while first < len(windows) and windows[first][1] <= at:
            first += 1
        self._first = first
        while first < len(windows) and windows[first][0] <= at:
            if at < windows[first][1]:
                return windows[first][2]
            first += 1
        return None
