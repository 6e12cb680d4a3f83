"""Kernels, steps and communication operators rebuilt from the trace of an NPU, for captures whose files lack the kernels.
Source: docs/facts/ascend_pt.md, kernel_details.csv, step_trace_time.csv, Events of the trace, Overlap Analysis.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass
from io import BytesIO

import numpy as np
from numpy.typing import NDArray

from tb_npu_plugin.analysis.steps import partition
from tb_npu_plugin.analysis.steps.marks import iterations_table, unsure_marks
from tb_npu_plugin.problems import ProblemLog
from tb_npu_plugin.scan import TraceEvents
from tb_npu_plugin.scan.args import ArgsFile
from tb_npu_plugin.scan.args_columns import Key, read_columns
from tb_npu_plugin.schema import trace, trace_events
from tb_npu_plugin.schema.kernel_meaning import meaning_of
from tb_npu_plugin.schema.registry import TABLES
from tb_npu_plugin.schema.torch_npu_csv import STEP_LEAD, STEP_START
from tb_npu_plugin.store.timeline.device_steps import (
    MarkedSteps,
    engine_marks,
    graph_calls,
    iterations_at,
    launches_of,
    step_marks,
)
from tb_npu_plugin.store.timeline.operators import complete
from tb_npu_plugin.store.timeline.tracks import Names, read_names
from tb_npu_plugin.tables import NULL_INT, Data, IntArray, StringColumn, Table, known
from tb_npu_plugin.texts import TextList

Index = NDArray[np.int64]
#: Meanings of device tasks that are no kernels.
_NO_KERNEL = ("sync_event", "copy_memory", "collective", "point_to_point")
_COMPUTING, _COMMUNICATION, _ALONE, _FREE = range(len(trace_events.OVERLAPS))
_GROUP_THREAD = re.compile(trace_events.GROUP.format(".*"))
_DEVICE = re.compile(trace_events.DEVICE_LABEL.format(device=r"(\d+)"))
#: "hcom_allReduce__586_0_1": type, and the last digits of the group's hash.
_OPERATOR = re.compile(r"(?P<type>\w+?_)_(?P<group>\d+)_")
#: Integers in the args of a task: column and spellings.
_TASK_IDS = {
    "stream_id": ("Physic Stream Id", "Stream Id"),
    "task_id": ("Task Id",),
    "model_id": ("Model Id", "model id"),
}
#: Model id of tasks that no graph replays.
_NO_MODEL = 2**32 - 1
_BUBBLE = "hcom_receive"
#: A time after all others.
_NEVER = np.iinfo(np.int64).max
#: Operators between two ranks.
_POINT_TO_POINT = re.compile("send|receive|recv", re.IGNORECASE)
#: Task types of both the cube and the vector core, and of any core in releases of 2023.
_ANY_CORE = (trace.AI_CORE, "Other")


def rebuild_tables(
    events: TraceEvents, args: ArgsFile | None, log: ProblemLog, only_iterations: bool = False
) -> dict[str, Table]:
    """Return kernels, step_trace and comm_ops; {} without device rows. The trace does not hold the types, shapes and metrics of
    kernels, nor times of transfers. Without steps, those of the iterations of a serving engine, and engine_iterations.

    only_iterations: {} without iterations.
    """
    marks = step_marks(events)
    of_engines = engine_marks(events)
    if only_iterations and (marks or not (len(of_engines) or len(graph_calls(events)))):
        return {}
    device = _Device.of(events, args)
    rows = np.concatenate([device.kernels, device.operators])
    if not len(rows):
        return {}
    rows = rows[np.argsort(events.ts[rows], kind="stable")]
    launched_by = launches_of(events)
    on_host = ~np.isin(events.pid[of_engines], _processes(device.names, trace_events.DEVICE_SIDE))
    found = None if marks else iterations_at(events, of_engines[on_host], rows, launched_by)
    if only_iterations and found is None:
        return {}
    steps = MarkedSteps.of(events, marks, np.concatenate([rows, device.copies]), launched_by)
    table = _kernels(events, args, device, rows, steps.at(events.ts[rows]) if found is None else found[1])
    out = {"kernels": table}
    if found is not None:
        log.extend(unsure_marks(found[0]))
        model = table.ints("model_id")
        out["engine_iterations"] = iterations_table(found[0], table, known(model) & (model != _NO_MODEL))
        out["step_trace"] = partition.table_of(partition.from_kernels(table, are_iterations=True))
    elif len(device.overlap):
        out["step_trace"] = _step_trace(events, device, steps)
    if len(device.operators):
        out["comm_ops"] = _comm_ops(table, np.isin(rows, device.operators))
    return out


@dataclass(frozen=True)
class _Device:
    """Events of the device by kind, in file order. overlap: of Overlap Analysis, with the index of each in OVERLAPS."""

    names: Names
    kernels: Index
    copies: Index
    operators: Index
    overlap: Index
    overlap_kind: Index

    @staticmethod
    def of(events: TraceEvents, args: ArgsFile | None) -> _Device:
        names = read_names(events, args, "", ProblemLog())  # the builder of the timeline reports them
        overlap = _of_processes(events, names, (trace_events.OVERLAP,))
        kinds = [trace_events.OVERLAPS.index(name) if name in trace_events.OVERLAPS else -1 for name in events.names]
        kind = np.array(kinds, dtype=np.int64)[events.name[overlap]]
        tasks = _of_processes(events, names, (trace_events.HARDWARE,))
        meaning = _meanings(events, args, tasks)
        kernels = tasks[~np.isin(meaning, _NO_KERNEL)]
        computing = overlap[kind == _COMPUTING]
        if len(computing):  # some other tasks that compute nothing bear the type of kernels
            kernels = kernels[_within(events, kernels, computing)]
        return _Device(
            names,
            kernels,
            tasks[meaning == "copy_memory"],
            _operators(events, names),
            overlap[kind >= 0],
            kind[kind >= 0],
        )


def _processes(names: Names, wanted: Collection[str]) -> list[int]:
    return [pid for pid, process in names.processes.items() if process.name in wanted]


def _of_processes(events: TraceEvents, names: Names, wanted: tuple[str, ...]) -> Index:
    """Complete events of the processes of these names."""
    return complete(events, np.flatnonzero(np.isin(events.pid, _processes(names, wanted))))


def _operators(events: TraceEvents, names: Names) -> Index:
    """Communication operators: the rows of groups, not those of planes."""
    rows = _of_processes(events, names, (trace_events.OLD_COMMUNICATION, trace_events.COMMUNICATION))
    groups = {key for key, thread in names.threads.items() if _GROUP_THREAD.fullmatch(thread.name)}
    threads, code = np.unique(np.stack([events.pid[rows], events.tid[rows]], axis=1), axis=0, return_inverse=True)
    chosen = np.array([tuple(thread) in groups for thread in threads.tolist()], dtype=bool)
    return rows[chosen[code.reshape(-1)]] if len(rows) else rows


def _meanings(events: TraceEvents, args: ArgsFile | None, tasks: Index) -> NDArray[np.str_]:
    """What each task does, by its type, else by its name; "" for a kernel."""
    types = _task_types(events, args, tasks)
    by_type = np.array([_meaning(text) for text in (*types.values, "")])[types.codes]
    used, name = np.unique(events.name[tasks], return_inverse=True)
    by_name = np.array([_meaning(events.names[code]) for code in used.tolist()] or [""])[name.reshape(-1)]
    return np.where(by_type != "", by_type, by_name)


def _meaning(text: str) -> str:
    found = meaning_of(text, "task_type")
    return found.meaning if found is not None else ""


def _task_types(events: TraceEvents, args: ArgsFile | None, rows: Index) -> StringColumn:
    """Task Type of each of `rows`, which must be in file order."""
    texts = BytesIO()
    values, ends = _read(events, args, rows, [Key(trace.TASK_TYPE, texts)])
    return StringColumn(
        np.where(values[0] == NULL_INT, -1, values[0]).astype(np.int32), list(TextList(texts.getvalue(), ends[0]))
    )


def _read(
    events: TraceEvents, args: ArgsFile | None, rows: Index, keys: list[Key]
) -> tuple[list[IntArray], list[IntArray]]:
    """Values, and ends of the texts, of the args of `rows`, which must be in file order."""
    wanted = np.full(len(rows), (1 << len(keys)) - 1, dtype=np.uint8)
    found = read_columns(args, events.args_offset[rows], events.args_length[rows], wanted, keys)
    return found.values, found.ends


def _within(events: TraceEvents, rows: Index, outer: Index) -> NDArray[np.bool_]:
    """Whether each event starts within one of `outer`, which do not overlap; one of no duration may start at its end."""
    outer = outer[np.argsort(events.ts[outer], kind="stable")]
    place = np.searchsorted(events.ts[outer], events.ts[rows], "right") - 1
    inside = events.ts[rows] < (events.ts[outer] + events.dur[outer])[place]
    return np.asarray((place >= 0) & (inside | (events.ts[rows] == events.ts[outer][place])))


def _kernels(events: TraceEvents, args: ArgsFile | None, device: _Device, rows: Index, steps: StringColumn) -> Table:
    """One row for each of `rows`, which are sorted by start. steps: of each."""
    order = np.argsort(rows)  # args are read in the order of the file
    back = np.empty_like(order)
    back[order] = np.arange(len(order))
    in_file = rows[order]
    types = _task_types(events, args, in_file).take(back)
    is_operator = np.isin(rows, device.operators)
    used, name = np.unique(events.name[rows], return_inverse=True)
    texts = events.names.take(used)
    found = [_OPERATOR.match(text) for text in texts]
    start, dur = events.ts[rows], events.dur[rows]
    device_id = _device_ids(events, device.names, rows)
    stems = StringColumn.of(None if one is None else one.group("type") for one in found)
    data: dict[str, Data] = {
        "step": steps,
        "device_id": device_id,
        "name": StringColumn(name.reshape(-1).astype(np.int32), texts),
        "type": StringColumn(np.where(is_operator, stems.codes[name.reshape(-1)], -1).astype(np.int32), stems.values),
        "core": _cores(types, is_operator, _communication_core(device.names)),
        "start_ns": start,
        "dur_ns": dur,
        "wait_ns": _wait(start, start + dur, device_id),
    }
    keys = [key for spellings in _TASK_IDS.values() for key in spellings]
    values = dict(zip(keys, _read(events, args, in_file, [Key(key) for key in keys])[0]))
    for column, spellings in _TASK_IDS.items():
        first, *others = (values[key] for key in spellings)
        for other in others:
            first = np.where(first == NULL_INT, other, first)
        data[column] = first[back]
    if not known(device_id).any():
        del data["device_id"]
    return Table(tuple(column for column in TABLES["kernels"] if column.key in data), data)


def _cores(types: StringColumn, is_operator: NDArray[np.bool_], communication: str) -> StringColumn:
    """The core of each kernel, where its type tells."""
    values = [*types.values, communication]
    tells = np.array([value not in _ANY_CORE for value in values] + [False])
    codes = np.where(is_operator, np.int32(len(values) - 1), types.codes)
    return StringColumn(np.where(tells[codes], codes, -1).astype(np.int32), values)


def _communication_core(names: Names) -> str:
    """The core of communication operators, which is called like their process: HCCL, and COMMUNICATION in newer releases."""
    newer = any(process.name == trace_events.COMMUNICATION for process in names.processes.values())
    return (trace_events.COMMUNICATION if newer else trace_events.OLD_COMMUNICATION).upper()


def _device_ids(events: TraceEvents, names: Names, rows: Index) -> IntArray:
    """The device in the label of each process; unknown in older releases, which write none."""
    pids, code = np.unique(events.pid[rows], return_inverse=True)
    labels = (names.processes[pid].label if pid in names.processes else "" for pid in pids.tolist())
    found = (_DEVICE.fullmatch(label) for label in labels)
    return np.array([NULL_INT if one is None else int(one.group(1)) for one in found], dtype=np.int64)[code.reshape(-1)]


def _wait(start: IntArray, end: IntArray, devices: IntArray) -> IntArray:
    """Time since the end of the row before on the same device; 0 for the first."""
    out = np.zeros(len(start), dtype=np.int64)
    for device in np.unique(devices).tolist():
        rows = np.flatnonzero(devices == device)
        out[rows[1:]] = np.maximum(start[rows[1:]] - end[rows[:-1]], 0)
    return out


def _step_trace(events: TraceEvents, device: _Device, steps: MarkedSteps) -> Table:
    """Sums of the rows of Overlap Analysis by step: those that begin in its time count whole."""
    count = max(1, len(steps.names))
    order = np.argsort(events.ts[device.overlap], kind="stable")
    rows, kind = device.overlap[order], device.overlap_kind[order]
    start, dur, step = events.ts[rows], events.dur[rows], steps.numbers(events.ts[rows])
    inside = step >= 0
    start, dur, kind, step = start[inside], dur[inside], kind[inside], step[inside]
    sums = np.zeros((len(trace_events.OVERLAPS), count), dtype=np.int64)
    np.add.at(sums, (kind, step), dur)
    first, busy, last = np.full(count, _NEVER), np.full(count, _NEVER), np.zeros(count, dtype=np.int64)
    np.minimum.at(first, step, start)
    np.minimum.at(busy, step[kind != _FREE], start[kind != _FREE])
    np.maximum.at(last, step, start + dur)
    bubble = np.zeros(count, dtype=np.int64)
    receive = np.array([name.startswith(_BUBBLE) for name in events.names], dtype=bool)
    receives = device.operators[receive[events.name[device.operators]]]
    receives = receives[np.argsort(events.ts[receives], kind="stable")]
    of_receive = steps.numbers(events.ts[receives])
    np.add.at(bubble, of_receive[of_receive >= 0], events.dur[receives[of_receive >= 0]])
    has_busy, is_marked = busy < _NEVER, len(steps.names) > 0
    data: dict[str, Data] = {
        "step": StringColumn(np.arange(count, dtype=np.int32) if is_marked else np.full(1, -1, np.int32), steps.names),
        "computing": sums[_COMPUTING],
        "communication_not_overlapped": sums[_ALONE],
        "overlapped": sums[_COMMUNICATION] - sums[_ALONE],
        "communication": sums[_COMMUNICATION],
        "free": sums[_FREE],
        "stage": last - first - bubble,
        "bubble": bubble,
        "communication_not_overlapped_and_exclude_receive": np.maximum(sums[_ALONE] - bubble, 0),
        "preparing": np.where(has_busy, busy - steps.start, NULL_INT) if is_marked else np.full(count, NULL_INT),
        "start_ns": first,
        "lead_ns": np.where(has_busy, busy - first, NULL_INT),
    }
    columns = tuple(column for column in (*TABLES["step_trace"], STEP_START, STEP_LEAD) if column.key in data)
    return Table(columns, data).take(np.bincount(step, minlength=count) > 0)


def _comm_ops(kernels: Table, chosen: NDArray[np.bool_]) -> Table:
    """The communication operators. The trace names a group by the last digits of its hash, in the operator's name."""
    own = kernels.take(chosen)
    names = own.text("name")
    found = [_OPERATOR.match(name) for name in names.values]
    groups = StringColumn.of(None if one is None else one.group("group") for one in found)
    kinds = StringColumn.of("p2p" if _POINT_TO_POINT.search(name) else "collective" for name in names.values)
    data: dict[str, Data] = {
        "step": own.text("step"),
        "kind": StringColumn(kinds.codes[names.codes], kinds.values),
        "name": names,
        "group": StringColumn(groups.codes[names.codes], groups.values),
        "start_ns": own.ints("start_ns"),
        "elapse_ns": own.ints("dur_ns"),
    }
    return Table(tuple(column for column in TABLES["comm_ops"] if column.key in data), data)
