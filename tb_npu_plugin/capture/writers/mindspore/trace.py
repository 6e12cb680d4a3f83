"""trace_view.json of MindSpore. Source: docs/facts/ascend_ms.md, trace_view.json of MindSpore."""

from __future__ import annotations

from functools import cache

from tb_npu_plugin.capture.simulation.records import Segment, Task
from tb_npu_plugin.capture.writers.files import Output
from tb_npu_plugin.capture.writers.mindspore.record import LAUNCH, scope_of
from tb_npu_plugin.capture.writers.text import decimals
from tb_npu_plugin.capture.writers.trace import CALLS, LINKS, OPS, Trace
from tb_npu_plugin.capture.writers.trace_device import DeviceEvents, Timed
from tb_npu_plugin.capture.writers.trace_text import Clock, process_rows, quote, text_ts
from tb_npu_plugin.schema import mindspore as names

_PID, _SCOPE_PID = names.PIDS[names.PROCESS_MINDSPORE], names.PIDS[names.PROCESS_SCOPE]


class LaunchedEvents(DeviceEvents):
    """The device's events: what was launched names its launch."""

    def linked(self, task: Task) -> str:
        """mindspore_op."""
        if task.op is None or not self._options.cpu:
            return ""
        return f', "{names.LAUNCHED_BY}": {quote(task.op.info.name)}'

    def torch_to_npu(self, segment: Segment) -> list[Timed]:
        """Flows from launches to their tasks: both ends in one text."""
        out: list[Timed] = []
        pid, (category, name) = self._pids["Ascend Hardware"], names.NPU_FLOW
        for task in segment.tasks:
            if (op := task.op) is not None and op.info.name.startswith(LAUNCH):
                at, start = self._ts(task.start), self._ts(op.start)
                common = f'"bp": "e", "cat": "{category}", "name": "{name}", "id": {at}'
                text = f'{{"ph": "s", {common}, "pid": {_PID}, "tid": {op.tid}, "ts": {start}}}, '
                text += f'{{"ph": "f", {common}, "pid": {pid}, "tid": {task.stream}, "ts": {at}}}'
                out.append((task.start, text))
        return out


class LaunchedTrace(Trace):
    """The list of events."""

    DEVICE_EVENTS = LaunchedEvents

    def __init__(self, output: Output) -> None:
        super().__init__(output)
        self._events = FrameworkEvents(output, text_ts)

    def _framework(self, segment: Segment) -> None:
        parts, events = self._parts, self._events
        if self._output.options.cpu:
            parts.add(OPS, events.ops(segment))
            parts.add(LINKS, events.flows(segment))
            parts.add(CALLS, [*events.calls(segment), *events.scopes(segment)])

    def _framework_rows(self) -> list[str]:
        return self._events.rows() if self._output.options.cpu else []


class FrameworkEvents:
    """Events of the framework's processes: times and durations are texts."""

    def __init__(self, output: Output, ts: Clock) -> None:
        self._options, self._launcher, self._ts = output.options, output.process.dequeue_tid, ts
        self._name = cache(quote)
        self._threads: set[int] = set()
        self._depth = -1

    def _slice(self, name: str, pid: int, tid: int, start: int, end: int, category: str = "") -> str:
        rest = f', "cat": "{category}"' if category else ""
        return (
            f'{{"name": {self._name(name)}, "ph": "X", "pid": {pid}, "tid": {tid}, "ts": {self._ts(start)}, '
            f'"dur": "{decimals(end - start)}"{rest}, "args": {{}}}}'
        )

    def ops(self, segment: Segment) -> list[str]:
        """Events of the framework."""
        self._threads.update(op.tid for op in segment.ops)
        return [self._slice(op.info.name, _PID, op.tid, op.start, op.end) for op in segment.ops]

    def flows(self, segment: Segment) -> list[str]:
        """From the event on the main thread to the launch."""
        category, name = names.SELF_FLOW
        out = []
        for item in segment.queue:
            common = f'"bp": "e", "cat": "{category}", "name": "{name}", "id": "{item.correlation}", "pid": {_PID}'
            out.append(f'{{"ph": "s", {common}, "tid": {item.op.tid}, "ts": {self._ts(item.op.start)}}}')
            out.append(f'{{"ph": "f", {common}, "tid": {self._launcher}, "ts": {self._ts(item.dequeue_start)}}}')
        return out

    def calls(self, segment: Segment) -> list[str]:
        """Python frames."""
        calls = segment.python if self._options.stack else ()
        return [self._slice(call.name, _PID, call.tid, call.start, call.end, names.PYTHON) for call in calls]

    def scopes(self, segment: Segment) -> list[str]:
        """Scope Layer: one lane a depth, neighbours of one scope merged; of parallel tasks the first."""
        out: list[str] = []
        open_: list[tuple[str, int, int]] = []  # name, start, end by depth
        reached = 0
        for task in segment.tasks:
            if task.op is None or not task.kernel.core or task.start < reached:
                continue
            parts = scope_of(task.op.info.name)
            same = 0
            while same < min(len(open_), len(parts)) and open_[same][0] == parts[same]:
                open_[same] = (parts[same], open_[same][1], task.end)
                same += 1
            out += self._close(open_, same)
            open_ += [(part, task.start, task.end) for part in parts[same:]]
            reached = task.end
        return out + self._close(open_, 0)

    def _close(self, open_: list[tuple[str, int, int]], keep: int) -> list[str]:
        self._depth = max(self._depth, len(open_) - 1)
        out = [self._slice(name, _SCOPE_PID, depth, start, end) for depth, (name, start, end) in enumerate(open_)]
        del open_[keep:]
        return out[keep:]

    def rows(self) -> list[str]:
        """Names of the processes and threads."""
        threads = {names.PROCESS_MINDSPORE: [(tid, f"Thread {tid}") for tid in sorted(self._threads)]}
        if self._depth >= 0:
            threads[names.PROCESS_SCOPE] = [(depth, f"Layer{depth}") for depth in range(self._depth + 1)]
        out = []
        for name, rows in threads.items():
            out += process_rows(name, names.PIDS[name], "CPU", names.SORTS[name], rows)
        return out
