"""Sums communication links by operator type. The matrix names single operators if the profiler does not recognise their
type (hcom_send_, hcom_receive_); databases name all operators singly.
Source: docs/facts/ascend_ms.md, Communication of MindSpore."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import numpy as np

from tb_npu_plugin.analysis.grouping import concat
from tb_npu_plugin.readers.shared.figures import RowBuilder, sum_or_none
from tb_npu_plugin.schema.mindspore import P2P_WORDS
from tb_npu_plugin.schema.torch_npu_json import COMM_KINDS, COMM_LINKS_COLUMNS, TOTAL
from tb_npu_plugin.tables import NULL_INT, StringColumn, Table, nullable

_P2P = re.compile("|".join(P2P_WORDS), re.IGNORECASE)
#: Logical table of communication -> its column with the operator name.
NAMED_BY = {"comm_ops": "name", "comm_bandwidth": "name", "comm_packets": "name", "comm_links": "op_type"}


def with_point_to_point(table: Table, named_by: str) -> Table:
    """Set the kind of sends and receives to p2p."""
    names = table.text(named_by)
    sends = names.isin([name for name in names.values if _P2P.search(name)])
    if not sends.any():
        return table
    kinds = table.text("kind")
    values = [*kinds.values] if COMM_KINDS[0] in kinds.values else [*kinds.values, COMM_KINDS[0]]
    codes = np.where(sends, np.int32(values.index(COMM_KINDS[0])), kinds.codes).astype(np.int32)
    return replace(table, data={**table.data, "kind": StringColumn(codes, values)})


#: "hcom_allReduce__974_0_1@3124" -> "allReduce".
_NAME = re.compile(r"hcom_([A-Za-z]+)_*(?:__[\d_]+)?(?:@.*)?")
_KEYS = ("step", "kind", "op_type", "group", "transport")


def by_type(links: Table) -> Table:
    """Sum the links of single operators by type."""
    types = links.text("op_type")
    found = {name: _NAME.fullmatch(name) for name in types.values}
    single = types.isin([name for name, match in found.items() if match])
    if not single.any():
        return links
    stat = links.text("stat")
    single_links = links.take(single & (stat.equals(TOTAL) | (stat.codes < 0)))
    names = {name: match.group(1).lower() for name, match in found.items() if match}
    return concat(COMM_LINKS_COLUMNS, [links.take(~single), _sum_by_type(single_links, names)])


def _sum_by_type(links: Table, types: dict[str, str]) -> Table:
    """Return one row per step, type, group, link and transport."""
    texts = [links.text(key).tolist() for key in _KEYS]
    ends = links.ints("src").tolist(), links.ints("dst").tolist()
    sums: dict[tuple[Any, ...], list[int | None]] = {}
    figures = zip(nullable(links.ints("size_bytes")), nullable(links.ints("time_ns")))
    for (step, kind, name, group, transport), src, dst, (size, time) in zip(zip(*texts), *ends, figures):
        key = (step, kind, types[name or ""], group, src, dst, transport)
        before = sums.get(key, [0, 0])
        sums[key] = [sum_or_none(before[0], size), sum_or_none(before[1], time)]
    rows = RowBuilder(COMM_LINKS_COLUMNS)
    for (step, kind, name, group, src, dst, transport), (size, time) in sums.items():
        speed = None if size is None or not time else size / time
        ends_ = [None if end == NULL_INT else end for end in (src, dst)]
        rows.add(step, kind, name, TOTAL, group, *ends_, transport, size, time, speed, None)
    return rows.table()
