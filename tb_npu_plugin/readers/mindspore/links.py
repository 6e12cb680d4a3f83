"""Links by type of operator. Of operators whose type the profiler does not recognise (hcom_send_, hcom_receive_) the
matrix names each one, and databases name every one; here they are counted by type, as all others are.
Source: docs/facts/ascend_ms.md, Communication of MindSpore."""

from __future__ import annotations

import re
from typing import Any

from tb_npu_plugin.analysis.joining import concat
from tb_npu_plugin.readers.shared.figures import Rows
from tb_npu_plugin.schema.torch_npu_json import COMM_LINKS_COLUMNS, TOTAL
from tb_npu_plugin.tables import NULL_INT, IntArray, Table

#: "hcom_allReduce__974_0_1@3124" -> "allReduce".
_NAME = re.compile(r"hcom_([A-Za-z]+)_*(?:__[\d_]+)?(?:@.*)?")
_KEYS = ("step", "kind", "op_type", "group", "transport")


def by_type(links: Table) -> Table:
    """The same links; those of single operators as the total of their type."""
    types = links.text("op_type")
    found = {name: _NAME.fullmatch(name) for name in types.values}
    single = types.isin([name for name, match in found.items() if match])
    if not single.any():
        return links
    stat = links.text("stat")
    summed = links.take(single & (stat.equals(TOTAL) | (stat.codes < 0)))
    names = {name: match.group(1).lower() for name, match in found.items() if match}
    return concat(COMM_LINKS_COLUMNS, [links.take(~single), _summed(summed, names)])


def _summed(links: Table, types: dict[str, str]) -> Table:
    """One row for each type, group, link and transport of a step."""
    texts = [links.text(key).tolist() for key in _KEYS]
    ends = links.ints("src").tolist(), links.ints("dst").tolist()
    sums: dict[tuple[Any, ...], list[int | None]] = {}
    figures = zip(_known(links.ints("size_bytes")), _known(links.ints("time_ns")))
    for (step, kind, name, group, transport), src, dst, (size, time) in zip(zip(*texts), *ends, figures):
        key = (step, kind, types[name or ""], group, src, dst, transport)
        before = sums.get(key, [0, 0])
        sums[key] = [_plus(before[0], size), _plus(before[1], time)]
    rows = Rows(COMM_LINKS_COLUMNS)
    for (step, kind, name, group, src, dst, transport), (size, time) in sums.items():
        speed = None if size is None or not time else size / time
        ends_ = [None if end == NULL_INT else end for end in (src, dst)]
        rows.add(step, kind, name, TOTAL, group, *ends_, transport, size, time, speed, None)
    return rows.table()


def _known(values: IntArray) -> list[int | None]:
    return [None if value == NULL_INT else value for value in values.tolist()]


def _plus(left: int | None, right: int | None) -> int | None:
    """A sum; unknown as soon as one is."""
    return None if left is None or right is None else left + right
