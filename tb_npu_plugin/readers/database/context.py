"""Data that several readers of one database share, each read on first use."""

from __future__ import annotations

from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from tb_npu_plugin.readers.database.source import Rows, Source, spool_column
from tb_npu_plugin.readers.database.strings import Strings
from tb_npu_plugin.readers.shared.reading import Show, ignore_preview
from tb_npu_plugin.readers.shared.spool import Spool
from tb_npu_plugin.schema import torch_npu_db as schema
from tb_npu_plugin.schema.torch_npu_json import COMMUNICATION_CORES
from tb_npu_plugin.tables import NULL_INT, IntArray, find_rows

#: Framework calls that are inspected for swapped shape and type columns.
_SAMPLE = 100


class Context:
    """Shared data of one profiler database. show: see Reading."""

    def __init__(self, source: Source, show: Show = ignore_preview) -> None:
        self.source, self.show = source, show
        self.spool: Spool = source.spool

    @cached_property
    def strings(self) -> Strings:
        """STRING_IDS."""
        return Strings(self.source, schema.STRING_IDS)

    @cached_property
    def tasks(self) -> Rows:
        """Device tasks."""
        return self.source.read(schema.TASK)

    @cached_property
    def _computing(self) -> Rows:
        return self.source.read(schema.COMPUTE_TASK)

    @cached_property
    def compute(self) -> Rows:
        """Details of computing tasks, then of those that schedule communication."""
        return self._computing.with_rows(self.source.read(schema.COMMUNICATION_SCHEDULE))

    def are_computing(self, rows: IntArray) -> NDArray[np.bool_]:
        """Mask of the rows of `compute` that are of computing tasks; False for -1."""
        return (rows >= 0) & (rows < len(self._computing))

    @cached_property
    def comm(self) -> Rows:
        """Communication operators."""
        return self.source.read(schema.COMMUNICATION_OP)

    @cached_property
    def calls(self) -> Rows:
        """CANN calls on the host."""
        return self.source.read(schema.CANN_API)

    @cached_property
    def torch(self) -> Rows:
        """Framework calls on the host. torch_npu swaps the columns of shapes and types; they are swapped back unless
        the content shows a fixed release."""
        rows = self.source.read(schema.PYTORCH_API)
        types, shapes = rows.ints("input_types"), rows.ints("input_shapes")
        if self._have_letters(types) or not self._have_letters(shapes):
            return rows
        return Rows(len(rows), {**rows.data, "input_types": shapes, "input_shapes": types})

    def _have_letters(self, ids: IntArray) -> bool:
        """Whether the first texts have letters: all types do, no shapes."""
        first = self.strings.column(ids[ids != NULL_INT][:_SAMPLE], raw=True).values
        return any(any(map(str.isalpha, text)) for text in first)

    @cached_property
    def connections(self) -> Rows:
        """Connections of framework calls."""
        return self.source.read(schema.CONNECTIONS)

    @cached_property
    def steps(self) -> Rows:
        """Steps on the host, by start."""
        rows = self.source.read(schema.STEP_TIME)
        order = np.argsort(rows.ints("start_ns"), kind="stable")
        return Rows(len(rows), {key: values[order] for key, values in rows.data.items()})

    @cached_property
    def levels(self) -> Strings:
        """Names of call types."""
        return Strings(self.source, schema.API_TYPE_NAMES)

    @cached_property
    def comm_parts(self) -> Rows:
        """Task ids and operators of the tasks of communication operators."""
        return self.source.read(schema.COMMUNICATION_TASK, "id", "op")

    @cached_property
    def in_communication(self) -> NDArray[np.bool_]:
        """Mask of the tasks of communication operators."""
        return np.asarray(find_rows(np.sort(self.comm_parts.ints("id")), self.tasks.ints("id")) >= 0)

    @cached_property
    def are_copies(self) -> NDArray[np.bool_]:
        """Mask of the copy tasks, without those of communication."""
        kinds = self.strings.column(self.tasks.ints("kind"), raw=True)
        return np.asarray(kinds.equals(schema.COPY) & ~self.in_communication)

    @cached_property
    def device_id(self) -> int:
        """Device id of the database; NULL_INT if not recorded."""
        ids = self.source.read(schema.RANK_DEVICE).ints("device_id")
        return int(ids[0]) if len(ids) else NULL_INT

    def devices(self, rows: Rows) -> IntArray:
        """Return the device of each row; that of the database if the row has none."""
        ids = rows.ints("device_id")
        return np.where(ids == NULL_INT, self.device_id, ids)

    @cached_property
    def comm_tasks(self) -> NDArray[np.int64]:
        """Row of the first task of each communication operator, -1 for none."""
        part = find_rows(self.comm_parts.ints("op"), self.comm.ints("op"))
        ids = np.append(self.comm_parts.ints("id"), NULL_INT)
        return find_rows(self.tasks.ints("id"), ids[part])

    @cached_property
    def comm_devices(self) -> IntArray:
        """Device of each communication operator; from its first task in older databases."""
        ids = self.comm.ints("device_id")
        of_task = np.append(self.devices(self.tasks), self.device_id)[self.comm_tasks]
        return np.where(ids == NULL_INT, of_task, ids)

    @cached_property
    def communication_core(self) -> str:
        """Core name of communication rows in text exports of the same release."""
        older, newer = COMMUNICATION_CORES
        return older if self.levels.text(schema.COMMUNICATION_TYPE) == schema.OLD_COMMUNICATION else newer

    def torch_of_kind(self, kind: str) -> Rows:
        """Return the framework calls of one kind ("op", "queue", "trace") by start; ties keep the table's order."""
        chosen = np.flatnonzero(np.isin(self.torch.ints("kind"), schema.TORCH_KINDS[kind]))
        chosen = chosen[np.argsort(self.torch.ints("start_ns")[chosen], kind="stable")]
        return Rows(
            len(chosen), {key: spool_column(self.spool, values[chosen]) for key, values in self.torch.data.items()}
        )

    def links(self, rows: Rows) -> tuple[IntArray, IntArray]:
        """Return (row, connection) pairs of framework calls; a call may have several connections."""
        key = rows.ints("connection")
        ids, ends = self.connections.ints("id"), self.connections.ints("connection")
        order = np.argsort(ids, kind="stable")
        ids, ends = ids[order], ends[order]
        first, last = np.searchsorted(ids, key, "left"), np.searchsorted(ids, key, "right")
        count = np.where(key == NULL_INT, 0, last - first)
        row = np.repeat(np.arange(len(rows)), count)
        within = np.arange(len(row)) - np.repeat(np.cumsum(count) - count, count)
        return row, ends[np.repeat(first, count) + within]
