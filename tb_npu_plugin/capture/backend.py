"""The seam between the API (capture/api) and what records and parses (capture/recording; in tests a fake).

One capture, which is one result folder, uses one Recorder:

    made → [warmup] → start → (step_begin/step_end, mark, range_*, collection)*
                     └→ discard: the profile ended before it recorded                       → stop → finalize

All calls come from the thread that drives the profile, except mark, range_*, collection and the
child-thread pair, which come from any thread. Times are ns since the epoch (time.time_ns), sizes
bytes. A Recorder may raise; the API turns that into one [ERROR] line and the training goes on.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any, Callable, NamedTuple, Optional, Protocol

#: Value of a JSON document.
Json = Any
#: Folder of the raw data inside a result folder; the files in it are the backend's own.
RAW_FOLDER = "FRAMEWORK"


@dataclass(frozen=True)
class HostSwitches:
    """What the host side records beside operators."""

    record_shapes: bool = False
    profile_memory: bool = False
    with_stack: bool = False
    with_flops: bool = False
    with_modules: bool = False


@dataclass(frozen=True)
class Settings:
    """All settings of a capture, validated: what a Recorder may rely on.

    level and aic_metrics are the strings of profiler_info ("Level1", "ACL_AICORE_PIPE_UTILIZATION"); gc_threshold is ms
    or None; export_types is part of {"text", "db"}; rank None: not known, world is then 1; groups are those of
    profiler_metadata.json (communicator → group_name, group_rank, global_ranks); environment are the variables of
    ENV_VARIABLES, which the database export stores in META_DATA; task_queue: what TASK_QUEUE_ENABLE says, 0 to 2;
    mstx_include or mstx_exclude choose among the domains of marks.
    """

    cpu: bool = True
    npu: bool = True
    host: HostSwitches = HostSwitches()
    level: str = "Level0"
    aic_metrics: str = "ACL_AICORE_NONE"
    l2_cache: bool = False
    mstx: bool = False
    gc_threshold: Optional[float] = None
    export_types: tuple[str, ...] = ("text",)
    sys_io: bool = False
    sys_interconnection: bool = False
    rank: Optional[int] = None
    world: int = 1
    groups: Mapping[str, Json] = field(default_factory=dict)
    environment: Mapping[str, str] = field(default_factory=dict)
    task_queue: int = 1
    mstx_include: tuple[str, ...] = ()
    mstx_exclude: tuple[str, ...] = ()

    def records_domain(self, domain: str) -> bool:
        """Marks of this domain are recorded."""
        if not self.mstx or domain in self.mstx_exclude:
            return False
        return not self.mstx_include or domain in self.mstx_include


class Recorder(Protocol):
    """Records one capture into <folder>/FRAMEWORK.

    warmup         prepare, so that start is quick
    start, stop    record from now; stop recording
    step_begin     open the mark "ProfilerStep#<number>", which step_end closes; also called while nothing records
    mark           a point in time; with `stream` (a stream id) on the device, too
    range_start    open a range; ids are unique in the process
    range_end      close it, from any thread; an id that this capture does not know is ignored
    collection     a garbage collection of at least Settings.gc_threshold
    enable_child_thread     record the calling thread as well, with the switches of the capture
    disable_child_thread    stop recording the calling thread
    finalize       Raw data are on the disk when it returns, so that parse() works in any process at any later time.
                   groups: as Settings.groups, now: some may be newer than the capture.
                   Returns what profiler_metadata.json says in addition (the mock: {schema.SIMULATED: ...}).
    discard        instead of finalize: give up; the API deletes the folder
    memory_timeline         After finalize: the memory of `device` ("npu:0", "cpu") as torch.profiler exports it:
                   [times, sizes], us, and at each time a 0 and the bytes of each category, ordered as kineto.CATEGORIES.
                   raw: a list of [ns, number of the action, bytes, number of the category].
                   Both empty where nothing was recorded.
    """

    settings: Settings

    def warmup(self) -> None: ...
    def start(self) -> None: ...
    def stop(self) -> None: ...
    def step_begin(self, number: int) -> None: ...
    def step_end(self, number: int) -> None: ...
    def mark(self, message: str, domain: str, stream: int | None) -> None: ...
    def range_start(self, range_id: int, message: str, domain: str, stream: int | None) -> None: ...
    def range_end(self, range_id: int) -> None: ...
    def collection(self, start: int, end: int) -> None: ...
    def enable_child_thread(self) -> None: ...
    def disable_child_thread(self) -> None: ...
    def finalize(self, groups: Mapping[str, Json]) -> Mapping[str, Json]: ...
    def discard(self) -> None: ...
    def memory_timeline(self, device: str, raw: bool) -> Json: ...


class Progress(NamedTuple):
    """How far parsing is. total 0: not known yet."""

    done: int
    total: int
    what: str


#: parse(folder, out, export_types, progress) makes result files of the raw data of a result folder. out: an existing empty folder,
#: ASCEND_PROFILER_OUTPUT or a temporary one. Needs no PyTorch. Raises BadFile when the raw data cannot be used; raw data of an
#: interrupted run are parsed as far as they go.
Parse = Callable[[Path, Path, Sequence[str], Callable[[Progress], None]], None]

#: The Parse of the raw data, as "module:function": a child process imports it.
PARSER = "tb_npu_plugin.capture.recording.parse:parse"


def new_recorder(folder: Path, settings: Settings) -> Recorder:
    """A recorder of the mock device, imported only now: recording is built upon the API. `folder` exists, FRAMEWORK in it
    does not. Raises OSError where it cannot be written."""
    recorder: Recorder = import_module("tb_npu_plugin.capture.recording.recorder").MockRecorder(folder, settings)
    return recorder
