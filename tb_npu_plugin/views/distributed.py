"""Distributed: step budgets, communication operators, transports and links of all ranks of a run."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Optional, TypedDict

import numpy as np

from tb_npu_plugin.analysis.communication import statistics as analysis
from tb_npu_plugin.analysis.communication.links import COLUMNS as LINK_USE_COLUMNS
from tb_npu_plugin.analysis.communication.links import link_use
from tb_npu_plugin.analysis.grouping import concat
from tb_npu_plugin.analysis.ranks.cluster_figures import NEEDS as CLUSTER_NEEDS
from tb_npu_plugin.analysis.ranks.world import pipeline_stage
from tb_npu_plugin.analysis.run.arrivals import CollectiveArrivals, RankClock, arrivals_of, clocks_of
from tb_npu_plugin.analysis.run.budgets import RankBudget, budgets_in, budgets_of_ranks, of_operators
from tb_npu_plugin.analysis.run.communication import RunCommunication
from tb_npu_plugin.analysis.run.experts import expert_times
from tb_npu_plugin.analysis.run.late_peers import LatePeer, late_peers
from tb_npu_plugin.analysis.run.step_waits import LineWaits, step_waits_of, table_of_waits
from tb_npu_plugin.messages import Message, MessageJson, Period, messages_of
from tb_npu_plugin.model import SpanData
from tb_npu_plugin.schema.columns import columns_of
from tb_npu_plugin.schema.link_files import LINK_TABLES
from tb_npu_plugin.schema.registry import TABLES, file_of
from tb_npu_plugin.tables import empty, from_lists
from tb_npu_plugin.texts import natural_key
from tb_npu_plugin.views.base import Param, ReadState, View, ViewInput, ViewResult, ViewTable
from tb_npu_plugin.views.cluster import ClusterJson, cluster
from tb_npu_plugin.views.steps import period_of, sent_steps
from tb_npu_plugin.views.time_range import WITHIN, check_no_range, time_range


class GroupJson(TypedDict):
    """A communication group."""

    group: str
    """As in the files, often a hash."""
    role: str
    """Role in the job, such as "tp"; "" if not recorded."""
    ranks: list[Optional[int]]
    """Its ranks in the job, by their number in the group; [] if not recorded."""


class RankStateJson(TypedDict):
    """Reading state of a rank of the run."""

    span: str
    """Token of the span."""
    worker: str
    """Name of the worker."""
    rank: Optional[int]
    """Rank in the job."""
    pipeline_stage: Optional[int]
    """From 1; null if not recorded, or before the rank is read."""
    state: ReadState
    """"missing": it has no file of this view."""
    reason: str
    """Reason why it is not shown; else ""."""
    texts: dict[str, MessageJson]
    """Code and parameters of `reason`."""


class DistributedJson(TypedDict):
    """Steps and communication of all ranks of a run.

    Tables: "ops" (rank, step, kind, name, group, calls, size_bytes, avg_size_bytes, elapse_ns, avg_elapse_ns, transit_ns,
    avg_transit_ns, wait_ns (without sync_ns), waiting_ns, latest_rank, sync_ns, idle_ns, bandwidth, incomplete), "transports" (rank, step, transport,
    size_bytes, time_ns, bandwidth, large_packet_ratio); "link_use" where links were sampled (rank, link, port, way, packets,
    average, peak, speed, use, errors, dropped); "experts" where ranks ran the same matrix products of experts (rank, call, kernel, time_ns, ratio); "waits" (rank, step, name, group, start_ns, exposed_ns, late, in_mean: the operators
    that wait while nothing computes, but for a range); "trajectory" where `cluster` is known (views.cluster.COLUMNS).
    Parameter `within`: only the communication operators that overlap a time range by the clock of their rank, each as a whole.
    Then `budgets` has one entry per rank and device, with the parts of the range; links, "link_use" and `late_peers`, which are
    of whole steps or captures, are left out.
    """

    ranks: list[RankStateJson]
    """Ranks that are read, then the others with a reason."""
    steps: list[Optional[str]]
    """Steps of `budgets` and `links`; null: ranks without marked steps. Empty for a time range."""
    step_count: int
    """Steps of all ranks. Of more than MOST_BUDGETS budgets, those of the first steps and of the parameter `step` are sent."""
    period: Period
    """What the steps of the first rank are; "capture" without marks."""
    budgets: list[RankBudget]
    """One for each rank, device and step of `steps`."""
    groups: list[GroupJson]
    """Communication groups."""
    links: list[analysis.Link]
    """Traffic matrix."""
    op_types: list[str]
    """Operator types of `links`."""
    world_size: Optional[int]
    """Ranks of the job; from the links if no metadata has it."""
    late_peers: list[LatePeer]
    """Only from ranks whose trace is read."""
    arrivals: list[CollectiveArrivals]
    """Arrivals at the collectives with the longest waits, at most 64."""
    clocks: list[RankClock]
    """Clocks of ranks that run two collectives or more together."""
    cluster: Optional[ClusterJson]
    """Only set for results of MindSpore up to 2.2."""


_EXPERTS = columns_of("experts")
#: Budgets that are sent at most.
MOST_BUDGETS = 2000
NEEDS = ("step_trace", "comm_ops", "comm_bandwidth", "comm_links", "kernels", *CLUSTER_NEEDS)


def build(source: ViewInput) -> ViewResult:
    """See DistributedJson."""
    run = RunCommunication(source.spans)
    spans = run.spans
    range_ns = time_range(source.params)
    waits = step_waits_of(run) if range_ns is None else []
    budgets = budgets_of_ranks(run, waits) if range_ns is None else budgets_in(run, *range_ns)
    links = [link for span in spans if range_ns is None for link in analysis.links(span, run.ranks)]
    all_steps = {one.step for one in budgets if range_ns is None} | {link.step for link in links}
    steps = names = sorted(all_steps, key=lambda step: (step is None, natural_key(step or "")))
    if len(budgets) > MOST_BUDGETS and names and not source.params.get("all"):
        most = max(1, MOST_BUDGETS * len(names) // len(budgets))
        sent = sent_steps(names, source.params.get("step"), most)
        steps = [name for name in names if name in sent]
        budgets = [one for one in budgets if one.step in sent]
        links = [link for link in links if link.step in sent]
    found, more = cluster(spans)
    if found is not None:
        check_no_range(source.params)
    data: DistributedJson = {
        "ranks": [_state(span) for span in spans],
        "steps": steps,
        "step_count": len(names),
        "period": period_of(spans[0], steps) if spans else "capture",
        "budgets": budgets,
        "groups": _groups(run),
        "links": links,
        "op_types": sorted({link.op_type for link in links if link.op_type is not None}),
        "world_size": run.world_size,
        "late_peers": late_peers(run) if range_ns is None else [],
        "arrivals": arrivals_of(run, range_ns),
        "clocks": clocks_of(run),
        "cluster": found,
    }
    return ViewResult(data, {**_tables(run, range_ns, waits), **more}, min((span.base_ns for span in spans), default=0))


def _state(span: SpanData) -> RankStateJson:
    has_some = any(span.rows(table) is not None for table in NEEDS)
    files = ", ".join(dict.fromkeys(file_of(table, span.format).name for table in NEEDS))
    reason = "" if has_some else Message("reason.no_files", files=files)
    return {
        "span": span.token,
        "worker": span.worker_label,
        "rank": span.capture.rank,
        "pipeline_stage": pipeline_stage(span.capture),
        "state": "ready" if has_some else "missing",
        "reason": reason,
        "texts": messages_of({"reason": reason}),
    }


def _groups(run: RunCommunication) -> list[GroupJson]:
    found: set[str | None] = set()
    for span in run.spans:
        for name in ("comm_ops", "comm_links"):
            table = span.table(name)
            found.update(set(table.text("group").tolist()) if table is not None else ())
    names = sorted(group for group in found if group is not None)
    return [{"group": name, "role": run.ranks.role(name), "ranks": run.ranks.members(name)} for name in names]


def _tables(
    run: RunCommunication, range_ns: Optional[tuple[int, int]], waits: Sequence[LineWaits]
) -> dict[str, ViewTable]:
    ops, transports = [], []
    for at, line in enumerate(run.lines):
        bandwidth, rank = line.span.table("comm_bandwidth"), line.span.capture.rank
        if line.comm_ops is None:
            continue
        rows = np.arange(len(line.comm_ops)) if range_ns is None else run.rows_in(at, *range_ns)
        times, latest = run.waits[at].time[rows], run.names_of_last(at)
        own = line.comm_ops.take(rows)
        ops.append(analysis.operators(own, bandwidth, rank, times, [latest[row] for row in rows.tolist()]))
        if range_ns is not None and bandwidth is not None:
            transports.append(analysis.transports(of_operators(bandwidth, own), rank))
    if range_ns is None:
        found = [(span.table("comm_bandwidth"), span.capture.rank) for span in run.spans]
        transports = [analysis.transports(table, rank) for table, rank in found if table is not None]
    return {
        "ops": ViewTable(concat(analysis.OPS_COLUMNS, ops), "elapse_ns"),
        "transports": ViewTable(concat(analysis.TRANSPORT_COLUMNS, transports), "size_bytes"),
        **(_link_use(run.spans) if range_ns is None else {}),
        **(_experts(run) if range_ns is None else {}),
        **({} if range_ns is not None else {"waits": ViewTable(table_of_waits(run, waits), "exposed_ns")}),
    }


def _link_use(spans: Sequence[SpanData]) -> dict[str, ViewTable]:
    """No table if no rank was sampled."""
    found = [link_use({name: span.table(name) for name in LINK_TABLES}, span.capture.rank) for span in spans]
    known = [table for table in found if table is not None]
    return {"link_use": ViewTable(concat(LINK_USE_COLUMNS, known))} if known else {}


def _experts(run: RunCommunication) -> dict[str, ViewTable]:
    """Times of the matrix products of experts by call; no table if ranks cannot be compared."""
    kernels = [line.kernels() for line in run.lines]
    stages = [pipeline_stage(line.span.capture) for line in run.lines]
    lists: dict[str, list[Any]] = {column.key: [] for column in _EXPERTS}
    for found in expert_times(kernels, stages):
        mean = found.time.mean(axis=0)
        for at, times in zip(found.ranks, found.time):
            for call, (kernel, time) in enumerate(zip(found.kernels, times.tolist())):
                row = (
                    run.lines[at].span.capture.rank,
                    call + 1,
                    kernel,
                    round(time),
                    time / mean[call] if mean[call] else None,
                )
                for column, value in zip(_EXPERTS, row):
                    lists[column.key].append(value)
    return {"experts": ViewTable(from_lists(_EXPERTS, lists), "ratio")} if lists["rank"] else {}


def _recorded(table: str, sort: str, desc: bool = True) -> Callable[[ViewInput], ViewTable]:
    """A table of one rank as its files have it: that of the parameter `of`."""

    def build_table(source: ViewInput) -> ViewTable:
        found = next((span.table(table) for span in source.spans if span.token == source.params.get("of", "")), None)
        return ViewTable(empty(TABLES[table]) if found is None else found, sort, desc)

    return build_table


VIEW = View(
    id="distributed",
    scope="run",
    needs=(NEEDS,),
    build=build,
    with_trace=True,
    contract=DistributedJson,
    params=(
        WITHIN,
        Param("of", doc='Tables "calls", "packets", "matrix": token of the rank\'s span.'),
        Param("step", doc="A step to send as well, whatever its number."),
        Param("all", choices=("", "1"), doc="1: all steps, whatever their number."),
    ),
    extra_tables={
        "calls": _recorded("comm_ops", "start_ns", desc=False),
        "packets": _recorded("comm_packets", "time_ns"),
        "matrix": _recorded("comm_links", "time_ns"),
    },
)
