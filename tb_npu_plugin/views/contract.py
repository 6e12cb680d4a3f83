"""JSON contracts of the seven views. Times and durations are integer ns ("time": after `base_ns`), sizes bytes,
unknown is null. frontend/src/api/types.gen.ts is generated from this file (tools/gen_types.py)."""

from __future__ import annotations

from typing import Any, Literal, Optional, TypedDict

from tb_npu_plugin.views.base import MissingJson, ProblemJson, ProgressJson, TableJson


# -- catalog ------------------------------------------------------------------------------------
class ViewStateJson(TypedDict):
    """Whether a view can be shown for a span, and why not. `count` is the number beside its name."""

    id: str
    available: bool
    reason: str
    option: str
    count: Optional[int]


class SpanJson(TypedDict):
    """One capture in time. `fingerprint` changes when its files change."""

    id: str
    label: str
    start_ns: Optional[str]
    bytes: int
    fingerprint: str
    state: Literal["new", "reading", "partial", "ready", "failed"]
    problems: int
    views: list[ViewStateJson]
    has_trace: bool


class WorkerJson(TypedDict):
    """One process or rank."""

    id: str
    label: str
    rank: Optional[int]
    rank_source: str
    host: Optional[str]
    pid: Optional[int]
    spans: list[SpanJson]


class RunJson(TypedDict):
    """The folder that holds captures, relative to its logdir."""

    id: str
    label: str
    workers: list[WorkerJson]


class SkippedJson(TypedDict):
    """A folder that looked like a result and was not taken."""

    path: str
    reason: str
    action: str


class CatalogJson(TypedDict):
    """Answer of /api/catalog. `generation` grows when anything changed; `scanning` while a scan runs."""

    generation: int
    scanning: bool
    logdir: str
    runs: list[RunJson]
    skipped: list[SkippedJson]
    version: str


class ViewJson(TypedDict):
    """Answer of /api/view/<id>. `data` is the view's own contract below when state is "ready", else null."""

    view: str
    state: Literal["ready", "reading", "missing", "failed"]
    fingerprint: str
    base_ns: str
    data: Optional[dict[str, Any]]
    tables: dict[str, TableJson]
    problems: list[ProblemJson]
    missing: list[MissingJson]
    progress: list[ProgressJson]


class ErrorJson(TypedDict):
    """Body of every answer with a status of 400 or more."""

    code: str
    message: str
    hint: str


# -- overview -----------------------------------------------------------------------------------
class StepJson(TypedDict):
    """One row of step_trace_time.csv, in ns."""

    step: Optional[str]
    device_id: Optional[int]
    computing: Optional[int]
    communication_not_overlapped: Optional[int]
    overlapped: Optional[int]
    communication: Optional[int]
    free: Optional[int]
    stage: Optional[int]
    bubble: Optional[int]
    preparing: Optional[int]


class CaptureJson(TypedDict):
    """How the span was recorded."""

    device: Optional[str]
    device_ids: list[int]
    rank: Optional[int]
    rank_source: str
    world_size: Optional[int]
    ranks_profiled: int
    level: Optional[str]
    aic_metrics: Optional[str]
    activities: Optional[list[str]]
    recorded: list[str]
    not_recorded: list[str]
    schedule: Optional[dict[str, int]]
    torch_npu_version: Optional[str]
    cann_version: Optional[str]
    start_ns: Optional[str]
    duration_ns: Optional[int]
    host: Optional[str]
    pid: Optional[int]
    simulated: bool
    environment: dict[str, str]
    metadata: dict[str, Any]
    files: list[str]


class RankStepJson(TypedDict):
    """Step budget of one rank: the first step that all have, for the small table of the overview."""

    span: str
    worker: str
    rank: Optional[int]
    state: Literal["ready", "reading", "failed", "missing"]
    steps: list[StepJson]


class OverviewJson(TypedDict):
    """tables: "kernels" (top by type and core), "operators" (top by device self time)."""

    steps: list[StepJson]
    steps_source: Optional[str]
    capture: CaptureJson


# -- kernel -------------------------------------------------------------------------------------
class CoreShareJson(TypedDict):
    """Device time by accelerator core. `communication`: the HCCL / COMMUNICATION rows."""

    core: Optional[str]
    calls: int
    total_ns: int
    communication: bool


class KernelJson(TypedDict):
    """tables: "statistic" (name, core, calls, total_ns, min_ns, max_ns, avg_ns, share), "types" (type, core, ...;
    op_statistic.csv), "all" (every column of kernel_details.csv). params: step."""

    steps: list[Optional[str]]
    cores: list[CoreShareJson]
    kernels: int
    computing_ns: int
    communication_calls: int
    communication_ns: int
    types_source: str


# -- operator -----------------------------------------------------------------------------------
class OperatorJson(TypedDict):
    """tables: "by_name", "by_shape" (name, [input_shapes,] calls, device_self_ns, device_total_ns, host_self_ns,
    host_total_ns, aicore_self_share, aicore_total_share, communication, stacks).
    /api/table/operator.stacks?name=..[&input_shapes=..]: call_stack (frames innermost first, one a line), calls,
    device_self_ns, device_total_ns, host_self_ns, host_total_ns."""

    calls: int
    source: str  # "operator_details.csv" or "trace_view.json"
    device_self_ns: Optional[int]
    device_total_ns: Optional[int]
    host_self_ns: Optional[int]
    host_total_ns: Optional[int]
    communication_self_ns: Optional[int]
    has_stacks: bool
    has_shapes: bool


