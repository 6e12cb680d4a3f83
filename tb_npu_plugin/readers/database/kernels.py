"""Table "kernels": computing tasks and communication operators by start.
Source: docs/facts/ascend_pt.md, kernel_details.csv; docs/facts/databases.md, Joins."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tb_npu_plugin.analysis.steps.windows import StepWindows
from tb_npu_plugin.readers.database.context import Context
from tb_npu_plugin.readers.database.metrics import metric_columns
from tb_npu_plugin.readers.database.source import Rows, spool_column
from tb_npu_plugin.readers.database.steps import steps_of_kernels
from tb_npu_plugin.readers.database.strings import take_text
from tb_npu_plugin.schema import torch_npu_db as schema
from tb_npu_plugin.schema.torch_npu_csv import KERNELS, TENSORS
from tb_npu_plugin.schema.torch_npu_db import NO_ID, Select
from tb_npu_plugin.tables import NULL_INT, Data, IntArray, StringColumn, Table, find_rows

# Steps on the device. Source: docs/facts/ascend_pt.md, step_trace_time.csv.


def assign_steps(context: Context, starts: IntArray) -> NDArray[np.int64] | None:
    """Return the row in `context.steps` for each device start (ascending), -1 for none; None without steps. Kernels, copies
    and communication operators bound a step."""
    steps = context.steps
    if not len(steps):
        return None
    tasks, comm = context.tasks, context.comm
    kernels = find_rows(np.sort(context.compute.ints("id")), tasks.ints("id")) >= 0
    own = np.flatnonzero((kernels & ~context.in_communication) | context.are_copies)
    connection, begins, ends = (
        np.concatenate([tasks.ints(key)[own], comm.ints(key)]) for key in ("connection", "start_ns", "end_ns")
    )
    windows = StepWindows.of(
        (steps.ints("start_ns"), steps.ints("end_ns")), launch_times(context, connection), begins, ends
    )
    return windows.at(starts)


def launch_times(context: Context, connections: IntArray) -> IntArray:
    """Return the host launch time of each connection: the start of its operator, as the task queue may run late, or else
    of its CANN call; NULL_INT for none."""
    calls = context.calls
    call = find_rows(calls.ints("connection"), connections)
    times = _values_or_null(calls.ints("start_ns"), call)
    ops = context.torch_of_kind("op")
    row, connection = context.links(ops)
    op = find_rows(connection, connections)
    linked = (op >= 0) & (call >= 0)
    if linked.any():
        times[linked] = ops.ints("start_ns")[row[op[linked]]]
    return times


_TEXTS = ("op_state", "core", "hf32", *TENSORS)
#: Optional columns: older databases lack them.
_MAYBE = ("op_state", "hf32")


def read_kernels(context: Context) -> dict[str, Table]:
    """Return kernels with waiting times, steps and metrics. A preview shows the steps before the metrics are read,
    which may be most of the database."""
    joined = _KernelRows(context)
    if not len(joined.start):
        return {}
    for select, rows in _by_table(context, joined.info[joined.info >= 0]):
        context.source.count(select, shown=rows)
    context.source.count(schema.COMMUNICATION_OP, shown=int(np.count_nonzero(joined.op >= 0)))
    table = Table.of(KERNELS.columns, joined.columns())
    context.show(lambda: {"step_trace": steps_of_kernels(table)})
    return {"kernels": table.with_columns(metric_columns(context, joined.task_ids()))}


class _KernelRows:
    """Kernel rows by start.

    info  row in Context.compute, -1 for communication operators
    op    row in COMMUNICATION_OP, -1 for computing tasks
    task  row in TASK, -1 for none
    """

    def __init__(self, context: Context) -> None:
        self._context = context
        info_task = find_rows(context.tasks.ints("id"), context.compute.ints("id"))
        infos = np.flatnonzero(info_task >= 0)
        for select, rows in _by_table(context, np.flatnonzero(info_task < 0)):
            context.source.leave_out(select, "unknown_task", rows)
        infos = infos[np.argsort(info_task[infos], kind="stable")]  # in the order of TASK
        tasks, comm = context.tasks, context.comm
        task = info_task[infos]
        start = np.concatenate([tasks.ints("start_ns")[task], comm.ints("start_ns")])
        end = np.concatenate([tasks.ints("end_ns")[task], comm.ints("end_ns")])
        order = np.argsort(start, kind="stable")
        none_infos, none_comm = np.full(len(infos), -1), np.full(len(comm), -1)
        self.start, self._end = start[order], end[order]
        self.info = np.concatenate([infos, none_comm])[order]
        self.task = np.concatenate([task, none_comm])[order]
        self.op = np.concatenate([none_infos, np.arange(len(comm))])[order]

    def task_ids(self) -> IntArray:
        """globalTaskId of each row."""
        return _values_or_null(self._context.tasks.ints("id"), self.task)

    def columns(self) -> dict[str, Data]:
        context, compute, comm, spool = self._context, self._context.compute, self._context.comm, self._context.spool
        strings = context.strings
        duration = self._end - self.start
        devices = self._of_op_or_task(context.devices(context.tasks), context.comm_devices)
        out: dict[str, Data] = {
            "start_ns": spool_column(spool, self.start),
            "dur_ns": spool_column(spool, duration),
            "wait_ns": spool_column(spool, self._wait(devices)),
            "device_id": spool_column(spool, devices),
            "task_id": self._of_task("task_id"),
            "stream_id": self._of_task("stream_id"),
            "context_id": self._of_task("context_id", unset=NO_ID),
            "model_id": self._models(),
            "block_dim": spool_column(
                spool, np.where(self.op >= 0, 0, _values_or_null(compute.ints("block_dim"), self.info))
            ),
            "mix_block_dim": spool_column(spool, _values_or_null(compute.ints("mix_block_dim"), self.info)),
            "name": self._text(compute, comm, "name"),
            "type": self._text(compute, comm, "type"),
        }
        for key in _TEXTS:
            if key not in _MAYBE or compute.has(key):
                text = strings.column(compute.ints(key), unquote=key.endswith("_shapes"))
                out[key] = take_text(spool, text, self.info)
        core = out["core"]
        assert isinstance(core, StringColumn)
        out["core"] = self._with_communication_core(core)
        step = assign_steps(context, self.start)
        if step is not None:
            ids = [str(id_) for id_ in context.steps.ints("id").tolist()]
            out["step"] = take_text(spool, StringColumn.of(ids), step)
        return out

    def _wait(self, devices: IntArray) -> IntArray:
        """Return ns since the end of the previous row of the same device; 0 for the first."""
        wait = np.zeros(len(self.start), dtype=np.int64)
        for device in np.unique(devices).tolist():
            rows = np.flatnonzero(devices == device)
            wait[rows[1:]] = np.maximum(self.start[rows[1:]] - self._end[rows[:-1]], 0)
        return wait

    def _of_op_or_task(self, of_task: IntArray, of_comm: IntArray) -> IntArray:
        return np.where(self.op >= 0, _values_or_null(of_comm, self.op), _values_or_null(of_task, self.task))

    def _of_task(self, key: str, unset: int = NULL_INT) -> IntArray:
        values = _values_or_null(self._context.tasks.ints(key), self.task)
        return spool_column(self._context.spool, np.where(values == unset, NULL_INT, values))

    def _models(self) -> IntArray:
        """Return model ids; for a communication operator that of its first task."""
        models = self._context.tasks.ints("model_id")
        return spool_column(
            self._context.spool, self._of_op_or_task(models, _values_or_null(models, self._context.comm_tasks))
        )

    def _text(self, compute: Rows, comm: Rows, key: str) -> StringColumn:
        ids = np.where(
            self.op >= 0, _values_or_null(comm.ints(key), self.op), _values_or_null(compute.ints(key), self.info)
        )
        strings = self._context.strings
        return strings.names(ids) if key == "name" else strings.column(ids)

    def _with_communication_core(self, core: StringColumn) -> StringColumn:
        """Set the core of communication rows."""
        if not (self.op >= 0).any():
            return core
        values = [*core.values]
        name = self._context.communication_core
        if name not in values:
            values.append(name)
        codes = np.where(self.op >= 0, np.int32(values.index(name)), core.codes)
        return take_text(self._context.spool, StringColumn(codes, values), np.arange(len(codes)))


def _by_table(context: Context, infos: IntArray) -> tuple[tuple[Select, int], ...]:
    """Number of rows by the table that they come from. infos: rows of Context.compute."""
    computing = int(np.count_nonzero(context.are_computing(infos)))
    return (schema.COMPUTE_TASK, computing), (schema.COMMUNICATION_SCHEDULE, len(infos) - computing)


def _values_or_null(values: IntArray, rows: NDArray[np.int64]) -> IntArray:
    """Return the values at rows, NULL_INT for row -1."""
    if not len(values):
        return np.full(len(rows), NULL_INT, dtype=np.int64)
    return np.where(rows >= 0, values[rows], NULL_INT)
