"""The operators table rebuilt from a trace, for captures without operator_details.csv."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import BinaryIO

import numpy as np
from numpy.typing import NDArray

from tb_npu_plugin.analysis.operators.nesting import nesting
from tb_npu_plugin.analysis.operators.tree import FRACTION, OperatorEvents, rebuild, rebuild_by_thread
from tb_npu_plugin.intervals import overlaps
from tb_npu_plugin.problems import ProblemLog
from tb_npu_plugin.scan import TraceEvents
from tb_npu_plugin.scan.args import ArgsFile
from tb_npu_plugin.scan.args_columns import Key, read_columns
from tb_npu_plugin.schema import trace
from tb_npu_plugin.schema.registry import TABLES
from tb_npu_plugin.store.timeline.files import Texts, compact, load, save, save_texts, texts_path
from tb_npu_plugin.store.timeline.tracks import read_names, track_keys
from tb_npu_plugin.tables import NULL_INT, Data, IntArray, StringColumn, Table
from tb_npu_plugin.texts import TextList

Index = NDArray[np.int64]
#: Maximum duration of a task in ns: FRACTIONs of longer ones, which are invalid, would overflow int64.
_MAX_DUR = 2**52
#: Text columns that come from the args of the operators, and their keys there.
_FROM_ARGS = {"input_shapes": trace.INPUT_DIMS, "call_stack": trace.CALL_STACK}
_TEXTS = ("name", *_FROM_ARGS)
_TIMES = {
    "host_self_ns": "host_self",
    "host_total_ns": "host_total",
    "device_self_ns": "device_self",
    "device_total_ns": "device_total",
    "device_self_aicore_ns": "device_self_aicore",
    "device_total_aicore_ns": "device_total_aicore",
}


@dataclass(frozen=True)
class _Chosen:
    """The events that the table is built from. ops: sorted by start; launch, task: see `launches`; by_thread: operators
    nest per thread."""

    ops: Index
    enqueue: Index
    dequeue: Index
    launch: Index
    task: Index
    by_thread: bool

    @staticmethod
    def of(events: TraceEvents, args: ArgsFile | None) -> _Chosen:
        ops = _slices(events, trace.CPU_OP)
        own = np.zeros(0, dtype=np.int64) if len(ops) else _framework_slices(events, args)
        order = (
            np.lexsort((-events.dur[own], events.ts[own])) if len(own) else np.argsort(events.ts[ops], kind="stable")
        )
        return _Chosen(
            own[order] if len(own) else ops[order],
            _slices(events, trace.ENQUEUE),
            _slices(events, trace.DEQUEUE),
            *launches(events, trace.HOST_TO_DEVICE, every=len(own) > 0),
            by_thread=len(own) > 0,
        )


def _framework_slices(events: TraceEvents, args: ArgsFile | None) -> Index:
    """Complete events of the framework's process, without Python frames."""
    named = read_names(events, args, "", ProblemLog()).processes  # the builder of the timeline reports them
    pids = [pid for pid, process in named.items() if process.name in trace.FRAMEWORK]
    if not pids:
        return np.zeros(0, dtype=np.int64)
    wanted = np.isin(events.pid, pids)
    if trace.PYTHON_FUNCTION in events.categories:
        wanted &= events.category != events.categories.index(trace.PYTHON_FUNCTION)
    return complete(events, np.flatnonzero(wanted))


@dataclass(frozen=True)
class _Found:
    """Args values by key. rows: events of each value; ends: end offsets of the texts."""

    rows: dict[str, Index]
    columns: dict[str, IntArray]
    ends: dict[str, IntArray]

    def values(self, key: str, rows: Index) -> IntArray:
        """The values of these events, which must be among `rows`."""
        return np.asarray(self.columns[key][np.searchsorted(self.rows[key], rows)])


