"""What a span is to analyses and views, whatever it was read from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from tb_npu_plugin.problems import Problem
from tb_npu_plugin.tables import Table


@dataclass(frozen=True)
class Capture:
    """How a span was recorded (profiler_info.json, profiler_metadata.json, names). None is unknown.

    Times are int ns since the epoch.
    """

    rank: int | None = None
    rank_source: str = ""  # "profiler_info_0.json", "rank_id", "folder name", ""
    worker_name: str = ""
    host: str | None = None
    pid: int | None = None
    level: str | None = None  # "Level0" ...
    aic_metrics: str | None = None  # "ACL_AICORE_PIPE_UTILIZATION" ...
    activities: tuple[str, ...] | None = None  # ("CPU", "NPU")
    schedule: dict[str, int] | None = None
    switches: dict[str, bool] = field(default_factory=dict)  # record_shapes, profile_memory, with_stack, l2_cache ...
    export_types: tuple[str, ...] | None = None
    torch_npu_version: str | None = None
    cann_version: str | None = None
    device_name: str | None = None
    start_ns: int | None = None
    end_ns: int | None = None
    groups: dict[str, dict[str, Any]] = field(default_factory=dict)  # parallel_group_info
    distributed_args: dict[str, Any] = field(default_factory=dict)
    environment: dict[str, str] = field(default_factory=dict)
    metadata: dict[str, Any] = field(default_factory=dict)  # what else the user added
    simulated: bool = False


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
    def base_ns(self) -> int:
        """Origin of the offsets that views give: the earliest known time of the span; 0 if there is none."""

    @property
    def files(self) -> Sequence[str]:
        """Files that were found, relative to the result folder."""

    @property
    def problems(self) -> Sequence[Problem]:
        """What was lost while reading."""

    def rows(self, table: str) -> int | None:
        """Row count of a logical table of schema/registry.py TABLES; None when its file is not there."""

    def table(self, table: str) -> Table | None:
        """A logical table; None when its file is not there."""

    @property
    def timeline(self) -> Any:
        """The timeline (store.timeline.Timeline); None when there is no trace, or it is not read."""
