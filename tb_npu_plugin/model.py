"""The format-independent interface of a span, for analyses and views."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Optional, Protocol

from tb_npu_plugin.problems import Problem
from tb_npu_plugin.seen import SeenFiles
from tb_npu_plugin.tables import Table


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
    written_bytes: int
    cpu_ms: int
    peak_bytes: int  # most memory since the stage began, mapped files included
    descriptors: int  # open at the end


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
    def timeline(self) -> Any:
        """The timeline (store.timeline.Timeline); None without a trace or before it is read."""

    @property
    def trace_version(self) -> str:
        """Version of the trace reading behind `timeline`; "" without one."""
