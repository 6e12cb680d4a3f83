"""The simulated host, as MindSpore records it: a graph whose kernels are launched one by one.
Source: docs/facts/ascend_ms.md, Kernel names and steps, trace_view.json of MindSpore.

Each element of the task queue becomes two events: one on the main thread, that infers the shapes, and the launch on the
thread that launches. Scopes come from the modules around the operator; backward operators have that of their forward
operator.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from typing import TypeVar, Union

from tb_npu_plugin.capture.simulation import records
from tb_npu_plugin.capture.writers.options import Options
from tb_npu_plugin.schema.mindspore import EVENT_SEPARATOR, MINDSPORE, SHAPE_SEPARATOR
from tb_npu_plugin.schema.trace import STEP_MARK

INFER, LAUNCH = "RuntimeFramework::KernelInfer::", "Kernel::KernelLaunch::"
RUN_GRAPH, GET_NEXT = "RunGraph", "Dataset::GetNext::DataQueue"
_LOADER = "enumerate(DataLoader)"
_MODULE = "nn.Module: "
_Launch = TypeVar("_Launch", records.Task, records.CommOp)
_Span = Union[records.PyCall, records.HostOp]


class Recorder:
    """Segments of one process, as MindSpore records them. Infos of equal events are shared."""

    def __init__(self, process: records.Process, options: Options) -> None:
        self._process, self._marks = process, process.marks
        self._info = cache(records.OpInfo)

    def __call__(self, segment: records.Segment) -> records.Segment:
        """One segment: `ops` are the events of the framework, `queue` links the two of each launch."""
        queue = sorted(segment.queue, key=records.by_start)
        launches: dict[int, records.HostOp] = {}
        pairs, ops = list[records.Queued](), list[records.HostOp]()
        for item, name in zip(queue, _names(segment, queue, _launched_types(segment, queue))):
            shapes = SHAPE_SEPARATOR.join(item.op.info.shapes.split(";\r\n"))
            infos, launcher = [self._info(kind + name, shapes) for kind in (INFER, LAUNCH)], self._process.dequeue_tid
            front = records.HostOp(infos[0], self._process.pid, item.start, item.end)
            launch = records.HostOp(infos[1], launcher, item.dequeue_start, item.dequeue_end)
            launches[item.dequeue_start] = launch
            pairs.append(replace(item, name=name, op=front))
            ops += [front, launch]
        ops += self._other_host_ops(segment, pairs)
        # a block is named after the node whose launch follows
        starts, fronts_at, names = sorted(launches), [item.start for item in pairs], [item.name for item in pairs]
        names.append(names[-1] if names else "")
        blocks = [block for block in segment.memory if not block.graph_engine]
        for call in segment.python:
            call.name = call.name.replace(_MODULE, "Cell: ").replace("torch/", "mindspore/")
        for totals in segment.totals:
            totals.component = MINDSPORE if totals.component == "PTA" else totals.component
        return replace(
            segment,
            step=segment.step if self._marks else None,
            ops=records.outer_first(ops),
            queue=pairs,
            tasks=[_relink(task, starts, launches) for task in segment.tasks],
            comm=[_relink(op, starts, launches) for op in segment.comm],
            memory=[replace(block, name=names[bisect_right(fronts_at, block.at)]) for block in blocks],
            totals=[totals for totals in segment.totals if totals.component in (MINDSPORE, "GE")],
            gc=[],
        )

    def _other_host_ops(self, segment: records.Segment, pairs: list[records.Queued]) -> list[records.HostOp]:
        """Step marks, the data, and the run of the graph around the launches."""
        marks = [op for op in segment.ops if op.info.name.startswith(STEP_MARK) and self._marks]
        out = [replace(op, info=self._info(op.info.name)) for op in marks]
        out += [replace(op, info=self._info(GET_NEXT)) for op in segment.ops if op.info.name.startswith(_LOADER)]
        if pairs:
            first, last = pairs[0].start - 500, max(item.end for item in pairs) + 300
            out.append(records.HostOp(self._info(RUN_GRAPH), self._process.pid, first, last))
        return out


def scope_of(name: str) -> list[str]:
    """Parts of the scope in the name of an event of a launch, without the node itself."""
    return name.split(EVENT_SEPARATOR, 2)[-1].split("/")[:-1]


def _launched_types(segment: records.Segment, queue: list[records.Queued]) -> list[str]:
    starts = [item.dequeue_start for item in queue]
    copies = {"acl_memcpy_host_to_device": "CopyToDevice", "acl_memcpy_device_to_host": "CopyToHost"}
    types = [copies.get(item.name, item.name) for item in queue]
    for task in segment.tasks:
        if task.acl is not None and task.kernel.type:
            types[bisect_right(starts, task.acl) - 1] = task.kernel.type
    for op in segment.comm:
        title = op.type.replace("hcom_", "").strip("_")
        types[bisect_right(starts, op.acl) - 1] = title[0].upper() + title[1:]
    return types


def _names(segment: records.Segment, queue: list[records.Queued], types: list[str]) -> Iterator[str]:
    """Name of the graph's node of each element: the same in each step."""
    modules = [call for call in segment.python if call.module is not None]
    spans: list[_Span] = records.outer_first([*modules, *segment.ops])
    stack: list[_Span] = []
    forward: dict[int, str] = {}
    position = 0
    for number, (item, type_) in enumerate(zip(queue, types)):
        while position < len(spans) and spans[position].start <= item.start:
            span = spans[position]
            stack = [open_ for open_ in stack if open_.end >= span.end]
            stack.append(span)
            if isinstance(span, records.HostOp) and span.sequence >= 0 and not span.forward_tid:
                forward[span.sequence] = _path(stack)
            position += 1
        stack = [open_ for open_ in stack if open_.end >= item.end]
        back = [op.sequence for op in stack if isinstance(op, records.HostOp) and op.forward_tid and op.sequence >= 0]
        scope = f"Gradients/{forward.get(back[0], 'Default')}" if back else _path(stack)
        yield f"{scope}/{type_}-op{number}"


def _path(stack: list[_Span]) -> str:
    names = [call.name.replace(_MODULE, "").rpartition("_") for call in stack if isinstance(call, records.PyCall)]
    return "/".join(["Default", *(f"{number}-{title}" for title, _, number in names)])


def _relink(launch: _Launch, starts: list[int], launches: dict[int, records.HostOp]) -> _Launch:
    """The same, launched by the event in which it passed through CANN."""
    if launch.acl is None:
        return launch
    return replace(launch, op=launches[starts[bisect_right(starts, launch.acl) - 1]])
