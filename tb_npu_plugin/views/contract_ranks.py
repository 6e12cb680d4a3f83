"""JSON of the views of several spans: distributed, diff."""

from __future__ import annotations

from typing import Literal, Optional, TypedDict

from tb_npu_plugin.analysis.ranks.cluster_rules import Rule
from tb_npu_plugin.messages import MessageJson


class RankBudgetJson(TypedDict):
    """One rank and step: budget of the step and split of the communication time, all ns.
    transit + wait (without synchronization) + synchronization + idle = elapse, but for the `incomplete` operators that
    lack one of these times in the file: the sums skip it. late: the longest that all others of a group waited for this rank
    at one collective; null where the others are not known or names do not tell the collectives apart.
    idle_at_once: the longest time for which nothing ran on the device, before its first kernel of the capture included; null
    where no rank idles for a tenth of the longest step, or it is not known. longest_communication: the longest
    operator. same_kernels, same_kernels_expected: what the kernels took that other ranks ran, too, and what they take
    on the median of those ranks; null where ranks can be compared by all they compute (see analysis/kernels/same_kernels.py).
    device_id: null where the span has one device. repeats: how often a capture without steps repeats its work; null where
    there are steps, or that cannot be told. idle_at_once and longest_communication are then those that come back in half
    of the repeats, unless one alone is a tenth of the capture."""

    span: str
    worker: str
    rank: Optional[int]
    device_id: Optional[int]
    step: Optional[str]
    computing: Optional[int]
    overlapped: Optional[int]
    communication_not_overlapped: Optional[int]
    copying: Optional[int]
    free: Optional[int]
    stage: Optional[int]
    bubble: Optional[int]
    preparing: Optional[int]
    exposed_preparing: Optional[int]
    elapse: Optional[int]
    transit: Optional[int]
    wait: Optional[int]
    synchronization: Optional[int]
    idle: Optional[int]
    incomplete: int
    repeats: Optional[int]
    late: Optional[int]
    idle_at_once: Optional[int]
    longest_communication: Optional[int]
    same_kernels: Optional[int]
    same_kernels_expected: Optional[int]


class LinkJson(TypedDict):
    """Traffic of one link, operator type and step (stat "total"). `src`, `dst`: ranks inside the group; `src_rank`,
    `dst_rank`: in the world, null where no file tells. Links of a rank to itself have transport LOCAL. `calls`: operators that moved it; null
    where they are not known."""

    rank: Optional[int]
    step: Optional[str]
    group: Optional[str]
    op_type: Optional[str]
    src: int
    dst: int
    src_rank: Optional[int]
    dst_rank: Optional[int]
    transport: Optional[str]
    size_bytes: Optional[int]
    time_ns: Optional[int]
    bandwidth: Optional[float]
    calls: Optional[int]


class LatePeerJson(TypedDict):
    """A rank that was not recorded and comes last at a collective: for how long a recorded rank waits for it there at once, ns;
    it may itself wait for ranks of other groups. `peer`: inside the group; `peer_rank`: in the world, null where no file tells."""

    rank: Optional[int]
    step: Optional[str]
    group: Optional[str]
    operator: str
    wait: int
    peer: int
    peer_rank: Optional[int]


class RankStateJson(TypedDict):
    """Whether a rank of the run is read. `pipeline_stage`: from 1; null where nothing tells, or it is not read."""

    span: str
    worker: str
    rank: Optional[int]
    pipeline_stage: Optional[int]
    state: Literal["ready", "reading", "failed", "missing"]
    reason: str
    texts: dict[str, MessageJson]


class FindingJson(TypedDict):
    """What a rule of MindInsight says of the ranks; see analysis.cluster_rules.Finding. `basis`: of our means, or of
    the averages in the files. `value`, `mean`, `median`: ns (step_interval), 1e9 bytes a second (link), 1e9
    floating-point operations a second (flops_per_second), million of them (stage_flops), else a ratio."""

    basis: Literal["mean", "recorded"]
    rule: Rule
    fires: bool
    share: float
    limit: float
    rank: Optional[int]
    stage: Optional[int]
    src: Optional[int]
    dst: Optional[int]
    transport: Optional[str]
    value: Optional[float]
    mean: Optional[float]
    peers: int
    median: Optional[float]
    outlier: Optional[bool]
    gain_ns: Optional[int]


