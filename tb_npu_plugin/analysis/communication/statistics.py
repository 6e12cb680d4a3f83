"""Communication of one rank: time split, operators, transports, links."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Optional

import numpy as np

from tb_npu_plugin.analysis.grouping import Groups, known_sum, ratio
from tb_npu_plugin.analysis.ranks.world import WorldRanks
from tb_npu_plugin.model import SpanData
from tb_npu_plugin.schema.columns import columns_of
from tb_npu_plugin.schema.kernel_meaning import folded_name
from tb_npu_plugin.schema.torch_npu_json import TOTAL
from tb_npu_plugin.tables import NULL_INT, FloatArray, IntArray, StringColumn, Table, known, nullable

#: Prefix of operator names; link names lack it.
_PREFIX = "hcom_"

SPLIT = ("transit_ns", "wait_ns", "sync_ns", "idle_ns")
OPS_COLUMNS = columns_of("rank_ops")
TRANSPORT_COLUMNS = columns_of("rank_transports")


@dataclass(frozen=True)
class Split:
    """Communication time of one step, ns: transit + wait + synchronization + idle = elapse. None: unknown.

    incomplete  operators that lack one of the times; the sums skip that time, so the equation does not hold then
    """

    elapse: Optional[int]
    transit: Optional[int]
    wait: Optional[int]
    synchronization: Optional[int]
    idle: Optional[int]
    incomplete: int


#: Split of a step without known communication.
UNKNOWN_SPLIT = Split(None, None, None, None, None, incomplete=0)


@dataclass(frozen=True)
class Link:
    """Traffic of one link, by operator type and step (or "total"). A rank's link to itself has transport LOCAL."""

    rank: Optional[int]
    """Rank that recorded it."""
    step: Optional[str]
    """Step number."""
    group: Optional[str]
    """Communication group."""
    op_type: Optional[str]
    """Type of the communication operator."""
    src: int
    """Sender's number inside the group."""
    dst: int
    """Receiver's number inside the group."""
    src_rank: Optional[int]
    """Sender's rank in the job; null if not recorded."""
    dst_rank: Optional[int]
    """Receiver's rank in the job; null if not recorded."""
    transport: Optional[str]
    """HCCS, RDMA, PCIE, SIO or LOCAL."""
    size_bytes: Optional[int]
    """Bytes transferred."""
    time_ns: Optional[int]
    """Transfer time."""
    bandwidth: Optional[float]
    """1e9 bytes per second."""
    calls: Optional[int]
    """Number of operators; null if unknown."""


def base_name(name: str) -> str:
    """Name of a communication operator without the numbers of the call."""
    return folded_name(name, "hcom")


def time_parts(ops: Table) -> dict[str, IntArray]:
    """elapse_ns and its four parts for each operator, which sum to it exactly. Wait excludes Synchronization here
    (the file's includes it), unless no operator has Synchronization. Idle is computed, since the file rounds it
    separately."""
    elapse, transit, wait, sync = (ops.ints(key) for key in ("elapse_ns", "transit_ns", "wait_ns", "sync_ns"))
    if not known(sync).any() and known(wait).any():
        certain, alone = known(elapse) & known(transit) & known(wait), wait
    else:
        certain = known(elapse) & known(transit) & known(wait) & known(sync)
        alone = np.where(known(wait) & known(sync), wait - sync, NULL_INT)
    return {
        "elapse_ns": elapse,
        "transit_ns": transit,
        "wait_ns": alone,
        "sync_ns": sync,
        "idle_ns": np.where(certain, elapse - transit - wait, NULL_INT),
    }


def split(ops: Table) -> Split:
    """Split summed over the given operators."""
    values = time_parts(ops)
    elapse, transit, wait, sync, idle = (known_sum(values[key]) for key in ("elapse_ns", *SPLIT))
    incomplete = int(_count_incomplete(values).sum())
    return Split(elapse, transit, wait, sync, idle, incomplete)


