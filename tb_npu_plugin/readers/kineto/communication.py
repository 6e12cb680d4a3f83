"""Communication tables: NCCL kernels with the collective that c10d recorded for each."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from tb_npu_plugin.readers.kineto.selected_events import Index, SelectedEvents
from tb_npu_plugin.readers.shared.figures import TOO_LONG, RowBuilder
from tb_npu_plugin.schema import kineto
from tb_npu_plugin.schema.torch_npu_json import COMM_BANDWIDTH_COLUMNS, COMM_OPS_COLUMNS
from tb_npu_plugin.tables import Table

#: "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)" -> "ncclDevKernel_AllReduce_Sum_f32_RING_LL"
_ARGUMENTS = re.compile(r"\(.*")

#: Columns that are known: the start and elapsed time of operators, all but the share of large packets of transports.
_OPS, _TRAFFIC = COMM_OPS_COLUMNS[:6], COMM_BANDWIDTH_COLUMNS[:9]


def read_communication(selected: SelectedEvents, kernels: Table, rows: Index) -> dict[str, Table]:
    """Return comm_ops and comm_bandwidth; {} without collectives. rows: events of the kernels. The size is that of the
    message. The bandwidth is size / kernel time, which includes waiting for other ranks: traces do not split it."""
    chosen = kernels.text("core").equals(kineto.COMMUNICATION_KIND)
    own = kernels.take(chosen)
    if not len(own):
        return {}
    ops, traffic = RowBuilder(_OPS), RowBuilder(_TRAFFIC)
    columns = (
        own.text("step").tolist(),
        own.text("name").tolist(),
        own.ints("start_ns").tolist(),
        own.ints("dur_ns").tolist(),
    )
    for number, (step, kernel, start, dur, args) in enumerate(zip(*columns, _in_order(selected, rows[chosen]))):
        name = str(args.get(kineto.COLLECTIVE) or _ARGUMENTS.sub("", kernel or ""))
        kind = "p2p" if kineto.POINT_TO_POINT.search(name) else "collective"
        who = (step, kind, f"{name}__{number}", _group(args))  # unique per call; views strip the number
        ops.add(*who, start, dur)
        size = _message(args)
        if size is not None:
            traffic.add(*who, kineto.TRANSPORT, 0, size, dur, size / dur if dur > 0 else None)
    return {"comm_ops": ops.table(), "comm_bandwidth": traffic.table()}


def _in_order(selected: SelectedEvents, rows: Index) -> list[dict[str, Any]]:
    """Return the args of events, reading the file in order."""
    order = np.argsort(rows)
    found = dict(zip(order.tolist(), selected.objects(rows[order])))
    return [found[place] for place in range(len(rows))]


def _group(args: dict[str, Any]) -> str | None:
    name = args.get(kineto.COLLECTIVE_GROUP)
    return str(name) if name not in (None, "") else None


def _message(args: dict[str, Any]) -> int | None:
    """Return the bytes of the larger side: the output of an all-gather, the input of a reduce-scatter."""
    sizes = [value for key in kineto.MESSAGE_ELEMENTS if type(value := args.get(key)) is int and value >= 0]
    element = kineto.ELEMENT_BYTES.get(str(args.get(kineto.ELEMENT_TYPE)))
    size = max(sizes) * element if sizes and element else TOO_LONG
    return size if size < TOO_LONG else None