class ClusterJson(TypedDict):
    """Course of the steps of all ranks, of results that record it (MindSpore up to 2.2). `stages`: of the pipeline.
    `complete`: no rank of the job is missing."""

    mode: Optional[str]
    stages: Optional[int]
    complete: bool
    findings: list[FindingJson]


class DistributedJson(TypedDict):
    """tables: "ops" (rank, step, kind, name, group, calls, size_bytes, avg_size_bytes, elapse_ns, avg_elapse_ns,
    transit_ns, avg_transit_ns, wait_ns (without sync_ns), sync_ns, idle_ns, bandwidth, incomplete), "transports" (rank,
    step, transport, size_bytes, time_ns, bandwidth, large_packet_ratio), where links were sampled "link_use" (rank, link, port,
    way, packets, average, peak, speed, use, errors, dropped), where `cluster` is known "trajectory" (rank, stage,
    basis "mean", "recorded" or "step", step, count, interval_ns, fp_bp_ns, tail_ns, total_ns, computation_ns,
    communication_alone_ns, stage_ns, receive_alone_ns, collective_alone_ns, flops, flops_rate, utilisation, peak_bytes,
    capacity_bytes). `ranks`: the spans that were read, and the
    others with the reason. `world_size` from the links when no metadata tells. `late_peers`: of the ranks whose whole trace is read already."""

    ranks: list[RankStateJson]
    steps: list[Optional[str]]
    budgets: list[RankBudgetJson]
    groups: list[str]
    links: list[LinkJson]
    op_types: list[str]
    world_size: Optional[int]
    late_peers: list[LatePeerJson]
    cluster: Optional[ClusterJson]


class DiffSideJson(TypedDict):
    """One side of the comparison. `step_count`: steps with a name; each counts once on several devices."""

    span: str
    run: str
    worker: str
    label: str
    rank: Optional[int]
    step_count: int


class DiffClassJson(TypedDict):
    """One class of a step's time (ids: analysis/kernels/classes.py CLASSES), in a fixed order. Every moment counts once:
    communication only where nothing computes, "idle" is the free time and has no calls. "computing": what no kernel
    explains. Difference: experimental minus baseline; and its running sum."""

    id: str
    baseline_calls: float
    experimental_calls: float
    baseline_ns: int
    experimental_ns: int
    difference_ns: int
    running_ns: int


class DiffStepJson(TypedDict):
    """One pair of steps (the n-th step of each side; id: the baseline's), or without names "mean", the mean step of each
    side, or "*", the whole captures. `baseline_ns`, `experimental_ns`: time of the step on the device, to which the classes
    sum exactly; null where a part is unknown, and there is no class "idle" then. On several devices: their mean. `X_count`:
    number of steps of a side; the mean step leaves out an incomplete last one (see analysis.steps.averaged)."""

    id: str
    baseline_step: Optional[str]
    experimental_step: Optional[str]
    baseline_count: int
    experimental_count: int
    baseline_ns: Optional[int]
    experimental_ns: Optional[int]
    classes: list[DiffClassJson]


class DiffJson(TypedDict):
    """tables: "operators" (name, baseline_calls, experimental_calls, and for each of device_self,
    device_total, host_self, host_total: baseline_X_ns, experimental_X_ns, difference_X_ns, ratio_X, changed_X),
    "kernels" (class, name, type, core, baseline_calls, experimental_calls, baseline_ns, experimental_ns, difference_ns,
    ratio, changed). ratio = difference / baseline. changed: "slower" or "faster" by 5 % of the baseline at least, or on one
    side only. All figures are of a step: means where several are compared; "operators" know no step and are always
    means of all. Results of different frameworks share the types of their kernels only: then there is no table
    "operators", and kernels are named by their type. params: step (an id of `steps`). `shown`: the id that the tables are of;
    unless asked for, the first."""

    baseline: DiffSideJson
    experimental: DiffSideJson
    shown: str
    steps: list[DiffStepJson]