def without_rollups(bandwidth: Table) -> Table:
    """Rows of comm_bandwidth without rollups. A rollup (SDMA) only counts for an operator without other transports, as
    older files may have."""
    moved = np.where(known(bandwidth.ints("size_bytes")), bandwidth.ints("size_bytes"), 0) > 0
    rollup = bandwidth.ints("rollup") == 1
    groups = Groups([bandwidth.text(key) for key in ("step", "kind", "name", "group")], len(bandwidth))
    leaf_moved = np.bincount(groups.of_row[moved & ~rollup], minlength=len(groups)) > 0
    only_rollup = ~leaf_moved & (np.bincount(groups.of_row[moved & rollup], minlength=len(groups)) > 0)
    return bandwidth.take(rollup == only_rollup[groups.of_row])


def operators(
    ops: Table,
    bandwidth: Table | None,
    rank: int | None,
    waiting: IntArray | None = None,
    latest: Sequence[str | None] = (),
) -> Table:
    """One row per step, kind, operator and group (OPS_COLUMNS). waiting, latest: time that each operator waits for the last
    rank, and name of that rank; None and empty if unknown."""
    keys: list[StringColumn] = [ops.text("step"), ops.text("kind"), base_names(ops.text("name")), ops.text("group")]
    groups = Groups(keys, len(ops))
    times = time_parts(ops)
    size, link_time = traffic_of(ops, bandwidth)
    sizes = groups.sum(size)
    text = [key.take(groups.first) for key in keys]
    return Table(
        OPS_COLUMNS,
        {
            "rank": _constant(rank, len(groups)),
            **dict(zip(("step", "kind", "name", "group"), text)),
            "calls": groups.count(),
            "size_bytes": sizes,
            "avg_size_bytes": groups.mean(size),
            **{key: groups.sum(values) for key, values in times.items()},
            "waiting_ns": groups.sum(waiting)
            if waiting is not None
            else np.full(len(groups), NULL_INT, dtype=np.int64),
            "latest_rank": StringColumn.of(_most_frequent(rows, latest) for rows in groups.rows()),
            "avg_elapse_ns": groups.mean(times["elapse_ns"]),
            "avg_transit_ns": groups.mean(times["transit_ns"]),
            "bandwidth": ratio(sizes, groups.sum(link_time)),
            "incomplete": groups.sum(_count_incomplete(times)),
        },
    )


def _most_frequent(rows: IntArray, names: Sequence[str | None]) -> str | None:
    """ "5 (3/4)": the rank that most of the rows name, those that do, and all; None without one."""
    count = Counter(names[row] for row in rows.tolist()) if len(names) else Counter[Optional[str]]()
    count.pop(None, None)
    return "{} ({}/{})".format(*count.most_common(1)[0], len(rows)) if count else None


def transports(bandwidth: Table, rank: int | None) -> Table:
    """One row per step and transport that moved something (TRANSPORT_COLUMNS)."""
    rows = without_rollups(bandwidth)
    rows = rows.take(known(rows.ints("size_bytes")) & (rows.ints("size_bytes") > 0))
    groups = Groups([rows.text("step"), rows.text("transport")], len(rows))
    sizes, times = groups.sum(rows.ints("size_bytes")), groups.sum(rows.ints("time_ns"))
    return Table(
        TRANSPORT_COLUMNS,
        {
            "rank": _constant(rank, len(groups)),
            "step": rows.text("step").take(groups.first),
            "transport": rows.text("transport").take(groups.first),
            "size_bytes": sizes,
            "time_ns": times,
            "bandwidth": ratio(sizes, times),
            "large_packet_ratio": _weighted_ratio(rows, groups),
        },
    )


