"""The format-independent interface of a span, for analyses and views."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Optional, Protocol

import numpy as np
from numpy.typing import NDArray

from tb_npu_plugin.problems import Problem
from tb_npu_plugin.seen import SeenFiles
from tb_npu_plugin.tables import IntArray, Table


@dataclass(frozen=True)
class Capture:
    """How a span was recorded (profiler_info.json, profiler_metadata.json, names). None: unknown.

    Times are int ns since the epoch. Optional[]: msgspec evaluates the annotations, and Python 3.9 has no X | None.
    """

    rank: Optional[int] = None
    rank_source: str = ""  # "profiler_info_0.json", "rank_id", "folder name", ""
    worker_name: str = ""
    host: Optional[str] = None
    pid: Optional[int] = None
    device_id: Optional[int] = None  # physical device, if the settings have it
    window: Optional[tuple[int, Optional[int]]] = None  # training steps, from the folder name of dynamic profiling
    level: Optional[str] = None  # "Level0" ...
    aic_metrics: Optional[str] = None  # "ACL_AICORE_PIPE_UTILIZATION" ...
    activities: Optional[tuple[str, ...]] = None  # ("CPU", "NPU")
    schedule: Optional[dict[str, int]] = None
    switches: dict[str, bool] = field(default_factory=dict)  # record_shapes, profile_memory, with_stack, l2_cache ...
    export_types: Optional[tuple[str, ...]] = None
    versions: dict[str, str] = field(default_factory=dict)  # {"torch_npu": "2.7.1", "CANN": "8.3.RC1"}
    jit_level: Optional[str] = None  # MindSpore: "O0", "O1", "O2"
    device_name: Optional[str] = None
    start_ns: Optional[int] = None
    end_ns: Optional[int] = None
    utc_offset_minutes: int = 0  # offset of the time zone for display: the recorder's, UTC if unknown
    groups: dict[str, dict[str, Any]] = field(default_factory=dict)  # parallel_group_info
    distributed_args: dict[str, Any] = field(default_factory=dict)
    environment: dict[str, str] = field(default_factory=dict)
    metadata: dict[str, Any] = field(default_factory=dict)  # other entries that the user added
    simulated: bool = False
    simulated_host: bool = False  # the times of the host, too


@dataclass(frozen=True)
class Unread:
    """Files of a result that no reader uses.

    files   printable path below the result folder and bytes, of the first ones by name
    more    number of further files
    """

    files: tuple[tuple[str, int], ...] = ()
    more: int = 0


NO_UNREAD = Unread()


@dataclass(frozen=True)
class Cost:
    """What a worker process spent. 0 where the system does not say."""

    read_bytes: int
    """Bytes that it read."""
    written_bytes: int
    """Bytes that it wrote."""
    cpu_ms: int
    """CPU time in ms."""
    peak_bytes: int
    """Most memory since the stage began, mapped files included."""
    descriptors: int
    """Open files at the end."""


@dataclass(frozen=True)
class StageCost:
    """What reading a stage cost, the limits of memory (without mapped files), output and CPU time, and the share of each
    file, which may also write nothing before all are read."""

    stage: str
    total: Cost
    most_memory_bytes: int
    most_written_bytes: int
    most_cpu_ms: int
    files: Mapping[str, Cost]


class TimelineRows(Protocol):
    """Slices in row order. A row is a (track, depth) with disjoint slices sorted by start."""

    start: IntArray
    """ns after the timeline's base, per slice."""
    dur: IntArray
    """ns, per slice."""
    first: IntArray
    """First slice of each row, then the number of slices."""
    track_row: IntArray
    """First row of each track, then the number of rows; counters have no rows."""

    def bounds(self, row: int) -> tuple[int, int]:
        """Slices [first, end) of a row."""

    def row_of(self, ids: IntArray) -> IntArray:
        """Row of each slice."""

    def track_of_row(self, row: IntArray) -> IntArray:
        """Track of each row."""

    def find(self, track: IntArray, time: IntArray, enclosing: NDArray[np.bool_]) -> IntArray:
        """Slice of a track at a time; -1 without one."""


class TimelineNames(Protocol):
    """Distinct names of slices."""

    def __len__(self) -> int: ...

    def __getitem__(self, index: int) -> str: ...

    def take(self, indices: NDArray[Any]) -> list[str]:
        """The names at these indices, which must be valid."""

    def with_match(self, patterns: Sequence[re.Pattern[bytes]]) -> IntArray:
        """Indices of the names in which a match of one of the patterns begins."""


