"""The operators table rebuilt from a trace, for captures without operator_details.csv."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tb_npu_plugin.analysis.operator_tree import FRACTION, OperatorEvents, OperatorTimes, rebuild
from tb_npu_plugin.scan import TraceEvents
from tb_npu_plugin.schema import trace
from tb_npu_plugin.schema.registry import TABLES
from tb_npu_plugin.store.timeline_args import ArgsFile, read_object
from tb_npu_plugin.store.timeline_files import Texts, load, save, save_texts
from tb_npu_plugin.tables import NULL_INT, Data, IntArray, Table, Text

Index = NDArray[np.int64]
_TEXTS = ("name", "input_shapes", "call_stack")
_TIMES = {
    "host_self_ns": "host_self",
    "host_total_ns": "host_total",
    "device_self_ns": "device_self",
    "device_total_ns": "device_total",
    "device_self_aicore_ns": "device_self_aicore",
    "device_total_aicore_ns": "device_total_aicore",
}


def operators_from_trace(events: TraceEvents, args: ArgsFile | None) -> Table:
    """The logical table "operators": one row per host operator call, in start order, without step marks."""
    ops = _slices(events, trace.CPU_OP)
    ops = ops[np.argsort(events.ts[ops], kind="stable")]
    times = rebuild(operator_events(events, ops, args))
    marks = np.array([trace.STEP_MARK in name for name in events.names], dtype=bool)
    keep = ~marks[events.name[ops]] if len(ops) else np.zeros(0, dtype=bool)
    return _table(events, ops[keep], np.flatnonzero(keep), times, args)


def operator_events(events: TraceEvents, ops: Index, args: ArgsFile | None) -> OperatorEvents:
    """What the rebuild needs, from the events of a trace. ops: events of the host operators, by start."""
    enqueue, dequeue = _slices(events, trace.ENQUEUE), _slices(events, trace.DEQUEUE)
    launch, task = _launches(events)
    aicore = [(found or {}).get(trace.TASK_TYPE) == trace.AI_CORE for found in _args(events, task, args)]
    return OperatorEvents(
        events.ts[ops],
        events.dur[ops],
        events.tid[ops].astype(np.int64),
        events.ts[enqueue],
        events.tid[enqueue].astype(np.int64),
        _correlation(events, enqueue, args),
        events.ts[dequeue],
        events.dur[dequeue],
        _correlation(events, dequeue, args),
        events.ts[launch],
        events.dur[task] * FRACTION + np.rint(events.dur_rest[task] * FRACTION).astype(np.int64),
        np.array(aicore, dtype=bool),
    )


def _slices(events: TraceEvents, category: str) -> Index:
    """Complete events of a category."""
    if category not in events.categories:
        return np.zeros(0, dtype=np.int64)
    mine = events.category == events.categories.index(category)
    good = (events.phase == ord("X")) & (events.dur != NULL_INT) & (events.ts != NULL_INT) & (events.name >= 0)
    return np.flatnonzero(mine & good)


def _launches(events: TraceEvents) -> tuple[Index, Index]:
    """(flow start, device task) events of every launch: the task stands exactly at the first end of the flow."""
    none = np.zeros(0, dtype=np.int64)
    if trace.HOST_TO_DEVICE not in events.categories:
        return none, none
    mine = (events.category == events.categories.index(trace.HOST_TO_DEVICE)) & (events.flow >= 0)
    begins = np.flatnonzero(mine & (events.phase == ord("s")))
    ends = np.flatnonzero(mine & (events.phase == ord("f")))
    ids, first = np.unique(events.flow[ends], return_index=True)  # the first end of each id, in file order
    if not len(ids):
        return none, none
    place = np.minimum(np.searchsorted(ids, events.flow[begins]), len(ids) - 1)
    found = ids[place] == events.flow[begins]
    begins, ends = begins[found], ends[first[place[found]]]
    tasks = np.flatnonzero((events.phase == ord("X")) & (events.dur != NULL_INT) & (events.ts != NULL_INT))
    wanted = np.isin(events.ts[tasks], events.ts[ends])
    at = dict(zip(_places(events, tasks[wanted]), tasks[wanted].tolist()))
    task = np.array([at.get(key, -1) for key in _places(events, ends)], dtype=np.int64)
    return begins[task >= 0], task[task >= 0]


def _places(events: TraceEvents, rows: Index) -> list[tuple[int, int, int]]:
    return list(zip(events.pid[rows].tolist(), events.tid[rows].tolist(), events.ts[rows].tolist()))


def _args(events: TraceEvents, rows: Index, args: ArgsFile | None) -> list[dict[str, object] | None]:
    if args is None:
        return [None] * len(rows)
    spans = zip(events.args_offset[rows].tolist(), events.args_length[rows].tolist())
    return [read_object(data) for data in args.each(spans)]


def _correlation(events: TraceEvents, rows: Index, args: ArgsFile | None) -> IntArray:
    found = [(item or {}).get(trace.CORRELATION_ID, NULL_INT) for item in _args(events, rows, args)]
    return np.array(
        [value if isinstance(value, int) and abs(value) < 2**63 else NULL_INT for value in found], dtype=np.int64
    )


def _table(events: TraceEvents, ops: Index, rows: Index, times: OperatorTimes, args: ArgsFile | None) -> Table:
    shapes: list[str | None] = []
    stacks: list[str | None] = []
    for found in _args(events, ops, args):
        for key, out in ((trace.INPUT_DIMS, shapes), (trace.CALL_STACK, stacks)):
            value = (found or {}).get(key)
            out.append(value if isinstance(value, str) and value else None)
    data: dict[str, Data] = {
        "name": Text.of(events.names[code] for code in events.name[ops].tolist()),
        "input_shapes": Text.of(shapes),
        "call_stack": Text.of(stacks),
    }
    for key, name in _TIMES.items():
        data[key] = getattr(times, name)[rows]
    return Table(TABLES["operators"], data)


def save_operators(folder: Path, table: Table) -> None:
    """Write the table into a timeline folder."""
    for key in _TEXTS:
        save(folder, f"operators_{key}", table.text(key).codes)
        save_texts(folder, f"operators_{key}_texts", table.text(key).values)
    for key in _TIMES:
        save(folder, f"operators_{key}", table.ints(key))


def load_operators(folder: Path) -> Table:
    """Read what `save_operators` wrote."""
    data: dict[str, Data] = {}
    for key in _TEXTS:
        texts = Texts(folder, f"operators_{key}_texts")
        data[key] = Text(np.array(load(folder, f"operators_{key}")), [texts[i] for i in range(len(texts))])
    for key in _TIMES:
        data[key] = np.array(load(folder, f"operators_{key}"))
    return Table(TABLES["operators"], data)
