"""The framework's half of trace_view.json: operators, task queue, Python functions, forward-backward links."""

from __future__ import annotations

from tb_npu_plugin.capture.simulation.records import OpInfo, Segment
from tb_npu_plugin.capture.writers.files import Output
from tb_npu_plugin.capture.writers.trace_text import Clock, event, meta, process_rows, quote

_SEPARATOR = ";\r\n"
_QUOTE = '"'


class HostEvents:
    """Texts of the events of one process; `ts` writes its times."""

    def __init__(self, output: Output, ts: Clock) -> None:
        self._options, self._dialect, self._process, self._ts = output.options, output.dialect, output.process, ts
        self._pid = output.process.pid
        self._infos: dict[OpInfo, tuple[str, str]] = {}
        self._names: dict[str, str] = {}

    def ops(self, segment: Segment) -> list[str]:
        """Operator calls."""
        out, ts, infos = [], self._ts, self._infos
        for op in segment.ops:
            texts = infos.get(op.info)
            if texts is None:
                texts = infos[op.info] = self._static(op.info)
            out.append(
                f'{texts[0]}{op.tid}, "ts": {ts(op.start)}, "dur": {(op.end - op.start) / 1000}, "cat": "cpu_op", '
                f'"args": {{"Sequence number": {op.sequence}, "Fwd thread id": {op.forward_tid}{texts[1]}'
            )
        return out

    def _static(self, info: OpInfo) -> tuple[str, str]:
        args = ""
        if self._options.shapes and info.types:  # a single number has no sizes
            args += f', "Input Dims": {quote(info.shapes)}, "Input type": {quote(info.types)}'
        if self._options.stack and info.stack:
            args += f', "Call stack": {quote(_SEPARATOR.join(info.stack))}'
        return f'{{"ph": "X", "name": {quote(info.name)}, "pid": {self._pid}, "tid": ', args + "}}"

    def queue(self, segment: Segment) -> tuple[list[str], list[str]]:
        """Enqueues and dequeues, each with its end of the flow."""
        enqueues, dequeues, ts, pid = [], [], self._ts, self._pid
        dequeue_tid, with_names, names = self._process.dequeue_tid, self._dialect.enqueue_names, self._names
        for item in segment.queue:
            name = names.get(item.name)
            if name is None:
                name = names[item.name] = quote("@" + item.name)[1:]
            number, tid, at = item.correlation, item.op.tid, ts(item.start)
            enqueues.append(
                f'{{"ph": "X", "name": "Enqueue{name if with_names else _QUOTE}, "pid": {pid}, "tid": {tid}, '
                f'"ts": {at}, "dur": {(item.end - item.start) / 1000}, "cat": "enqueue", '
                f'"args": {{"correlation_id": {number}}}}}, '
                f'{{"ph": "s", "bp": "e", "name": "enqueue_to_dequeue", "id": {number}, "pid": {pid}, "tid": {tid}, '
                f'"ts": {at}, "cat": "async_task_queue"}}'
            )
            at = ts(item.dequeue_start)
            dequeues.append(
                f'{{"ph": "X", "name": "Dequeue{name}, "pid": {pid}, "tid": {dequeue_tid}, "ts": {at}, '
                f'"dur": {(item.dequeue_end - item.dequeue_start) / 1000}, "cat": "dequeue", '
                f'"args": {{"correlation_id": {number}}}}}, '
                f'{{"ph": "f", "bp": "e", "name": "enqueue_to_dequeue", "id": {number}, "pid": {pid}, '
                f'"tid": {dequeue_tid}, "ts": {at}, "cat": "async_task_queue"}}'
            )
        return enqueues, dequeues

    def links(self, segment: Segment) -> list[str]:
        """Flows from forward to backward operators."""
        forward = {op.sequence: op for op in segment.ops if op.sequence >= 0 and not op.forward_tid}
        backward = {op.sequence: op for op in segment.ops if op.sequence >= 0 and op.forward_tid}
        out, ts, pid = [], self._ts, self._pid
        for number in sorted(forward.keys() & backward.keys()):
            for ph, op in (("s", forward[number]), ("f", backward[number])):
                out.append(
                    f'{{"ph": "{ph}", "bp": "e", "name": "fwdbwd", "id": {number}, "pid": {pid}, "tid": {op.tid}, '
                    f'"ts": {ts(op.start)}, "cat": "fwdbwd"}}'
                )
        return out

    def calls(self, segment: Segment) -> list[str]:
        """Python functions and modules."""
        if not self._options.stack:
            return []
        out, ts, pid, names = [], self._ts, self._pid, self._names
        for call in segment.python:
            name = names.get(call.name)
            if name is None:
                name = names[call.name] = quote("@" + call.name)[1:]
            module = "" if call.module is None else f', "Python module id": {call.module}'
            out.append(
                f'{{"ph": "X", "name": "{name[1:]}, "pid": {pid}, "tid": {call.tid}, "ts": {ts(call.start)}, '
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
