"""The tasks of communication operators in the profiler's database: TASK and COMMUNICATION_TASK_INFO.
Source: docs/facts/databases.md, ascend_pytorch_profiler.db."""

from __future__ import annotations

from weakref import WeakKeyDictionary

from tb_npu_plugin.capture.simulation.planes import Pattern, PlaneTask
from tb_npu_plugin.capture.simulation.records import CommOp
from tb_npu_plugin.capture.writers.database import Database, Row, Strings
from tb_npu_plugin.capture.writers.files import Output
from tb_npu_plugin.capture.writers.plane_tasks import data_type_of, notify_id, rate_of, target_of, transport_of
from tb_npu_plugin.schema import torch_npu_db as schema

_NO_ID = schema.NO_ID
_DATA, _LINKS = schema.ENUMS["ENUM_HCCL_DATA_TYPE"], schema.ENUMS["ENUM_HCCL_LINK_TYPE"]
_TRANSPORTS, _RDMA = schema.ENUMS["ENUM_HCCL_TRANSPORT_TYPE"], schema.ENUMS["ENUM_HCCL_RDMA_TYPE"]
#: Task -> kind of task, as the host side names it.
_KINDS = {"Notify_Wait": "Notify Wait", "Notify_Record": "Write Value", "RDMASend": "Write Value"}
#: Where a task has no notification: the largest number that SQLite holds.
_NO_NOTIFY = (1 << 63) - 1
_Columns = list[Row]


class PlaneTables:
    """Writes the tasks of operators."""

    def __init__(self, output: Output, database: Database, strings: Strings) -> None:
        self._database, self._text = database, strings
        self._pid, self._device = output.process.pid, output.process.device
        #: Constant columns of both tables, by the first stream of the operator's group and its main plane.
        self._known: WeakKeyDictionary[Pattern, dict[tuple[int, int], tuple[_Columns, _Columns]]] = WeakKeyDictionary()

    def add(self, op: CommOp, number: int, name: int, group: int, stream: int, id_: int) -> None:
        """Write the tasks of an operator. number: of the operator; name, group: ids of its texts; stream: of the first
        plane; id_: of the first task."""
        planes, tasks = op.planes, op.planes.pattern.tasks
        (kinds, streams), (names, plane, notify, rdma, src, dst, transport, sizes, types, link, main) = self._columns(
            op, stream
        )
        ids = range(id_, id_ + len(tasks))
        ends = [start + dur for start, dur in zip(planes.starts, planes.durs)]
        self._database.add_columns(
            "TASK",
            planes.starts,
            ends,
            self._device,
            op.connection,
            ids,
            self._pid,
            kinds,
            _NO_ID,
            streams,
            number,
            _NO_ID,
        )
        data_type = _DATA[op.data_type]
        self._database.add_columns(
            "COMMUNICATION_TASK_INFO",
            name,
            ids,
            names,
            plane,
            group,
            notify,
            rdma,
            src,
            dst,
            transport,
            sizes,
            [data_type if type_ is None else type_ for type_ in types],
            link,
            number,
            main,
            list(map(rate_of, sizes, planes.durs)),
        )

    def _columns(self, op: CommOp, stream: int) -> tuple[_Columns, _Columns]:
        pattern = op.planes.pattern
        known = self._known.setdefault(pattern, {})
        found = known.get((stream, op.main))
        if found is None:
            rows = [self._constants(task, stream, op.main) for task in pattern.tasks]
            tasks, infos = zip(*rows)
            found = known[stream, op.main] = list(zip(*tasks)), list(zip(*infos))
        return found

    def _constants(self, task: PlaneTask, stream: int, main: int) -> tuple[Row, Row]:
        """Cells of TASK and COMMUNICATION_TASK_INFO that all operators of a pattern share; the data type is None where it is
        that of the operator."""
        # ids are given in the order of rows
        kind, name = self._text[_KINDS.get(task.name, "SDMA")], self._text[task.name]
        notify, type_ = notify_id(task), data_type_of(task, "")
        return (kind, stream + task.plane), (
            name,
            task.plane,
            _NO_NOTIFY if notify < 0 else notify,
            _RDMA["RDMA_SEND_PAYLOAD" if task.name == "RDMASend" else "INVALID_TYPE"],
            task.src,
            target_of(task),
            _TRANSPORTS[transport_of(task)],
            task.size,
            _DATA[type_] if type_ else None,
            _LINKS["ROCE" if task.link == "RDMA" else task.link],
            int(task.plane == main),
        )
