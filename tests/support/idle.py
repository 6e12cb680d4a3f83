"""A device that is idle in one gap, as a small timeline."""

from __future__ import annotations

from typing import Any, Union

from tb_npu_plugin.schema.torch_npu_csv import STEP_START
from tests.support.span import TestSpan, table_of
from tests.support.trace import event, flow, metadata, open_trace

PROCESSES = {"Python": 1, "CANN": 2, "Ascend Hardware": 3, "HCCL": 4, "Overlap Analysis": 5, "Python GC": 6}
US = 1000
#: Process, thread, name, start and duration in us; of slices of Python, their category.
Slice = Union[tuple[str, int, str, float, float], tuple[str, int, str, float, float, str]]
#: A step of 0 to 1000 us in which a kernel ends at 100 and the next one begins at 900.
GAP = (100, 900)


def idle_span(
    *slices: Slice,
    launch: float | None = None,
    first: float | None = None,
    free: tuple[float, float] = GAP,
    steps: list[dict[str, Any]] | None = None,
) -> TestSpan:
    """A span of a device that is idle in one gap. launch, first: start of the calls that launch the next and the first kernel."""
    events: list[dict[str, Any]] = [metadata("process_name", pid, name=name) for name, pid in PROCESSES.items()]
    events.append(metadata("thread_name", 5, 3, name="Free"))
    rows: list[Slice] = [
        ("Ascend Hardware", 1, "first", 0, 100),
        ("Ascend Hardware", 1, "next", 900, 100),
        ("Overlap Analysis", 3, "Free", free[0], free[1] - free[0]),
        *slices,
    ]
    for call, task in ((first, 0), (launch, 900)):
        if call is not None:
            rows.append(("CANN", 7, "Node@launch", call, 0.8))
            events += [
                {**flow("s", task, call + 0.5, 7, "HostToDevice"), "pid": 2},
                {**flow("f", task, task, 1, "HostToDevice", bp="e"), "pid": 3},
            ]
    for process, tid, name, start, took, *category in rows:
        events.append(event(name, start, took, tid, PROCESSES[process], **({"cat": category[0]} if category else {})))
    timeline, problems = open_trace(events)
    assert not problems
    known = dict.fromkeys(("communication_not_overlapped", "overlapped", "communication", "free"), 0)
    took = free[1] - free[0]
    step = {"step": "1", "start_ns": 0, "computing": (1000 - took) * US, "stage": 1000 * US, "free": took * US}
    rows_of_steps = [{**known, **row, "start_ns": row["start_ns"] + timeline.base_ns} for row in steps or [step]]
    table = table_of("step_trace", rows_of_steps, STEP_START)
    return TestSpan({"step_trace": table}, timeline=timeline)


GC: Slice = ("Python GC", 1, "GC", 200, 300)
LOADER: Slice = ("Python", 1, "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", 50, 400)
ITEM: Slice = ("Python", 1, "aten::item", 120, 100)
SYNC: Slice = ("CANN", 1, "AscendCL@aclrtSynchronizeStreamWithTimeout", 130, 200)
COMPILE: Slice = ("CANN", 1, "AscendCL@aclopCompileAndExecute", 600, 400)
MALLOC: Slice = ("CANN", 1, "AscendCL@aclrtMallocPhysical", 600, 100)
WAIT: Slice = ("Ascend Hardware", 1, "EVENT_WAIT", 300, 200)
OTHER: Slice = ("Ascend Hardware", 2, "MEMCPY_ASYNC", 300, 200)
NOTIFY: Slice = ("HCCL", 1, "Notify_Wait", 150, 100)
