"""The framework's half of trace_view.json: operators, task queue, Python functions, forward-backward links."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

from tb_npu_plugin.capture.simulation.records import HostOp, OpInfo, Segment
from tb_npu_plugin.capture.writers.files import Output
from tb_npu_plugin.capture.writers.trace_text import Clock, flow_end, meta, process_rows, quote

_SEPARATOR = ";\r\n"
_QUEUE = "enqueue_to_dequeue", "async_task_queue"


class HostEvents:
    """Texts of the events of one process; `ts` writes its times."""

    def __init__(self, output: Output, ts: Clock) -> None:
        self._options, self._dialect, self._process, self._ts = output.options, output.dialect, output.process, ts
        self._pid = output.process.pid
        self._op_texts, self._name = cache(self._make_op_texts), cache(quote)

    def _slice(self, name: str, tid: int, start: int, end: int, category: str, args: str, pid: int = 0) -> str:
        """name, args: JSON texts."""
        return (
            f'{{"ph": "X", "name": {name}, "pid": {pid or self._pid}, "tid": {tid}, "ts": {self._ts(start)}, '
            f'"dur": {(end - start) / 1000}, "cat": "{category}", "args": {{{args}}}}}'
        )

    def ops(self, segment: Segment) -> list[str]:
        """Operator calls."""
        out = []
        for op in segment.ops:
            name, further = self._op_texts(op.info)
            args = f'"Sequence number": {op.sequence}, "Fwd thread id": {op.forward_tid}{further}'
            out.append(self._slice(name, op.tid, op.start, op.end, "cpu_op", args))
        return out

    def _make_op_texts(self, info: OpInfo) -> tuple[str, str]:
        """Name, and arguments that all its calls share."""
        args = ""
        if self._options.shapes and info.types:  # a single number has no sizes
            args += f', "Input Dims": {quote(info.shapes)}, "Input type": {quote(info.types)}'
        if self._options.stack and info.stack:
            args += f', "Call stack": {quote(_SEPARATOR.join(info.stack))}'
        return quote(info.name), args

    def queue(self, segment: Segment) -> tuple[list[str], list[str]]:
        """Enqueues and dequeues, each with its end of the flow."""
        enqueues, dequeues, pid, dequeue_tid = [], [], self._pid, self._process.dequeue_tid
        for item in segment.queue:
            number, tid = item.correlation, item.op.tid
            args = f'"correlation_id": {number}'
            name = self._name(f"Enqueue@{item.name}" if self._dialect.enqueue_names else "Enqueue")
            enqueue = self._slice(name, tid, item.start, item.end, "enqueue", args)
            enqueues.append(f"{enqueue}, {flow_end('s', *_QUEUE, number, pid, tid, self._ts(item.start))}")
            name, start = self._name(f"Dequeue@{item.name}"), item.dequeue_start
            dequeue = self._slice(name, dequeue_tid, start, item.dequeue_end, "dequeue", args)
            dequeues.append(f"{dequeue}, {flow_end('f', *_QUEUE, number, pid, dequeue_tid, self._ts(start))}")
        return enqueues, dequeues

    def links(self, segment: Segment) -> list[str]:
        """Flows from forward to backward operators."""
        return [
            flow_end(end, "fwdbwd", "fwdbwd", number, self._pid, op.tid, self._ts(op.start))
            for number, ops in forward_and_backward(segment.ops)
            for end, op in zip("sf", ops)
        ]

    def calls(self, segment: Segment) -> list[str]:
        """Python functions and modules."""
        out = []
        for call in segment.python if self._options.stack else ():
            module = "" if call.module is None else f', "Python module id": {call.module}'
            args = f'"Python id": {call.id}, "Python parent id": {call.parent}{module}'
            out.append(self._slice(self._name(call.name), call.tid, call.start, call.end, "python_function", args))
        return out

    def collections(self, segment: Segment, pid: int) -> list[str]:
        """Runs of the garbage collector, in a separate process."""
        return [self._slice('"GC"', pause.tid, pause.start, pause.end, "GC", "", pid) for pause in segment.gc]

    def rows(self) -> list[str]:
        """Names of the process and its threads."""
        top = max(self._process.threads, default=0)
        rows = process_rows("Python", self._pid, "CPU", 0)
        for tid in self._process.threads:
            rows.append(meta("thread_name", self._pid, tid, name=f"Thread {tid}"))
            index = top + 1 if tid == self._process.dequeue_tid else tid
            rows.append(meta("thread_sort_index", self._pid, tid, sort_index=index))
        return rows


def forward_and_backward(ops: Sequence[HostOp]) -> list[tuple[int, tuple[HostOp, HostOp]]]:
    """Sequence numbers that operators of both directions have, and the last operator of each direction."""
    forward = {op.sequence: op for op in ops if op.sequence >= 0 and not op.forward_tid}
    backward = {op.sequence: op for op in ops if op.sequence >= 0 and op.forward_tid}
    return [(number, (forward[number], backward[number])) for number in sorted(forward.keys() & backward.keys())]
