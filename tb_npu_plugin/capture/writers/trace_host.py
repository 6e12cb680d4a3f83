"""The framework's half of trace_view.json: operators, task queue, Python functions, forward-backward links."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

from tb_npu_plugin.capture.simulation.records import HostOp, OpInfo, Segment
from tb_npu_plugin.capture.writers.files import Output
from tb_npu_plugin.capture.writers.trace_text import Clock, event, flow_end, meta, process_rows, quote

_SEPARATOR = ";\r\n"
_QUEUE = "enqueue_to_dequeue", "async_task_queue"
_QUOTE = '"'


class HostEvents:
    """Texts of the events of one process; `ts` writes its times."""

    def __init__(self, output: Output, ts: Clock) -> None:
        self._options, self._dialect, self._process, self._ts = output.options, output.dialect, output.process, ts
        self._pid = output.process.pid
        self._op_texts, self._name = cache(self._make_op_texts), cache(_name)

    def ops(self, segment: Segment) -> list[str]:
        """Operator calls."""
        out, ts = [], self._ts
        for op in segment.ops:
            front, back = self._op_texts(op.info)
            out.append(
                f'{front}{op.tid}, "ts": {ts(op.start)}, "dur": {(op.end - op.start) / 1000}, "cat": "cpu_op", '
                f'"args": {{"Sequence number": {op.sequence}, "Fwd thread id": {op.forward_tid}{back}'
            )
        return out

    def _make_op_texts(self, info: OpInfo) -> tuple[str, str]:
        args = ""
        if self._options.shapes and info.types:  # a single number has no sizes
            args += f', "Input Dims": {quote(info.shapes)}, "Input type": {quote(info.types)}'
        if self._options.stack and info.stack:
            args += f', "Call stack": {quote(_SEPARATOR.join(info.stack))}'
        return f'{{"ph": "X", "name": {quote(info.name)}, "pid": {self._pid}, "tid": ', args + "}}"

    def queue(self, segment: Segment) -> tuple[list[str], list[str]]:
        """Enqueues and dequeues, each with its end of the flow."""
        enqueues, dequeues, ts, pid = [], [], self._ts, self._pid
        dequeue_tid, with_names = self._process.dequeue_tid, self._dialect.enqueue_names
        for item in segment.queue:
            name = self._name(item.name)
            number, tid, at = item.correlation, item.op.tid, ts(item.start)
            enqueues.append(
                f'{{"ph": "X", "name": "Enqueue{name if with_names else _QUOTE}, "pid": {pid}, "tid": {tid}, '
                f'"ts": {at}, "dur": {(item.end - item.start) / 1000}, "cat": "enqueue", '
                f'"args": {{"correlation_id": {number}}}}}, {flow_end("s", *_QUEUE, number, pid, tid, at)}'
            )
            at = ts(item.dequeue_start)
            dequeues.append(
                f'{{"ph": "X", "name": "Dequeue{name}, "pid": {pid}, "tid": {dequeue_tid}, "ts": {at}, '
                f'"dur": {(item.dequeue_end - item.dequeue_start) / 1000}, "cat": "dequeue", '
                f'"args": {{"correlation_id": {number}}}}}, {flow_end("f", *_QUEUE, number, pid, dequeue_tid, at)}'
            )
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
        if not self._options.stack:
            return []
        out, ts, pid = [], self._ts, self._pid
        for call in segment.python:
            module = "" if call.module is None else f', "Python module id": {call.module}'
            out.append(
                f'{{"ph": "X", "name": "{self._name(call.name)[1:]}, "pid": {pid}, "tid": {call.tid}, "ts": {ts(call.start)}, '
                f'"dur": {(call.end - call.start) / 1000}, "cat": "python_function", '
                f'"args": {{"Python id": {call.id}, "Python parent id": {call.parent}{module}}}}}'
            )
        return out

    def collections(self, segment: Segment, pid: int) -> list[str]:
        """Runs of the garbage collector, in a separate process."""
        return [
            event(
                {
                    "ph": "X",
                    "name": "GC",
                    "pid": pid,
                    "tid": pause.tid,
                    "ts": self._ts(pause.start).strip('"'),
                    "dur": (pause.end - pause.start) / 1000,
                    "cat": "GC",
                    "args": {},
                }
            )
            for pause in segment.gc
        ]

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


def _name(text: str) -> str:
    """JSON text of "@" and a name, without the first quote."""
    return quote("@" + text)[1:]
