"""What the readers of one database share, each part read when it is first asked for."""

from __future__ import annotations

from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from tb_npu_plugin.readers.database.source import Rows, Source, kept
from tb_npu_plugin.readers.database.strings import Strings, places
from tb_npu_plugin.readers.shared.reading import Show, ignore_preview
from tb_npu_plugin.readers.shared.spool import Spool
from tb_npu_plugin.schema import torch_npu_db_reading as schema
from tb_npu_plugin.schema.torch_npu_json import COMMUNICATION_CORES
from tb_npu_plugin.tables import NULL_INT, IntArray

#: Calls of the framework that tell whether sizes and types stand in each other's columns.
_SAMPLE = 100


class Context:
    """One database of a profiler. show: see Reading."""

    def __init__(self, source: Source, show: Show = ignore_preview) -> None:
        self.source, self.show = source, show
        self.spool: Spool = source.spool

    @cached_property
    def strings(self) -> Strings:
        """STRING_IDS."""
        return Strings(self.source, schema.STRING_IDS)

    @cached_property
    def tasks(self) -> Rows:
        """Tasks of the device."""
        return self.source.read(schema.TASK)

    @cached_property
    def compute(self) -> Rows:
        """What is known of computing tasks."""
        return self.source.read(schema.COMPUTE_TASK)

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
        """Calls of the framework on the host. torch_npu writes sizes into the column of types, and types into that of sizes:
        what stands there tells which is which, so that a release that has mended it is read, too."""
        rows = self.source.read(schema.PYTORCH_API)
        types, shapes = rows.ints("input_types"), rows.ints("input_shapes")
        if self._have_letters(types) or not self._have_letters(shapes):
            return rows
        return Rows(len(rows), {**rows.data, "input_types": shapes, "input_shapes": types})

    def _have_letters(self, ids: IntArray) -> bool:
        """As all types have, and no sizes: the first ones tell."""
        first = self.strings.column(ids[ids != NULL_INT][:_SAMPLE], raw=True).values
        return any(any(map(str.isalpha, text)) for text in first)

    @cached_property
    def connections(self) -> Rows:
        """Connections that calls of the framework refer to."""
        return self.source.read(schema.CONNECTIONS)

    @cached_property
    def steps(self) -> Rows:
        """Steps on the host, by start."""
        rows = self.source.read(schema.STEP_TIME)
        order = np.argsort(rows.ints("start_ns"), kind="stable")
        return Rows(len(rows), {key: values[order] for key, values in rows.data.items()})

    @cached_property
    def levels(self) -> Strings:
        """Names of the types of calls."""
        return Strings(self.source, schema.API_TYPE_NAMES)

    @cached_property
    def in_communication(self) -> NDArray[np.bool_]:
        """Mask of the tasks that are part of a communication operator."""
        steps = self.source.read(schema.COMMUNICATION_TASK, "id").ints("id")
        return np.asarray(places(np.sort(steps), self.tasks.ints("id")) >= 0)

    @cached_property
    def are_copies(self) -> NDArray[np.bool_]:
        """Mask of the tasks that are copies, but for those of communication."""
        kinds = self.strings.column(self.tasks.ints("kind"), raw=True)
        return np.asarray(kinds.equals(schema.COPY) & ~self.in_communication)

    @cached_property
    def device_id(self) -> int:
        """The device of a database of one device; NULL_INT where it does not say."""
        ids = self.source.read(schema.RANK_DEVICE).ints("device_id")
        return int(ids[0]) if len(ids) else NULL_INT

    def devices(self, rows: Rows) -> IntArray:
        """Device of each row; that of the database where the table does not say."""
        ids = rows.ints("device_id")
        return np.where(ids == NULL_INT, self.device_id, ids)

    @cached_property
    def comm_tasks(self) -> NDArray[np.int64]:
        """Row of the first task of each communication operator, -1 for none."""
        parts = self.source.read(schema.COMMUNICATION_TASK, "id", "op")
        part = places(parts.ints("op"), self.comm.ints("op"))
        ids = np.append(parts.ints("id"), NULL_INT)
        return places(self.tasks.ints("id"), ids[part])

    @cached_property
    def comm_devices(self) -> IntArray:
        """Device of each communication operator: older tables do not say, but that of its tasks."""
        ids = self.comm.ints("device_id")
        of_task = np.append(self.devices(self.tasks), self.device_id)[self.comm_tasks]
        return np.where(ids == NULL_INT, of_task, ids)

    @cached_property
    def communication_core(self) -> str:
        """What text exports of the same release call the core of communication rows."""
        older, newer = COMMUNICATION_CORES
        return older if self.levels.text(schema.COMMUNICATION_TYPE) == schema.OLD_COMMUNICATION else newer

    def torch_of_kind(self, kind: str) -> Rows:
        """Calls of the framework of one kind: "op", "queue", "trace"; by start, then in the order of the table."""
        chosen = np.flatnonzero(np.isin(self.torch.ints("kind"), schema.TORCH_KINDS[kind]))
        chosen = chosen[np.argsort(self.torch.ints("start_ns")[chosen], kind="stable")]
        return Rows(len(chosen), {key: kept(self.spool, values[chosen]) for key, values in self.torch.data.items()})

    def links(self, rows: Rows) -> tuple[IntArray, IntArray]:
        """(row, connection) of calls of the framework; a call may have several connections."""
        key = rows.ints("connection")
        ids, ends = self.connections.ints("id"), self.connections.ints("connection")
        order = np.argsort(ids, kind="stable")
        ids, ends = ids[order], ends[order]
        first, last = np.searchsorted(ids, key, "left"), np.searchsorted(ids, key, "right")
        count = np.where(key == NULL_INT, 0, last - first)
        row = np.repeat(np.arange(len(rows)), count)
        within = np.arange(len(row)) - np.repeat(np.cumsum(count) - count, count)
        return row, ends[np.repeat(first, count) + within]
