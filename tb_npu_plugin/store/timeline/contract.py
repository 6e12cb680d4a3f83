"""JSON responses about slices (/api/timeline). Times are ns after `base_ns` of /api/view/trace, below 2^53."""

from __future__ import annotations

from typing import Any, Literal, Optional, TypedDict

from tb_npu_plugin.messages import MessageJson


class SliceJson(TypedDict):
    """Name, place and time of a slice."""

    id: int
    """Number of the slice in this version of the timeline."""
    name: str
    """Name."""
    track: int
    """Number of its track."""
    depth: int
    """Depth in its track; 0 is the outermost."""
    start: int
    """Start."""
    dur: int
    """Duration in ns."""
    process: str
    """Name of the process."""
    thread: str
    """Name of the thread."""


class KernelFactsJson(TypedDict):
    """The row of the kernel table that belongs to a device slice. Null: not recorded."""

    source: str
    """File of the table."""
    step: Optional[str]
    """Step number."""
    type: Optional[str]
    """Type of the operator."""
    core: Optional[str]
    """Accelerator core."""
    wait_ns: Optional[int]
    """Wait time before the kernel."""
    block_dim: Optional[int]
    """Number of cores."""
    mix_block_dim: Optional[int]
    """Number of cores of the other kind, for mixed kernels."""
    input_shapes: Optional[str]
    """As in the file."""
    input_types: Optional[str]
    """As in the file."""
    input_formats: Optional[str]
    """As in the file."""
    output_shapes: Optional[str]
    """As in the file."""
    output_types: Optional[str]
    """As in the file."""
    output_formats: Optional[str]
    """As in the file."""
    bound: Optional[str]
    """Unit that limits the kernel, from its counters."""


class ParentJson(TypedDict):
    """The slice around another one."""

    id: int
    """Number of the slice."""
    name: str
    """Name."""


class RelatedJson(TypedDict):
    """A slice of the trace that belongs to a derived slice."""

    role: str
    """What it is to the derived slice."""
    texts: dict[str, MessageJson]
    """Code and parameters of `role`."""
    slice: SliceJson
    """The slice."""


class DerivedFactsJson(TypedDict):
    """What is known of a derived slice beside its times."""

    lines: list[MessageJson]
    """Sentences."""
    related: list[RelatedJson]
    """Slices of the trace."""
    late_rank: Optional[int]
    """Rank in the job that the slice waits for; null if it waits for none, or for an unknown one."""
    view: str
    """View that has more about it; "" without one."""


class SliceDetailJson(SliceJson):
    """Answer to "slice"."""

    category: str
    """Category in the trace."""
    start_epoch_ns: str
    """Start, ns since the epoch."""
    self: int
    """Duration without nested slices."""
    parent: Optional[ParentJson]
    """The slice around it."""
    children: int
    """Number of slices directly inside it."""
    args: Optional[dict[str, Any]]
    """Arguments of the file; numbers that JavaScript would round are texts. Null: see `args_error`."""
    args_error: str
    """Why there are no `args`."""
    texts: dict[str, MessageJson]
    """Code and parameters of `args_error`."""
    stack: Optional[list[str]]
    """Call stack, innermost frame first."""
    previous: Optional[int]
    """Number of the slice before it in its row."""
    next: Optional[int]
    """Number of the slice after it in its row."""
    kernel: Optional[KernelFactsJson]
    """What the kernel table says about it."""
    derived: Optional[DerivedFactsJson]
    """For slices of derived rows."""


#: A flow from one slice to another; `kind` is one of TraceJson.flow_kinds. "from" is a keyword: no class statement.
FlowJson = TypedDict("FlowJson", {"kind": str, "from": SliceJson, "to": SliceJson})


class FlowsJson(TypedDict):
    """Answer to "flows"."""

    flows: list[FlowJson]
    """Flows that start or end at the slice."""


class ChainLinkJson(SliceJson):
    """A slice of a chain."""

    category: str
    """Category in the trace."""
    via: str
    """Kind of the flow to the next link; "" for a call."""


class ChainJson(TypedDict):
    """Answer to "chain": what caused a slice."""

    links: list[ChainLinkJson]
    """From the outermost caller to the slice itself."""
    forward: Optional[SliceJson]
    """Forward operator of a backward one."""
    backward: Optional[SliceJson]
    """Backward operator of a forward one."""


#: Slice, start, duration, track, depth, index in `names`, index in `parts`.
Hit = tuple[int, int, int, int, int, int, int]


#: State of the rows that a question is about. "stale": another version is read. "unread": nothing can be shown yet. "none": no such rows.
SourceState = Literal["ready", "stale", "unread", "none"]


#: What the slices of a track are: device tasks, collectives and their planes, calls of CANN, other events of the host, or the
#: analysis of overlap.
TrackKind = Literal["kernels", "communication", "host", "cann", "overlap"]


class KindHitsJson(TypedDict):
    """Hits of a search in the tracks of a kind."""

    kind: TrackKind
    """The kind."""
    total: int
    """Their number, over all sources."""


class SearchedJson(TypedDict):
    """A source of a search."""

    state: SourceState
    """Its state."""
    version: str
    """Version of its reading; empty unless ready."""
    total: Optional[int]
    """Number of its hits; null unless ready."""
    marks: list[int]
    """Start of the first hit in each of at most 4,000 equal parts of its trace."""


class SearchJson(TypedDict):
    """Answer to "search". Times are ns after time 0."""

    total: int
    """Number of all hits."""
    first: int
    """Number of the first hit in `hits`."""
    names: list[str]
    """Names that the hits refer to."""
    hits: list[Hit]
    """Slice, start, duration, track, depth, index in `names`, index in `parts`; by start."""
    kinds: list[KindHitsJson]
    """Kinds of tracks with hits: kernels first."""
    parts: list[SearchedJson]
    """The sources, in the order of the question."""