def _read_args(
    events: TraceEvents, chosen: _Chosen, ops: Index, args: ArgsFile | None, sinks: Mapping[str, BinaryIO]
) -> _Found:
    """Read all required args in one pass through the file. ops: the operators of the table."""
    types = BytesIO()
    keys = {name: Key(word, sinks[name]) for name, word in _FROM_ARGS.items()}
    keys[trace.CORRELATION_ID] = Key(trace.CORRELATION_ID)
    keys[trace.TASK_TYPE] = Key(trace.TASK_TYPE, types)
    bits = {name: np.uint8(1 << number) for number, name in enumerate(keys)}
    wanted = np.zeros(len(events), dtype=np.uint8)
    for name in _FROM_ARGS:
        wanted[ops] |= bits[name]
    for entries in (chosen.enqueue, chosen.dequeue):
        wanted[entries] |= bits[trace.CORRELATION_ID]
    wanted[chosen.task] |= bits[trace.TASK_TYPE]
    found = read_columns(args, events.args_offset, events.args_length, wanted, list(keys.values()))
    columns = dict(zip(keys, found.values))
    ends = dict(zip(keys, found.ends))
    aicore = [
        code for code, text in enumerate(TextList(types.getvalue(), ends[trace.TASK_TYPE])) if text == trace.AI_CORE
    ]
    columns[trace.TASK_TYPE] = np.isin(columns[trace.TASK_TYPE], aicore).astype(np.int64)
    return _Found({name: np.flatnonzero(wanted & bit) for name, bit in bits.items()}, columns, ends)


@dataclass(frozen=True)
class ReadOperators:
    """Result of read_operators. rows: indices of the chosen operators that are rows of the table."""

    chosen: _Chosen
    rows: Index
    found: _Found


def read_operators(folder: Path, events: TraceEvents, args: ArgsFile | None) -> ReadOperators:
    """First half of the logical table "operators": choose its events, read their args and write its texts.

    Texts are streamed to files of the timeline folder, as they may be a fifth of the trace. It may run in parallel with
    the build: it mostly runs without the GIL and takes little memory.
    """
    chosen = _Chosen.of(events, args)
    used, name = compact(events.name[chosen.ops], len(events.names))
    names = events.names.take(used)
    marks = np.array([trace.STEP_MARK in text for text in names], dtype=bool)
    rows = np.flatnonzero(~marks[name])
    save(folder, "operators_name", name[rows])
    save_texts(folder, "operators_name_texts", names)
    ops = chosen.ops[rows]
    save(folder, "operators_start", events.ts[ops])
    with ExitStack() as stack:
        sinks = {key: stack.enter_context(_texts_path(folder, key).open("wb")) for key in _FROM_ARGS}
        found = _read_args(events, chosen, ops, args, sinks)
    for key in _FROM_ARGS:
        codes = found.values(key, ops)
        save(folder, f"operators_{key}", np.where(codes == NULL_INT, -1, codes).astype(np.int32))
        save(folder, f"operators_{key}_texts_ends", found.ends[key])
    return ReadOperators(chosen, rows, found)


def write_operators(folder: Path, events: TraceEvents, read: ReadOperators) -> None:
    """Second half: rebuild and write the times. One row per host operator call without step marks, sorted by start."""
    inputs = _operator_events(events, read.chosen, read.found)
    if read.chosen.by_thread:
        times = rebuild_by_thread(inputs, events.tid[read.chosen.launch].astype(np.int64))
    else:
        times = rebuild(inputs)
    for key, column in _TIMES.items():
        save(folder, f"operators_{key}", getattr(times, column)[read.rows])
    shapes = np.full(len(read.chosen.ops), -1, dtype=np.int64)
    shapes[read.rows] = load(folder, "operators_input_shapes")
    names = events.name[read.chosen.ops].astype(np.int64)
    save(folder, "operators_nested", nesting(times.parent, names, shapes)[read.rows])


def _operator_events(events: TraceEvents, chosen: _Chosen, found: _Found) -> OperatorEvents:
    """Input of the rebuild."""
    ops, enqueue, dequeue, launch, task = chosen.ops, chosen.enqueue, chosen.dequeue, chosen.launch, chosen.task
    return OperatorEvents(
        events.ts[ops],
        events.dur[ops],
        events.tid[ops].astype(np.int64),
        events.ts[enqueue],
        events.tid[enqueue].astype(np.int64),
        found.values(trace.CORRELATION_ID, enqueue),
        events.ts[dequeue],
        events.dur[dequeue],
        found.values(trace.CORRELATION_ID, dequeue),
        events.ts[launch],
        np.minimum(events.dur[task], _MAX_DUR) * FRACTION + np.rint(events.dur_rest[task] * FRACTION).astype(np.int64),
        found.values(trace.TASK_TYPE, task) == 1,
    )


