"""What the ranks of a run do over time, computed once for each reading of a rank."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tb_npu_plugin.analysis.findings.explain import Explanation, explain_range
from tb_npu_plugin.analysis.run.communication import RunCommunication
from tb_npu_plugin.analysis.run.strips import (
    DeviceTimes,
    KernelFigures,
    Strip,
    Wait,
    coverage_of,
    device_times,
    exposed_waits,
    kernel_figures,
    starts_of_collective,
)
from tb_npu_plugin.intervals import Coverage
from tb_npu_plugin.store.cache.memory import LruCache
from tb_npu_plugin.store.span import Span
from tb_npu_plugin.views.trace_ranks import line_of

#: Limit of the times of ranks in memory, bytes, and number of runs whose waits are kept.
TIMES_BYTES = 1 << 28
RUNS = 2


class RunStrips:
    """The strips of the ranks of a run that are read."""

    def __init__(self, spans: Sequence[Span], times: LruCache[tuple[Any, ...], Any]) -> None:
        self._spans = {span.token: span for span in spans}
        self._run = RunCommunication(spans)
        self._times = times
        self._waits: LruCache[str, tuple[Sequence[Wait], Coverage]] = LruCache(len(spans), lambda waits: 1)

    def has(self, span: str) -> bool:
        """Whether the span (its token) is read."""
        return span in self._spans

    def of(self, span: str) -> Strip | None:
        """The strip of a span that is read; None if it has several devices, or no task has a time."""
        at = line_of(self._run, span)
        if at is None:
            return None
        line = self._run.lines[at]
        times: DeviceTimes | None = self._times.get(
            (span, *self._spans[span].entries.items()), lambda: device_times(line)
        )
        if times is None:
            return None
        own = times

        def load() -> tuple[Sequence[Wait], Coverage]:
            waits = exposed_waits(self._run, at, own)
            return waits, coverage_of(waits)

        return Strip(times, *self._waits.get(span, load))

    def kernels(self, span: str, start: int, end: int) -> KernelFigures | None:
        """The kernels of a span with a strip in [start, end), ns since the epoch; None if it has none."""
        at = line_of(self._run, span)
        return None if at is None else kernel_figures(self._run.lines[at], start, end)

    def explain(self, windows: Mapping[str, tuple[int, int]]) -> Explanation:
        """What stands out in a range. windows: token of a span that is read -> its range, ns since the epoch."""
        lines = {at: (span, window) for span, window in windows.items() if (at := line_of(self._run, span)) is not None}
        strips = {at: self.of(span) for at, (span, _) in lines.items()}
        return explain_range(self._run, {at: window for at, (_, window) in lines.items()}, strips.get)

    def starts_of(self, span: str, name: str, start: int) -> dict[str, int]:
        """Start of a collective on each rank that runs it: see starts_of_collective."""
        return starts_of_collective(self._run, span, name, start)


class StripCache:
    """The strips of the runs that were asked for last."""

    def __init__(self) -> None:
        self._times: LruCache[tuple[Any, ...], Any] = LruCache(TIMES_BYTES, lambda times: times.bytes)
        self._runs: LruCache[tuple[Any, ...], RunStrips] = LruCache(RUNS, lambda run: 1)

    def get(self, spans: Sequence[Span]) -> RunStrips:
        """The strips of `spans`, new if one of them was read again."""
        version = tuple((span.token, *span.entries.items()) for span in spans)
        return self._runs.get(version, lambda: RunStrips(spans, self._times))
