"""trace_view.json of MindSpore. Source: docs/facts/ascend_ms.md, trace_view.json of MindSpore."""

from __future__ import annotations

from functools import cache

from tb_npu_plugin.capture.simulation.records import HostOp, OpInfo, Segment, Task
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
            op = task.op
            if op is None or not op.info.name.startswith(LAUNCH):
                continue
            common = f'"bp": "e", "cat": "{category}", "name": "{name}", "id": {self._ts(task.start)}'
            out.append(
                (
                    task.start,
                    f'{{"ph": "s", {common}, "pid": {_PID}, "tid": {op.tid}, "ts": {self._ts(op.start)}}}, '
                    f'{{"ph": "f", {common}, "pid": {pid}, "tid": {task.stream}, "ts": {self._ts(task.start)}}}',
                )
            )
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
        self._front = cache(_front)
        self._threads: set[int] = set()
        self._depth = -1

    def ops(self, segment: Segment) -> list[str]:
        """Events of the framework."""
        self._threads.update(op.tid for op in segment.ops)
        return [self._event(op) for op in segment.ops]

    def _event(self, op: HostOp) -> str:
        return f'{self._front(op.info)}{op.tid}, "ts": {self._ts(op.start)}, "dur": {_duration(op.end - op.start)}, "args": {{}}}}'

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
        if not self._options.stack:
            return []
        return [
            f'{{"name": {quote(call.name)}, "ph": "X", "pid": {_PID}, "tid": {call.tid}, "ts": {self._ts(call.start)}, '
            f'"dur": {_duration(call.end - call.start)}, "cat": "{names.PYTHON}", "args": {{}}}}'
            for call in segment.python
        ]

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
        out = []
        for depth in range(keep, len(open_)):
            name, start, end = open_[depth]
            self._depth = max(self._depth, depth)
            out.append(
                f'{{"name": {quote(name)}, "ph": "X", "pid": {_SCOPE_PID}, "tid": {depth}, "ts": {self._ts(start)}, '
                f'"dur": {_duration(end - start)}, "args": {{}}}}'
            )
        del open_[keep:]
        return out

    def rows(self) -> list[str]:
        """Names of the processes and threads."""
        threads = {names.PROCESS_MINDSPORE: [(tid, f"Thread {tid}") for tid in sorted(self._threads)]}
        if self._depth >= 0:
            threads[names.PROCESS_SCOPE] = [(depth, f"Layer{depth}") for depth in range(self._depth + 1)]
        out = []
        for name, rows in threads.items():
            out += process_rows(name, names.PIDS[name], "CPU", names.SORTS[name], rows)
        return out


def _duration(ns: int) -> str:
    """JSON text of us."""
    return f'"{decimals(ns)}"'


def _front(info: OpInfo) -> str:
    return f'{{"name": {quote(info.name)}, "ph": "X", "pid": {_PID}, "tid": '
