"""What a capture leaves in FRAMEWORK, its reader, and its clock. Needs no MindSpore.
Source: docs/facts/ascend_ms.md, Results of a CPU, Runtime profiler of MindSpore, Compiled graphs of MindSpore."""

from __future__ import annotations

import contextlib
import json
import re
from collections import defaultdict, deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple, Optional

import msgspec
import numpy as np

from tb_npu_plugin.capture.backend import RAW_FOLDER
from tb_npu_plugin.capture.recording.recorded_host import END, HostClock
from tb_npu_plugin.capture.side_files import read_object
from tb_npu_plugin.errors import BadFile
from tb_npu_plugin.intervals import Intervals, overlap, union
from tb_npu_plugin.schema import mindspore_cpu as cpu
from tb_npu_plugin.schema.mindspore import SIMULATED_HOST
from tb_npu_plugin.schema.torch_npu_json import MOCK_CAPTURE
from tb_npu_plugin.schema.trace import STEP_MARK
from tb_npu_plugin.units import TIME_UNITS, scale_decimal

CAPTURE, HOST = MOCK_CAPTURE, SIMULATED_HOST
RUNTIME_FOLDER = "runtime"
SETTINGS_VERSION = 1
_NUMBERS = re.compile(r"-?\d+")
#: Operators that are dispatched under another name than they are launched with.
_ALIASES = {"Divs": "Div", "MeanExt": "ReduceMean", "PowTensorScalar": "Pow", "Muls": "Mul", "SumExt": "ReduceSum"}
Shape = tuple[int, ...]


class Event(NamedTuple):
    """An event of the framework, named as MindSpore's lane of an NPU shows it, or what the CPU executed, named by its node:
    times in ns since the epoch."""

    start: int
    end: int
    tid: int
    name: str


class Launch(NamedTuple):
    """A launch of an operator. node: with its scopes; shapes: of the inputs that are tensors, None: unknown; types: of the same
    inputs as MindSpore names them, in lower case, () where one is unknown; output: shape and type, None: unknown or several;
    group: of a collective, "" where MindSpore does not say it."""

    start: int
    end: int
    tid: int
    node: str
    type: str
    shapes: tuple[Shape, ...] | None
    types: tuple[str, ...] = ()
    output: tuple[Shape, str] | None = None
    group: str = ""


@dataclass
class RawData:
    """One capture. executions: (start, end) of what the CPU computed; steps: marks; events: of the framework without launches
    and marks; memory: (ns, allocated, reserved); marks, stacks: as recorders.Marks and PythonStacks have them; groups: name ->
    ranks."""

    capture: dict[str, Any]
    executions: list[tuple[int, int]] = field(default_factory=list)
    launches: list[Launch] = field(default_factory=list)
    steps: list[Event] = field(default_factory=list)
    events: list[Event] = field(default_factory=list)
    memory: list[tuple[int, int, int]] = field(default_factory=list)
    marks: list[tuple[int, int, int, str, str]] = field(default_factory=list)
    stacks: list[tuple[str, int, int, int, int]] = field(default_factory=list)
    groups: dict[str, list[int]] = field(default_factory=dict)


#: Inputs of a launch in MindSpore's list: the shape of each, None if it is not a tensor; () for an operator of PyNative mode.
_Inputs = tuple[Optional[Shape], ...]


@dataclass(frozen=True)
class Node:
    """An operator of a compiled graph. inputs: the type of each, None if it is unknown or not a tensor."""

    inputs: tuple[Optional[str], ...] = ()
    output: Optional[tuple[Shape, str]] = None
    group: str = ""


#: A dispatched operator of PyNative mode: shapes and types of its inputs that are tensors, and its group.
_Call = tuple[tuple[Shape, ...], tuple[str, ...], str]
#: By the type of the operator, in order.
_Calls = dict[str, deque[_Call]]


def read(folder: Path) -> RawData:
    """Read a result folder. Raises BadFile without a capture of the simulated NPU in it."""
    framework = folder / RAW_FOLDER
    try:
        capture = json.loads((framework / CAPTURE).read_bytes())
        if capture["framework"] != "mindspore":
            raise KeyError("framework")
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise BadFile(f"{folder} holds no capture of the simulated NPU: {error}", "Record it again.") from error
    data = RawData(capture)
    since, until = capture["start"], capture["end"] or END
    # with Model.train in PyNative mode MindSpore adds what comes after the capture
    events = [event for event in _events(framework) if since <= event.start < until]
    launched = sorted(event for event in events if _is_launch(event.name))
    data.steps = sorted(event for event in events if _is_mark(event.name))
    data.events = sorted(event for event in events if not _is_launch(event.name) and not _is_mark(event.name))
    executions = sorted(_executions(framework))
    data.executions = [(one.start, one.end) for one in executions]
    host = read_object(framework / HOST)  # without it the process ended before
    data.marks, data.stacks, data.groups = host.get("marks", []), host.get("stacks", []), host.get("groups", {})
    calls: _Calls = defaultdict(deque)
    for name, *call in host.get("dispatched", []):
        calls[_ALIASES.get(name, name)].append(msgspec.convert(call, _Call))
    nodes = msgspec.convert(host.get("nodes", {}), dict[str, Node])  # from graphs.compiled_nodes
    data.launches = list(_joined(executions, launched, list(_rows(framework)), calls, nodes))
    memory = map(cpu.MEMORY_ROW.match, _lines(framework, "cpu_ms_memory_record_*.txt", header=1))
    data.memory = sorted((int(found[1]), int(found[2]), int(found[3])) for found in memory if found)
    return data


