"""Sends and receives: the profiler finds "Send" and "Receive" in names, not hcom_send_ and hcom_receive_, which it puts
under collective. Source: docs/facts/ascend_ms.md, Communication of MindSpore."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np

from tb_npu_plugin.schema.mindspore import P2P_WORDS
from tb_npu_plugin.schema.torch_npu_json import COMM_KINDS
from tb_npu_plugin.tables import Table, Text

_P2P = re.compile("|".join(P2P_WORDS), re.IGNORECASE)
#: Logical tables of communication, and the column of each that names the operator.
NAMED_BY = {"comm_ops": "name", "comm_bandwidth": "name", "comm_packets": "name", "comm_links": "op_type"}


def with_point_to_point(table: Table, named_by: str) -> Table:
    """The same rows, sends and receives as p2p, whatever the file says."""
    names = table.text(named_by)
    sends = names.isin([name for name in names.values if _P2P.search(name)])
    if not sends.any():
        return table
    kinds = table.text("kind")
    values = [*kinds.values] if COMM_KINDS[0] in kinds.values else [*kinds.values, COMM_KINDS[0]]
    codes = np.where(sends, np.int32(values.index(COMM_KINDS[0])), kinds.codes).astype(np.int32)
    return replace(table, data={**table.data, "kind": Text(codes, values)})