# -- memory -------------------------------------------------------------------------------------
class CurveJson(TypedDict):
    """One component on one device over time. Step curve: a value holds until the next point.
    `points` of the file, of which `len(time)` are given (extremes kept). time: ns after base_ns."""

    component: str
    device: Optional[str]
    points: int
    time: list[int]
    allocated: list[Optional[int]]
    reserved: list[Optional[int]]
    active: list[Optional[int]]


class MemoryPeakJson(TypedDict):
    """Largest value of a component and the first moment it was reached."""

    component: str
    device: Optional[str]
    allocated_bytes: Optional[int]
    allocated_at: Optional[int]
    reserved_bytes: Optional[int]
    reserved_at: Optional[int]
    active_bytes: Optional[int]
    active_at: Optional[int]


class MemoryJson(TypedDict):
    """params: device, t0, t1 (ns after base_ns: curves of that range with full detail), points (default 2000).
    tables: "allocations" (columns of op_memory), "modules" (component, device, peak_bytes, peak_at, last_bytes).
    /api/table/memory.allocations?live_at=<ns after base_ns>: what is held at that moment."""

    devices: list[str]
    curves: list[CurveJson]
    module_curves: list[CurveJson]
    peaks: list[MemoryPeakJson]
    range_ns: Optional[list[int]]  # first and last time of all records, after base_ns
    size_range: Optional[list[int]]  # smallest and largest allocation, bytes
    fragmentation_at_peak: Optional[float]


# -- distributed --------------------------------------------------------------------------------
class RankBudgetJson(TypedDict):
    """One rank and step: budget of the step and split of the communication time, all ns.
    transit + wait (without synchronization) + synchronization + idle = elapse."""

    span: str
    worker: str
    rank: Optional[int]
    step: Optional[str]
    computing: Optional[int]
    overlapped: Optional[int]
    communication_not_overlapped: Optional[int]
    free: Optional[int]
    stage: Optional[int]
    bubble: Optional[int]
    preparing: Optional[int]
    elapse: Optional[int]
    transit: Optional[int]
    wait: Optional[int]
    synchronization: Optional[int]
    idle: Optional[int]


class LinkJson(TypedDict):
    """Traffic of one link in one step, summed over operator types (stat "total")."""

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


class RankStateJson(TypedDict):
    """Whether a rank of the run is read."""

    span: str
    worker: str
    rank: Optional[int]
    state: Literal["ready", "reading", "failed", "missing"]
    reason: str


class DistributedJson(TypedDict):
    """tables: "ops" (rank, step, kind, name, group, calls, size_bytes, elapse_ns, avg_elapse_ns, transit_ns,
    avg_transit_ns, wait_ns, sync_ns, idle_ns, bandwidth), "transports" (rank, step, transport, size_bytes, time_ns,
    bandwidth, large_packet_ratio). `world_size` from the links when no metadata tells."""

    ranks: list[RankStateJson]
    steps: list[Optional[str]]
    budgets: list[RankBudgetJson]
    groups: list[str]
    links: list[LinkJson]
    op_types: list[str]
    world_size: Optional[int]


# -- diff ---------------------------------------------------------------------------------------
class DiffSideJson(TypedDict):
    """One side of the comparison."""

    span: str
    run: str
    worker: str
    label: str
    rank: Optional[int]
    steps: list[StepJson]
    kernels: int
    device_ns: Optional[int]


class DiffClassJson(TypedDict):
    """One operator class. `calls` and times of both sides, difference experimental minus baseline, running sum."""

    id: str
    baseline_calls: int
    experimental_calls: int
    baseline_ns: int
    experimental_ns: int
    difference_ns: int
    running_ns: int


class DiffStepJson(TypedDict):
    """Classes of one pair of steps (the n-th step of each side); step null: the whole span."""

    baseline_step: Optional[str]
    experimental_step: Optional[str]
    classes: list[DiffClassJson]


class DiffJson(TypedDict):
    """params: step. tables: "operators" (name, baseline_calls, experimental_calls, and for each of device_self,
    device_total, host_self, host_total: baseline_X_ns, experimental_X_ns, difference_X_ns, ratio_X),
    "kernels" (class, name, type, core, calls, baseline_ns, experimental_ns, difference_ns, ratio)."""

    baseline: DiffSideJson
    experimental: DiffSideJson
    steps: list[DiffStepJson]


# -- trace --------------------------------------------------------------------------------------
class ThreadJson(TypedDict):
    """One row group of the timeline. `rows`: depth; a counter has one row and its series. `track`: id in requests."""

    track: int
    name: str
    tid: str
    kind: Literal["slices", "counter"]
    rows: int
    slices: int
    unit: str
    max_value: Optional[float]


class ProcessJson(TypedDict):
    """One process of the timeline, threads in order."""

    name: str
    pid: str
    label: str
    threads: list[ThreadJson]


class TraceJson(TypedDict):
    """The timeline's rows; slices come from /api/timeline. times: ns after base_ns (int, < 2^53)."""

    processes: list[ProcessJson]
    start: int
    end: int
    events: int
    slices: int
    flow_kinds: list[str]
    scanner: str
    source: str


CONTRACTS: tuple[type, ...] = (
    CatalogJson, ViewJson, ErrorJson, OverviewJson, KernelJson, OperatorJson, MemoryJson, DistributedJson, DiffJson,
    TraceJson, RankStepJson,
)  # fmt: skip