def _slices(events: TraceEvents, category: str) -> Index:
    """Complete events of a category."""
    if category not in events.categories:
        return np.zeros(0, dtype=np.int64)
    return complete(events, np.flatnonzero(events.category == events.categories.index(category)))


def complete(events: TraceEvents, rows: Index) -> Index:
    """The complete events among `rows` that have a name and times."""
    good = (events.phase[rows] == ord("X")) & (events.name[rows] >= 0)
    good &= (events.dur[rows] != NULL_INT) & (events.ts[rows] != NULL_INT)
    return np.asarray(rows[good], dtype=np.int64)


def _texts_path(folder: Path, key: str) -> Path:
    return texts_path(folder, f"operators_{key}_texts")


def count_operators(folder: Path) -> int:
    """Row count of the table that `write_operators` wrote."""
    return len(load(folder, "operators_name"))


def load_operators(folder: Path) -> Table:
    """The table that `write_operators` wrote."""
    data: dict[str, Data] = {}
    for key in _TEXTS:
        texts = Texts(folder, f"operators_{key}_texts")
        data[key] = StringColumn(np.array(load(folder, f"operators_{key}")), [texts[i] for i in range(len(texts))])
    for key in (*_TIMES, "nested"):
        data[key] = np.array(load(folder, f"operators_{key}"))
    return Table(TABLES["operators"], data)


def load_operators_between(folder: Path, start_ns: int, end_ns: int) -> Table | None:
    """Rows of that table whose call on the host overlaps [start_ns, end_ns), ns since the epoch; None if the timeline has no
    such table."""
    if not (folder / "operators_start.npy").exists():
        return None
    table = load_operators(folder)
    return table.take(overlaps(load(folder, "operators_start"), table.ints("host_total_ns"), start_ns, end_ns))


def launches(events: TraceEvents, category: str, every: bool = False) -> tuple[Index, Index]:
    """(flow start, device task) events of every launch by the flows of a category; the task starts exactly at the end of the flow. One call may
    launch several tasks: like torch_npu, this returns only the first of them, unless `every` is set."""
    none = np.zeros(0, dtype=np.int64)
    if category not in events.categories:
        return none, none
    rows = np.flatnonzero(events.category == events.categories.index(category))
    rows = rows[events.flow[rows] >= 0]
    begins, ends = rows[events.phase[rows] == ord("s")], rows[events.phase[rows] == ord("f")]
    if every:
        ends, begins = _join_flows(events, ends, begins)
    else:
        begins, ends = _join_flows(events, begins, ends)
    task = _tasks_at(events, ends)
    return begins[task >= 0], task[task >= 0]


def _join_flows(events: TraceEvents, points: Index, others: Index) -> tuple[Index, Index]:
    """(points whose flow id occurs in `others`, first such event of `others` in file order)."""
    ids, first = np.unique(events.flow[others], return_index=True)
    if not len(ids):
        return points[:0], others[:0]
    place = np.minimum(np.searchsorted(ids, events.flow[points]), len(ids) - 1)
    found = ids[place] == events.flow[points]
    return points[found], others[first[place[found]]]


def _tasks_at(events: TraceEvents, rows: Index) -> Index:
    """For each event the last complete event in file order with the same thread and start; -1 without one."""
    tracks = np.unique(track_keys(events, rows))
    tasks = np.flatnonzero(events.phase == ord("X"))
    tasks = tasks[np.isin(track_keys(events, tasks), tracks)]
    tasks = tasks[(events.dur[tasks] != NULL_INT) & (events.ts[tasks] != NULL_INT)]
    if not len(tasks):
        return np.full(len(rows), -1, dtype=np.int64)
    times, code = np.unique(events.ts[tasks], return_inverse=True)
    key = np.searchsorted(tracks, track_keys(events, tasks)) * len(times) + code
    order = np.argsort(key, kind="stable")
    key = key[order]
    time = np.minimum(np.searchsorted(times, events.ts[rows]), len(times) - 1)
    wanted = np.searchsorted(tracks, track_keys(events, rows)) * len(times) + time
    place = np.maximum(np.searchsorted(key, wanted, side="right") - 1, 0)
    found = (key[place] == wanted) & (times[time] == events.ts[rows])
    return np.where(found, tasks[order[place]], -1)
