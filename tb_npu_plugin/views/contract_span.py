"""JSON of the views of one span: overview, kernel, operator, memory, trace."""

from __future__ import annotations

from typing import Any, Literal, Optional, TypedDict

from tb_npu_plugin.messages import MessageJson
from tb_npu_plugin.views.contract_steps import StepTimesJson


class StepJson(TypedDict):
    """A step on a device, in ns: computing + communication_not_overlapped + copying + free = stage + bubble (within the
    rounding of files). `copying`: only copies run; null where copies are not told. exposed_preparing: the part of
    preparing in which no other step runs, before this one; null where that is not known."""

    step: Optional[str]
    device_id: Optional[int]
    computing: Optional[int]
    communication_not_overlapped: Optional[int]
    overlapped: Optional[int]
    communication: Optional[int]
    copying: Optional[int]
    free: Optional[int]
    stage: Optional[int]
    bubble: Optional[int]
    preparing: Optional[int]
    exposed_preparing: Optional[int]


class DatabaseJson(TypedDict):
    """What was taken from a database. `tables`: titles of what it filled, text files being read first."""

    file: str
    tables: list[str]


class DynamicWindowJson(TypedDict):
    """Steps of the training that dynamic profiling was asked for, from the name of a folder. The steps of the capture
    are the profiler's marks, which count for themselves."""

    start: int
    stop: Optional[int]


class CaptureJson(TypedDict):
    """How the span was recorded. `producer`: which profiler wrote it. `versions`: by program, those that are known.
    `device_kind`: "NPU", "GPU", or "" where no device was recorded. `utc_offset_minutes`: of the
    clock that times of day are shown by, the recorder's where it is known, else 0. `ranks_profiled` counts this span's rank only: /api/ranks has those of the run."""

    producer: str
    texts: dict[str, MessageJson]
    device: Optional[str]
    device_ids: list[int]
    device_kind: str
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
    window: Optional[DynamicWindowJson]
    jit_level: Optional[str]
    versions: dict[str, str]
    start_ns: Optional[str]
    utc_offset_minutes: int
    duration_ns: Optional[int]
    host: Optional[str]
    pid: Optional[int]
    simulated: bool
    environment: dict[str, str]
    metadata: dict[str, Any]
    files: list[str]
    databases: list[DatabaseJson]


class RankStepJson(TypedDict):
    """Step budgets of one rank, for the small table of the overview. `course`: where points of the steps were recorded
    instead, the mean step of StepTraceJson. `pipeline_stage`: from 1; null where nothing tells, or it is not read."""

    span: str
    worker: str
    rank: Optional[int]
    pipeline_stage: Optional[int]
    state: Literal["ready", "reading", "failed", "missing"]
    steps: list[StepJson]
    course: Optional[StepTimesJson]


class OverviewJson(TypedDict):
    """tables: "kernels" (top 10 by type and core, or by name and core where no type is known; communication apart),
    "operators" (top 10 by device self time, by host self time where nothing ran on a device). `steps_source`: the file
    that the steps come from; with kernel_details.csv they are computed, and bubble and preparing are unknown."""

    steps: list[StepJson]
    steps_source: Optional[str]
    steps_computed: bool  # from the kernels (see analysis.steps.from_kernels): the result has no budgets of steps
    course: Optional[StepTimesJson]  # the mean step, where only points of the steps were recorded
    course_steps: int  # the number of steps that it is the mean of
    capture: CaptureJson


class CoreShareJson(TypedDict):
    """Device time by accelerator core. `communication`: the HCCL / COMMUNICATION rows."""

    core: Optional[str]
    calls: int
    total_ns: int
    communication: bool


class KernelJson(TypedDict):
    """tables: "statistic" (name, core, calls, total_ns, min_ns, max_ns, avg_ns, share, communication), "types" (type,
    core, calls, total_ns, min_ns, avg_ns, max_ns, ratio; op_statistic.csv while no step is chosen), "all" (every
    column of kernel_details.csv). Where the recorder only summed up (MindSpore up to 2.2): "statistic" (columns of
    op_totals), where that is known, "types", and "all" where single tasks are known. params: step ("null": the kernels
    of no step). communication_*: None where no single task is known (sums leave communication out). `source`: file of the
    kernels; `device_kind`: "NPU" or "GPU"."""

    steps: list[Optional[str]]
    cores: list[CoreShareJson]
    kernels: int
    computing_ns: int
    communication_calls: Optional[int]
    communication_ns: Optional[int]
    source: str
    types_source: str
    device_kind: str


class OperatorJson(TypedDict):
    """tables: "by_name", "by_shape" (name, [input_shapes,] calls, device_self_ns, device_total_ns, host_self_ns,
    host_total_ns, aicore_self_share, aicore_total_share, communication, stacks, incomplete).
    "api_statistic" where it was recorded: columns of the file; alone where no operators are known.
    /api/table/operator.stacks?name=..[&input_shapes=.. ("null": calls without shapes)]: call_stack (frames innermost first, one a line), calls,
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
    /api/table/memory.allocations?live_at=<ns after base_ns>: what is held at that moment.
    `module_curves`: only modules that ever held memory; the table "modules" has all."""

    devices: list[str]
    curves: list[CurveJson]
    module_curves: list[CurveJson]
    peaks: list[MemoryPeakJson]
    range_ns: Optional[list[int]]  # first and last time of all records, after base_ns
    size_range: Optional[list[int]]  # smallest and largest allocation, bytes
    fragmentation_at_peak: Optional[float]


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


class TraceStepJson(TypedDict):
    """A step as the training loop marks it on the host (ProfilerStep#): number, start and end."""

    step: str
    start: int
    end: int


class TraceJson(TypedDict):
    """The timeline's rows; slices come from /api/timeline. times: ns after base_ns (int, < 2^53). `version`: which
    reading this is; while the trace is read there is one after the other of its beginning, each longer. `partial`:
    bytes of the file that it shows, null: all. `zero`: the moment that all views of the span count from (ns after this
    view's base_ns), from which times are shown to people here, too."""

    version: str
    partial: Optional[int]
    zero: int
    utc_offset_minutes: int  # see CaptureJson
    processes: list[ProcessJson]
    start: int
    end: int
    # From the first slice to the end of the last; null without slices. Counters may run longer.
    slices_start: Optional[int]
    slices_end: Optional[int]
    steps: list[TraceStepJson]
    events: int
    slices: int
    flow_kinds: list[str]
    scanner: str
    source: str