def links(span: SpanData, ranks: WorldRanks) -> list[Link]:
    """Rows with statistic "total" of communication_matrix.json. Calls are unknown without comm_ops."""
    found, ops = span.table("comm_links"), span.table("comm_ops")
    if found is None:
        return []
    table = found.take(found.text("stat").equals(TOTAL))
    table = table.take(known(table.ints("src")) & known(table.ints("dst")))
    text = {key: table.text(key).tolist() for key in ("step", "group", "op_type", "transport")}
    size, time = nullable(table.ints("size_bytes")), nullable(table.ints("time_ns"))
    src, dst = table.ints("src").tolist(), table.ints("dst").tolist()
    speed = ratio(table.ints("size_bytes"), table.ints("time_ns")).tolist()
    calls = {} if ops is None else _calls(ops)
    return [
        Link(
            rank=span.capture.rank,
            step=text["step"][row],
            group=text["group"][row],
            op_type=text["op_type"][row],
            src=src[row],
            dst=dst[row],
            src_rank=ranks.of(text["group"][row], src[row]),
            dst_rank=ranks.of(text["group"][row], dst[row]),
            transport=text["transport"][row],
            size_bytes=size[row],
            time_ns=time[row],
            bandwidth=None if np.isnan(speed[row]) else speed[row],
            calls=calls.get((text["step"][row], text["group"][row], _type(text["op_type"][row] or ""))),
        )
        for row in range(len(table))
    ]


def _calls(ops: Table) -> dict[tuple[str | None, str | None, str], int]:
    """Number of operators by step, group and type."""
    names = {name: _type(base_name(name)) for name in set(ops.text("name").tolist()) if name is not None}
    columns = (ops.text(key).tolist() for key in ("step", "group", "name"))
    return Counter((step, group, names[name]) for step, group, name in zip(*columns) if name is not None)


def _type(name: str) -> str:
    """Link type of an operator: hcom_allReduce_ -> allreduce."""
    return name.lower().replace(_PREFIX, "").strip("_")


def traffic_of(ops: Table, bandwidth: Table | None) -> tuple[IntArray, IntArray]:
    """Bytes and link time of each row of `ops`; unknown if communication.json has no bandwidth for it."""
    size, time = (np.full(len(ops), NULL_INT, dtype=np.int64) for _ in range(2))
    if bandwidth is None or not len(bandwidth):
        return size, time
    rows = without_rollups(bandwidth)
    keys = ("step", "kind", "name", "group")
    groups = Groups([rows.text(key) for key in keys], len(rows))
    sizes, times = groups.sum(rows.ints("size_bytes")), groups.sum(rows.ints("time_ns"))
    places = list(zip(*(rows.text(key).take(groups.first).tolist() for key in keys)))
    index = {place: group for group, place in enumerate(places)}
    for row, place in enumerate(zip(*(ops.text(key).tolist() for key in keys))):
        group = index.get(place)
        if group is not None:
            size[row], time[row] = sizes[group], times[group]
    return size, time


def _count_incomplete(times: dict[str, IntArray]) -> IntArray:
    """1 for each operator with an unknown time, else 0. Idle is unknown if any other time is."""
    return (~known(times["idle_ns"])).astype(np.int64)


def base_names(names: StringColumn) -> StringColumn:
    """Names of operators without the numbers of the single call."""
    index: dict[str, int] = {}
    lookup = [index.setdefault(base_name(name), len(index)) for name in names.values] + [-1]
    return StringColumn(np.asarray(lookup, dtype=np.int32)[names.codes], list(index))


def _weighted_ratio(rows: Table, groups: Groups) -> FloatArray:
    ratios, sizes = rows.floats("large_packet_ratio"), rows.ints("size_bytes")
    certain = ~np.isnan(ratios)
    weight = np.bincount(groups.of_row[certain], weights=sizes[certain], minlength=len(groups))
    total = np.bincount(groups.of_row[certain], weights=(ratios * sizes)[certain], minlength=len(groups))
    out = np.full(len(groups), np.nan)
    np.divide(total, weight, out=out, where=weight > 0)
    return out


def _constant(value: int | None, rows: int) -> IntArray:
    return np.full(rows, NULL_INT if value is None else value, dtype=np.int64)
