"""The tasks of communication operators in the profiler's database: TASK and COMMUNICATION_TASK_INFO.
Source: docs/facts/databases.md, ascend_pytorch_profiler.db."""

from __future__ import annotations

from functools import lru_cache
from itertools import count

from tb_npu_plugin.capture.simulation.planes import Pattern, PlaneTask
from tb_npu_plugin.capture.simulation.records import CommOp
from tb_npu_plugin.capture.writers.database import Database, Row, Strings
from tb_npu_plugin.capture.writers.files import Output
from tb_npu_plugin.capture.writers.plane_tasks import (
    PATTERNS,
    data_type_of,
    kind_of,
    notify_id,
    rate_of,
    stream_of,
    target_of,
    transport_of,
)
from tb_npu_plugin.schema import torch_npu_db as schema

_NO_ID = schema.NO_ID
_DATA, _LINKS = schema.ENUMS["ENUM_HCCL_DATA_TYPE"], schema.ENUMS["ENUM_HCCL_LINK_TYPE"]
_TRANSPORTS, _RDMA = schema.ENUMS["ENUM_HCCL_TRANSPORT_TYPE"], schema.ENUMS["ENUM_HCCL_RDMA_TYPE"]
#: Where a task has no notification: the largest number that SQLite holds.
_NO_NOTIFY = (1 << 63) - 1
#: Plane and bytes of a task at level 0.
_UNKNOWN = -1


class PlaneTables:
    """Writes the tasks of operators."""

    def __init__(self, output: Output, database: Database, strings: Strings) -> None:
        self._database, self._text = database, strings
        self._pid, self._device = output.process.pid, output.process.device
        self._detailed = output.options.level >= 1
        self._constants = lru_cache(PATTERNS)(self._work_out)

    def add(self, op: CommOp, number: int, group: int, first: int) -> None:
        """Write the tasks of an operator. number: of the operator; group: id of its text; first: number of the first task."""
        pid, device, connection, name = self._pid, self._device, op.connection, self._text[op.name]
        stream = stream_of(op.group)
        tasks: list[Row] = []
        infos: list[Row] = []
        constants = self._constants(op.planes.pattern, op.data_type, op.main, group)
        for place, start, dur, (kind, info, main, size) in zip(count(), op.planes.starts, op.planes.durs, constants):
            id_ = first + place
            tasks.append((start, start + dur, device, connection, id_, pid, kind, place, stream, number, _NO_ID))
            infos.append((name, id_, *info, number, main, rate_of(size, dur)))
        self._database.add("TASK", tasks)
        self._database.add("COMMUNICATION_TASK_INFO", infos)

    def _work_out(self, pattern: Pattern, data_type: str, main: int, group: int) -> list[tuple[int, Row, int, int]]:
        """What the tasks of all operators of a pattern share: kind, cells of COMMUNICATION_TASK_INFO, whether it is on
        the main plane, bytes."""
        return [
            (
                self._text[kind_of(task)],
                self._info(task, group, data_type),
                int(task.plane == main),
                task.size if self._detailed else _UNKNOWN,
            )
            for task in pattern.tasks
        ]

    def _info(self, task: PlaneTask, group: int, data_type: str) -> Row:
        if not self._detailed:  # HCCL reports its tasks from level 1 on: here only their times are known
            kinds = (_TRANSPORTS["N/A"], _UNKNOWN, _DATA["N/A"], _LINKS["N/A"])
            return self._text["N/A"], _UNKNOWN, group, _NO_NOTIFY, _RDMA["N/A"], _NO_ID, _NO_ID, *kinds
        notify = notify_id(task)
        return (
            self._text[task.name],
            task.plane,
            group,
            _NO_NOTIFY if notify < 0 else notify,
            _RDMA["RDMA_SEND_PAYLOAD" if task.name == "RDMASend" else "INVALID_TYPE"],
            task.src,
            target_of(task),
            _TRANSPORTS[transport_of(task)],
            task.size,
            _DATA[data_type_of(task, data_type)],
            _LINKS["ROCE" if task.link == "RDMA" else task.link],
        )
