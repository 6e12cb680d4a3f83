"""Splits the time of each communication operator: waiting for a late rank, synchronisation, transfer, rest."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Optional

import numpy as np
from numpy.typing import NDArray

from tb_npu_plugin.analysis.communication.clocks import Clock, Collectives
from tb_npu_plugin.analysis.communication.first_waits import CollectiveWait
from tb_npu_plugin.analysis.communication.lateness import LEAST_WAIT_NS
from tb_npu_plugin.analysis.communication.statistics import time_parts
from tb_npu_plugin.analysis.grouping import Groups
from tb_npu_plugin.tables import NULL_INT, IntArray, Table, known

#: Parts of the elapsed time of an operator, which sum to it exactly.
PARTS = ("waiting", "before_transfer", "transfer", "small_packets", "rest")
#: Least size of a packet that uses the bandwidth of a link, bytes: RDMA, and all others.
LEAST_RDMA_BYTES, LEAST_SDMA_BYTES = 1_000_000, 16_000_000
RDMA = "RDMA"


@dataclass(frozen=True)
class Waits:
    """Wait of each operator of a rank for the last rank to arrive, by row of its table.

    Attributes:
        time: From the start of the operator until that rank arrives, ns; NULL_INT if unknown.
        start: Start of the operator, ns since the epoch; NULL_INT if unknown.
        owner: Index of the late rank among the profiled ranks; -1 if it is not one of them.
        peer: Its number inside the group; -1 if only its own start shows that it is late.
        until_transfer: Time until the first transfer, the wait included, ns; NULL_INT if unknown.
    """

    time: IntArray
    start: IntArray
    owner: IntArray
    peer: IntArray
    until_transfer: IntArray


def waits_of_ranks(
    lengths: Sequence[int],
    found: Collectives,
    clocks: Sequence[Clock],
    seen: Sequence[Optional[Sequence[CollectiveWait]]],
    is_complete: NDArray[np.bool_],
) -> list[Waits]:
    """The waits of each rank.

    A rank waits from its arrival until that of the last rank. Its own trace shows the arrivals of its peers; a rank that it
    does not communicate with directly, as in a ring, is known from its own start or from the trace of a neighbour.

    lengths: rows of the table of each rank. seen: initial waits in the trace of each rank; None without a trace.
    is_complete: whether the starts of all members are known, for each row of `found`. Else the wait of a rank without
    communication tasks in a trace is unknown: it may wait for another one.
    """
    later, owner, peer = _last_arrivals(found, clocks, seen)
    out = []
    for rank, length in enumerate(lengths):
        waits = Waits(*(np.full(length, empty, dtype=np.int64) for empty in (NULL_INT, NULL_INT, -1, -1, NULL_INT)))
        out.append(waits)
        own = np.flatnonzero((found.owner == rank) & (is_complete | bool(seen[rank])))
        rows = found.row[own]
        waits.time[rows], waits.owner[rows], waits.peer[rows] = later[own], owner[own], peer[own]
        waits.start[rows] = found.rows.ints("start_ns")[own]
        # Arrivals that ranks show agree within 7 us on recorded ranks.
        tolerance = LEAST_WAIT_NS + clocks[rank].error
        waits.time[rows[(later[own] > 0) & (later[own] < tolerance)]] = 0
        for one in seen[rank] or ():
            if waits.time[one.row] <= one.wait + tolerance and (one.peer is not None or not one.wait):
                waits.time[one.row], waits.start[one.row] = one.wait, one.start
                waits.owner[one.row], waits.peer[one.row] = -1, -1 if one.peer is None else one.peer
                if one.is_part:
                    waits.time[one.row] = NULL_INT
            waits.until_transfer[one.row] = one.until_transfer
        elapse = np.full(length, NULL_INT, dtype=np.int64)
        elapse[rows] = found.rows.ints("elapse_ns")[own]
        certain = known(waits.time) & known(elapse)
        waits.time[:] = np.where(certain, np.minimum(waits.time, elapse), NULL_INT)
    return out


def _last_arrivals(
    found: Collectives, clocks: Sequence[Clock], seen: Sequence[Optional[Sequence[CollectiveWait]]]
) -> tuple[IntArray, IntArray, IntArray]:
    """For each row of `found`: time from its start to the last known arrival of another rank, 0 if it is the last, NULL_INT
    if no other arrival is known; index of the last rank, or -1 and its number inside the group."""
    offset, reference = (np.array([getattr(clock, key) for clock in clocks]) for key in ("offset", "reference"))
    count = len(found.owner)
    start = found.rows.ints("start_ns") - (offset[found.owner] if count else 0)
    # Arrivals: the rows themselves, then the peers that rows wait for.
    place = {(rank, row): at for at, (rank, row) in enumerate(zip(found.owner.tolist(), found.row.tolist()))}
    shown = [
        (place[rank, wait.row], wait.wait, wait.peer)
        for rank, waits in enumerate(seen)
        for wait in waits or ()
        if wait.wait and wait.peer is not None and (rank, wait.row) in place
    ]
    at, wait, shown_peer = (np.array([one[key] for one in shown], dtype=np.int64) for key in range(3))
    rows = np.concatenate([np.arange(count), at])
    arrival = np.concatenate([start, start[at] + wait])
    owner = np.concatenate([found.owner, np.full(len(at), -1)])
    peer = np.concatenate([np.full(count, -1), shown_peer])
    number = np.where(found.number >= 0, found.number, -1 - np.arange(count))[rows]
    groups = Groups([number, reference[found.owner[rows]] if count else rows], len(rows))
    last = np.lexsort((arrival, groups.of_row))[np.cumsum(groups.count()) - 1]
    last = last[groups.of_row[:count]]
    is_alone = groups.count()[groups.of_row[:count]] == 1
    later = np.where(is_alone, NULL_INT, np.maximum(arrival[last] - start, 0))
    return later, owner[last], peer[last]


def split_of_rows(ops: Table, packets: Optional[Table], waits: Waits) -> dict[str, IntArray]:
    """PARTS of each operator, ns; they sum to elapse_ns. ops: comm_ops of a rank.

    The time before the first transfer is that in the trace of the rank, else the recorded synchronisation; what exceeds the
    wait for the late rank is `before_transfer`. `rest` holds what nothing explains, also if the wait is unknown.
    """
    times = time_parts(ops)
    elapse = times["elapse_ns"]
    certain = known(elapse)
    left = np.where(certain, elapse, 0)
    out: dict[str, IntArray] = {}
    until = np.where(known(waits.until_transfer), waits.until_transfer, times["sync_ns"])
    before = np.where(known(until), until - np.maximum(waits.time, 0), NULL_INT)
    for key, values in (("waiting", waits.time), ("before_transfer", before), ("transfer", times["transit_ns"])):
        part = np.where(known(values) & certain, np.clip(values, 0, left), NULL_INT)
        left = left - np.where(known(part), part, 0)
        out[key] = part
    share, of = _small_times(ops, packets)
    transfer = out["transfer"]
    is_split = known(transfer) & (of > 0)
    small = np.where(is_split, _share_of(transfer, share, of), NULL_INT)
    out["transfer"] = np.where(is_split, transfer - np.where(is_split, small, 0), transfer)
    out["small_packets"] = small
    out["rest"] = np.where(certain, left, NULL_INT)
    return {key: out[key] for key in PARTS}


def _share_of(values: IntArray, part: IntArray, whole: IntArray) -> IntArray:
    """values * part / whole, rounded; 0 where `whole` is 0."""
    return np.rint(np.maximum(values, 0) * (part / np.maximum(whole, 1))).astype(np.int64)


def is_small(packets: Table) -> IntArray:
    """1 for packets below the size that uses the bandwidth of their transport."""
    least = np.where(packets.text("transport").equals(RDMA), LEAST_RDMA_BYTES, LEAST_SDMA_BYTES)
    return np.asarray(packets.ints("packet_bytes") < least, dtype=np.int64)


def _small_times(ops: Table, packets: Optional[Table]) -> tuple[IntArray, IntArray]:
    """For each operator: time of its small packets, and of all of its packets, summed over its links."""
    small, whole = (np.zeros(len(ops), dtype=np.int64) for _ in range(2))
    if packets is None or not len(packets):
        return small, whole
    packets = packets.take(known(packets.ints("packet_bytes")) & known(packets.ints("time_ns")))
    keys = ("step", "kind", "name", "group")
    groups = Groups([packets.text(key) for key in keys], len(packets))
    times = packets.ints("time_ns")
    sums = np.maximum(groups.sum(times * is_small(packets)), 0), np.maximum(groups.sum(times), 0)
    places = zip(*(packets.text(key).take(groups.first).tolist() for key in keys))
    index = {place: group for group, place in enumerate(places)}
    for row, place in enumerate(zip(*(ops.text(key).tolist() for key in keys))):
        if (group := index.get(place)) is not None:
            small[row], whole[row] = sums[0][group], sums[1][group]
    return small, whole