def _is_launch(name: str) -> bool:
    return name.split("::")[1:2] in (["KernelLaunch"], ["LaunchTask"])


def _is_mark(name: str) -> bool:
    return name.rpartition("::")[2].startswith(STEP_MARK)


def _lines(framework: Path, name: str, header: int = 0) -> Iterator[str]:
    """Lines of the files whose name matches, each without its header; files that cannot be read are skipped."""
    for path in sorted(framework.rglob(name)):
        with contextlib.suppress(OSError):
            yield from path.read_text(encoding="utf-8", errors="replace").splitlines()[header:]


def _events(framework: Path) -> Iterator[Event]:
    for one in map(cpu.RUNTIME_EVENT.match, _lines(framework, "RuntimeProfilerDetail*.csv")):
        if one is not None and one["module"] != "Default":
            name = "::".join(filter(None, one.group("module", "event", "op"))) if one["module"] else one["stage"]
            yield Event(int(one["start"]), int(one["end"]), int(one["tid"]), name)


def _executions(framework: Path) -> Iterator[Event]:
    """Executions on the CPU, in the order in which operators were launched."""
    for line in _lines(framework, "cpu_op_execute_timestamp_*.txt"):
        node, _, rest = line.partition(cpu.FIELD)
        for text in rest.partition(cpu.FIELD)[2].split():
            first, *figures = text.split(cpu.FIGURE)
            start, dur = scale_decimal(first, 1), scale_decimal("".join(figures[:1]), TIME_UNITS["ms"])
            if start is not None and dur is not None:
                yield Event(start, start + dur, 0, node)


def _rows(framework: Path) -> Iterator[_Inputs]:
    """MindSpore's list of launches."""
    for line in _lines(framework, "cpu_framework_*.txt"):
        found = [cpu.INPUT.fullmatch(text.strip()) for text in line.split(cpu.FIELD)[3:] if text.strip()]
        texts = [None if one is None else one["shape"] for one in found]
        yield tuple(None if text is None else tuple(map(int, _NUMBERS.findall(text))) for text in texts)


def _joined(
    executions: list[Event], launched: list[Event], rows: list[_Inputs], calls: _Calls, nodes: dict[str, Node]
) -> Iterator[Launch]:
    """Launches with nodes from the executions, times and threads from the runtime profiler, and shapes: joined by order,
    where the lists are equally long; otherwise by the executions alone. Types, outputs and groups by name of the node, or
    from what was dispatched."""
    has_threads, has_rows = len(launched) == len(executions), len(rows) == len(executions)
    for number, execution in enumerate(executions):
        where = launched[number] if has_threads else execution
        type_ = cpu.NUMBER.sub("", execution.name.rpartition(cpu.SCOPE)[2])
        inputs = rows[number] if has_rows else ()
        shapes = tuple(one for one in inputs if one is not None) if inputs else None
        node = nodes.get(execution.name, Node())
        types, group = _types_of(inputs, node), node.group
        if calls.get(type_):
            call = calls[type_].popleft()
            if shapes is None or (shapes == call[0] and not types):
                shapes, types, group = call
        yield Launch(where.start, where.end, where.tid, execution.name, type_, shapes, types, node.output, group)


def _types_of(inputs: _Inputs, node: Node) -> tuple[str, ...]:
    """Types of the inputs that are tensors; () where one is unknown."""
    pairs = [(shape, type_) for shape, type_ in zip(inputs, node.inputs) if shape is not None]
    found = tuple(type_ for _, type_ in pairs if type_ is not None)
    return found if len(found) == len(pairs) and len(inputs) == len(node.inputs) else ()


#: Events in which a thread waits for another one.
_WAITS = re.compile("Wait|Asnumpy|SyncStream")


def host_clock(data: RawData, computed: list[tuple[int, int]]) -> HostClock:
    """Host time of a capture: a clock that is paused while the CPU in place of the NPU `computed` ((start, end), in ns) and so
    held up the main thread: it computed by itself, or waited for a thread that did. Elsewhere it went on beside the
    computation, as it does beside an NPU."""
    main, held_up = data.capture["pid"], _union(computed)
    if not {launch.tid for launch in data.launches} <= {main, 0}:
        waits = [(one.start, one.end) for one in data.events if one.tid == main and _WAITS.search(one.name)]
        held_up = overlap(held_up, _union(waits))
    return HostClock(held_up)


def _union(spans: list[tuple[int, int]]) -> Intervals:
    return union(*np.array(spans, dtype=np.int64).reshape(-1, 2).T)