class Timeline(Protocol):
    """The timeline of a trace (store/timeline/open.py). Times are int ns after `base_ns`; a slice is its index in row order."""

    base_ns: int
    """Origin of times, ns since the epoch."""
    start_ns: int
    """Start of the first event, ns since the epoch."""
    end_ns: int
    """End of the last event, ns since the epoch."""
    source: str
    """Name of the trace file."""
    scanner: str
    """Implementation that read the trace."""
    event_count: int
    slice_count: int
    steps: list[tuple[str, int, int]]
    """(step, start, end) of the step marks, sorted by start."""
    partial: Optional[int]
    """Bytes of the file that were read; None: all."""
    tracks: list[dict[str, Any]]
    """Fields of each track of /api/view/trace."""
    flow_kinds: list[str]
    """Kinds of flows that the trace holds."""
    name: IntArray
    """Index in `names`, per slice."""
    category: IntArray
    """See `category_code`, per slice; -1: none."""
    parent: IntArray
    """Enclosing slice, per slice; -1: none."""

    @property
    def rows(self) -> TimelineRows:
        """Slice times and the row table."""

    @property
    def names(self) -> TimelineNames:
        """Distinct names of slices."""

    @property
    def slice_bounds(self) -> tuple[int, int] | None:
        """(start of the first slice, end of the last); None without slices."""

    def operators_between(self, start_ns: int, end_ns: int) -> Table | None:
        """Operators whose call on the host overlaps a time range, ns since the epoch; None if the timeline holds none."""

    def category_code(self, category: str) -> int:
        """Value of `category` for slices of this category; -1 where no slice has it."""

    def tracks_of(self, kind: str) -> Sequence[int]:
        """Numbers of the tracks of a kind: "slices" or "counter"."""

    def flow_pairs(self, kind: str) -> tuple[IntArray, IntArray]:
        """(source, target) of all flows of a kind, as slices, sorted by source."""

    def bare_launches(self) -> tuple[IntArray, IntArray]:
        """(time of the launch, slice of the task) of the launches without a slice of the host."""

    def args(self, slice_id: int) -> tuple[Optional[dict[str, Any]], str]:
        """(args, "") of a slice, or (None, why they cannot be read)."""

    def args_of(self, ids: IntArray) -> Iterator[Optional[dict[str, Any]]]:
        """Args of slices; {} where a slice has none, None where they are not an object. Raises NotFound if the file cannot be
        read."""


class SpanData(Protocol):
    """Read-only access to one span. Tables are loaded on first access."""

    @property
    def token(self) -> str:
        """Opaque id in requests."""

    @property
    def label(self) -> str:
        """Name for people, e.g. "15:48:04 · step 50"."""

    @property
    def worker_label(self) -> str:
        """Name of the worker for people, e.g. "rank 0 · host_3178231"."""

    @property
    def run_label(self) -> str:
        """Name of the run for people."""

    @property
    def capture(self) -> Capture:
        """How it was recorded."""

    @property
    def format(self) -> str:
        """Kind of result: id of schema.formats.FORMATS."""

    @property
    def base_ns(self) -> int:
        """Origin of the offsets in views: the earliest known time of the span; 0 without one."""

    @property
    def files(self) -> Sequence[str]:
        """Paths of the found files, relative to the result folder."""

    @property
    def kinds(self) -> Mapping[str, str]:
        """By each of these paths, the name that the profiler gives such a file: it may lie under another name."""

    @property
    def path(self) -> str:
        """Path below the logdir, for display."""

    @property
    def sizes(self) -> Mapping[str, int]:
        """Bytes of each found file."""

    @property
    def costs(self) -> Sequence[StageCost]:
        """What reading each stage cost; stages without figures are left out."""

    @property
    def seen(self) -> SeenFiles:
        """What the read files held, and what came of it."""

    @property
    def unread(self) -> Unread:
        """Other files in the result folder."""

    @property
    def problems(self) -> Sequence[Problem]:
        """Problems met while reading."""

    def rows(self, table: str) -> int | None:
        """Row count of a logical table of schema/registry.py TABLES; None if the capture lacks it."""

    def table(self, table: str) -> Table | None:
        """A logical table; None if the capture lacks it."""

    def source(self, table: str) -> str:
        """Name of the file that a logical table was read from; without the table, of the file that would hold it."""

    def rows_by_file(self, table: str) -> Mapping[str, int]:
        """Rows of a logical table by the name of their file; {} if the capture lacks the table."""

    @property
    def timeline(self) -> Timeline | None:
        """The timeline; None without a trace or before it is read."""

    @property
    def trace_version(self) -> str:
        """Version of the trace reading behind `timeline`; "" without one."""


def timeline_of(span: SpanData) -> Timeline:
    """The timeline of a span that is known to have one."""
    found = span.timeline
    assert found is not None
    return found
