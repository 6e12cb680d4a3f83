"""What a span is to analyses and views, whatever it was read from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Optional, Protocol

from tb_npu_plugin.problems import Problem
from tb_npu_plugin.tables import Table


@dataclass(frozen=True)
class Capture:
    """How a span was recorded (profiler_info.json, profiler_metadata.json, names). None is unknown.

    Times are int ns since the epoch. Optional[]: msgspec evaluates the annotations, and Python 3.9 has no X | None.
    """

    rank: Optional[int] = None
    rank_source: str = ""  # "profiler_info_0.json", "rank_id", "folder name", ""
    worker_name: str = ""
    host: Optional[str] = None
    pid: Optional[int] = None
    device_id: Optional[int] = None  # physical device, where the settings name it
    window: Optional[tuple[int, Optional[int]]] = None  # steps of the training, from the name of a dynamic window
    level: Optional[str] = None  # "Level0" ...
    aic_metrics: Optional[str] = None  # "ACL_AICORE_PIPE_UTILIZATION" ...
    activities: Optional[tuple[str, ...]] = None  # ("CPU", "NPU")
    schedule: Optional[dict[str, int]] = None
    switches: dict[str, bool] = field(default_factory=dict)  # record_shapes, profile_memory, with_stack, l2_cache ...
    export_types: Optional[tuple[str, ...]] = None
    versions: dict[str, str] = field(default_factory=dict)  # {"torch_npu": "2.7.1", "CANN": "8.3.RC1"}, known ones
    jit_level: Optional[str] = None  # MindSpore: "O0", "O1", "O2"
    device_name: Optional[str] = None
    start_ns: Optional[int] = None
    end_ns: Optional[int] = None
    utc_offset_minutes: int = (
        0  # of the clock that times of day are shown by: the recorder's where it is known, else UTC
    )
    groups: dict[str, dict[str, Any]] = field(default_factory=dict)  # parallel_group_info
    distributed_args: dict[str, Any] = field(default_factory=dict)
    environment: dict[str, str] = field(default_factory=dict)
    metadata: dict[str, Any] = field(default_factory=dict)  # what else the user added
    simulated: bool = False


@dataclass(frozen=True)
class Unread:
    """Files of a result that nothing reads. files: (path below the result folder as text that can be printed, bytes) of
    the first ones by name; more: how many others there are."""

    files: tuple[tuple[str, int], ...] = ()
    more: int = 0


NO_UNREAD = Unread()


class SpanData(Protocol):
    """Read-only access to one span. Tables are loaded when asked for."""

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
        """Origin of the offsets that views give: the earliest known time of the span; 0 if there is none."""

    @property
    def files(self) -> Sequence[str]:
        """Files that were found, relative to the result folder."""

    @property
    def path(self) -> str:
        """Where it stands below the logdir, for people."""

    @property
    def sizes(self) -> Mapping[str, int]:
        """Bytes of the files that were found."""

    @property
    def unread(self) -> Unread:
        """What else lies beside the files that are read."""

    @property
    def problems(self) -> Sequence[Problem]:
        """What was lost while reading."""

    def rows(self, table: str) -> int | None:
        """Row count of a logical table of schema/registry.py TABLES; None when its file is not there."""

    def table(self, table: str) -> Table | None:
        """A logical table; None when its file is not there."""

    def source(self, table: str) -> str:
        """Name of the file that a logical table was read from; of that it would be read from where there is none."""

    def rows_by_file(self, table: str) -> Mapping[str, int]:
        """Names of the files that a logical table was read from, and the rows that each gave; none where it is not there."""

    @property
    def timeline(self) -> Any:
        """The timeline (store.timeline.Timeline); None when there is no trace, or it is not read."""

    @property
    def trace_version(self) -> str:
        """Which reading of the trace `timeline` shows; "" without one."""
