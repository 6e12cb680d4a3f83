"""Process and thread ids of the trace.
Source: docs/facts/ascend_pt.md, Processes and threads of the trace; docs/facts/databases.md,
ascend_pytorch_profiler.db."""

from __future__ import annotations

import numpy as np

from tb_npu_plugin.readers.database.context import Context
from tb_npu_plugin.readers.database.events.sink import EventSink
from tb_npu_plugin.readers.database.source import Rows
from tb_npu_plugin.schema import trace, trace_events
from tb_npu_plugin.tables import NULL_INT, IntArray


class Processes:
    """Process ids as in trace_view.json, and the names of processes and threads. system: pid of the program; device:
    device id of the database, 0 if unknown."""

    def __init__(self, context: Context, sink: EventSink) -> None:
        self.context, self.sink = context, sink
        self.system = _process_id(context)
        self.device = 0 if context.device_id == NULL_INT else context.device_id

    def pid(self, name: str, device: int | None = None) -> int:
        """Return the id of a process of the trace that is not a system process."""
        device = self.device if device is None else device
        return (self.system << 10) | (trace_events.SORTS[name] << 5) | device

    def pids(self, name: str, devices: IntArray) -> IntArray:
        """Return `pid` for each device."""
        return self.pid(name, 0) | devices

    def name(self, name: str, pid: int, device: int | None = None) -> None:
        """Add the name, label and sort index of a process."""
        device = self.device if device is None else device
        host = name in trace_events.HOST_SIDE
        label = trace_events.HOST_LABEL if host else trace_events.DEVICE_LABEL.format(device=device)
        self.sink.meta(trace.PROCESS_NAME, pid, 0, name)
        self.sink.meta(trace.PROCESS_LABELS, pid, 0, label)
        self.sink.meta(trace.PROCESS_SORT_INDEX, pid, 0, trace_events.SORTS[name])

    def name_threads(self, pid: int, threads: IntArray, title: str) -> None:
        """Add the name and the sort index of each thread. title: has a place for its number."""
        for thread in np.unique(threads).tolist():
            self.sink.meta(trace.THREAD_NAME, pid, thread, title.format(thread))
            self.sink.meta(trace.THREAD_SORT_INDEX, pid, thread, thread)


def _process_id(context: Context) -> int:
    """Return the program's process id; 0 if unknown."""
    for rows, key, shift in ((context.torch, "thread", 32), (context.calls, "thread", 32), (context.tasks, "pid", 0)):
        values = rows.ints(key)
        known = values[values != NULL_INT]
        if len(known):
            return int(known[0]) >> shift
    return 0


def thread_of(rows: Rows) -> IntArray:
    """Return the system thread id of each row."""
    threads = rows.ints("thread")
    return np.where(threads == NULL_INT, 0, threads & np.int64((1 << 32) - 1))
