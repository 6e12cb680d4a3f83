"""The simulated NPU behind MindSpore's own profiler API.

MindSpore's profiler keeps its device side in a registry of platforms. On a machine without an NPU this module puts its own
platform there: names, checks, messages, schedule and folders stay MindSpore's; what is recorded comes from here. The CPU
executes the operators; MindSpore's CPU profiler and its runtime profiler write when and on which thread (raw_data.py), and
parse.py makes an NPU's result of it. Private names of MindSpore 2.7 to 2.10 are used here and in recorders.py.
"""

from __future__ import annotations

import atexit
import contextlib
import functools
import inspect
import json
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from mindspore import _c_dataengine as data_engine
from mindspore import _c_expression as native
from mindspore import log
from mindspore.profiler.common.profiler_context import ProfilerContext
from mindspore.profiler.common.profiler_info import ProfilerInfo
from mindspore.profiler.common.profiler_meta_data import ProfilerMetaData
from mindspore.profiler.common.registry import PROFILERS
from mindspore.profiler.platform import npu_profiler
from mindspore.profiler.platform.base_profiler import BaseProfiler
from mindspore.profiler.profiler_interface import ProfilerInterface

from tb_npu_plugin import __version__
from tb_npu_plugin.capture.mindspore.exchanges import WORLD, WORLDS, wait_for_other_ranks
from tb_npu_plugin.capture.mindspore.graphs import compiled_nodes, ranks_of
from tb_npu_plugin.capture.mindspore.raw_data import CAPTURE, HOST, RUNTIME_FOLDER, SETTINGS_VERSION
from tb_npu_plugin.capture.mindspore.recorders import DispatchedShapes, Marks, PythonStacks, RuntimeProfiler
from tb_npu_plugin.schema.torch_npu_json import GROUPS, LEFT_OUT, MEMORY_BLOCKS, SIMULATED, SUNK_GRAPH
from tb_npu_plugin.whole_files import write_whole

CPU = "CPU"


class SimulatedPlatform(BaseProfiler):  # type: ignore[misc]
    """Records one capture; MindSpore makes an instance for each."""

    def __init__(self) -> None:
        super().__init__()
        self._context = ProfilerContext()
        self._folder = Path(self._context.ascend_ms_dir)
        self._framework = Path(self._context.framework_path)
        self._cpu = native.Profiler.get_instance(CPU)
        self._shapes, self._stacks = DispatchedShapes(), PythonStacks()
        settings = self._context.npu_profiler_params
        self._marks = Marks(settings.get("mstx_domain_include", []), settings.get("mstx_domain_exclude", []))
        self._has_marks, self._has_stacks = bool(settings.get("mstx")), bool(settings.get("with_stack"))
        self._pipeline = data_engine.GlobalContext.profiling_manager() if self._context.data_process else None
        if self._pipeline is not None:
            self._pipeline.init()
        self._runtime = RuntimeProfiler(self._framework / RUNTIME_FOLDER)
        self._started = 0

    def start(self) -> None:
        self._cpu.init(str(self._framework))
        self._cpu.step_profiling_enable(True)
        self._cpu.enable_op_time()
        if self._context.profile_memory:
            self._cpu.enable_profile_memory()
        self._started = time.time_ns()
        self._write_capture(None)
        if self._pipeline is not None:
            self._pipeline.start()
        if self._has_marks:
            self._marks.start()
        self._runtime.start()
        atexit.register(self._detach)  # a script may end while it is profiled
        self._shapes.start()
        if self._has_stacks:
            self._stacks.start()

    def stop(self) -> None:
        """Stop recording, and write what was recorded."""
        atexit.unregister(self._detach)
        self._detach()
        stopped = time.time_ns()
        if self._has_marks:
            self._marks.stop()
        self._cpu.stop()
        if self._pipeline is not None:
            self._pipeline.stop()
            self._pipeline.save(str(self._framework))
        self._runtime.stop()
        nodes, calls = compiled_nodes(), self._shapes.calls
        groups = self._groups({node["group"] for node in nodes.values()} | {group for *_, group in calls})
        host = {"dispatched": calls, "marks": self._marks.marks, "stacks": self._stacks.calls}
        host |= {"nodes": nodes, "groups": groups}
        (self._framework / HOST).write_text(json.dumps(host), encoding="utf-8")
        self._write_capture(stopped)  # last: the other ranks wait for its end
        info = ProfilerInfo()
        info.profiler_parameters = self._context.original_params
        info.ms_profiler_info = {"rank_id": self._context.rank_id, "device_id": self._context.device_id}
        info.jit_level = self._context.jit_level or ""
        info.save(str(self._folder), self._context.rank_id)
        left_out = say_left_out(self._started, bool(self._context.profile_memory), info.jit_level)
        # written when the capture is finalized
        ProfilerMetaData.metadata[SIMULATED] = {"by": f"tb-npu-plugin {__version__}", LEFT_OUT: left_out}
        if groups:
            ProfilerMetaData.metadata[GROUPS] = {
                name: {"group_name": name, "group_rank": ranks.index(self._rank), "global_ranks": ranks}
                for name, ranks in groups.items()
                if self._rank in ranks
            }

    def record_shapes(self) -> None:
        """Record shapes, if that could not begin with the capture."""
        if self._started:
            self._shapes.start()

    def _detach(self) -> None:
        """Leave Python and MindSpore as they were."""
        if self._has_stacks:
            self._stacks.stop()
        self._shapes.stop()

    def finalize(self) -> None:
        """Nothing is left to write."""

    def analyse(self, **kwargs: Any) -> None:
        """Parse the capture, once the other ranks have ended theirs."""
        if not wait_for_other_ranks(self._folder):
            missing = "its arrivals at collectives are not known"
            log.warning(f"Another rank still records; {missing}. Parse again: analyse().")
        analyse_folder(str(self._folder))

    @property
    def _rank(self) -> int:
        return int(self._context.rank_id)

    @property
    def _world(self) -> int:
        return int(os.environ.get("MS_WORKER_NUM") or os.environ.get("RANK_SIZE") or 1)

    def _groups(self, names: set[str]) -> dict[str, list[int]]:
        """Group -> its ranks, the group of all processes first; {} for one process."""
        return {WORLD: list(range(self._world)), **ranks_of(names.difference(WORLDS))} if self._world > 1 else {}

    def _write_capture(self, stopped: int | None) -> None:
        capture = {"version": SETTINGS_VERSION, "framework": "mindspore", "pid": os.getpid(), "rank": self._rank}
        capture |= {"world": self._world, "start": self._started, "end": stopped}
        write_whole(self._framework / CAPTURE, json.dumps(capture).encode())  # the other ranks read it


def analyse_folder(path: str, pretty: bool = False, step_list: Any = None, data_simplification: bool = True) -> None:
    """Parse one result folder. A failure is one ERROR line: the training goes on."""
    from tb_npu_plugin.capture.mindspore.parse import parse_folder

    try:
        parse_folder(path)
    except Exception as error:  # whatever it is
        log.error(f"Parsing {path} failed: {error}")


@contextlib.contextmanager
def simulated() -> Iterator[None]:
    """Captures that begin here are those of the simulated NPU."""
    platforms, offline = PROFILERS.modules, npu_profiler.NPUProfilerAnalysis.offline_analyse
    own = platforms[CPU]
    activate()
    try:
        yield
    finally:
        platforms[CPU] = own
        npu_profiler.NPUProfilerAnalysis.offline_analyse = offline


def activate() -> None:
    """From now on all captures of this process are those of the simulated NPU (`tb-npu run`)."""
    PROFILERS.modules[CPU] = SimulatedPlatform
    npu_profiler.NPUProfilerAnalysis.offline_analyse = staticmethod(analyse_folder)


def resume() -> None:
    """MindSpore is imported: captures that began before (MS_PROFILER_OPTIONS) record shapes from now."""
    for platform in ProfilerInterface.platform_profilers_set:
        if isinstance(platform, SimulatedPlatform):
            platform.record_shapes()


def is_recording() -> bool:
    """A capture is in progress in this process."""
    return bool(ProfilerInterface.is_initialized)


#: What the simulated NPU leaves out of a capture: said on the console, and in the result (`tb_npu_simulated`).
_TEXTS = {
    MEMORY_BLOCKS: "profile_memory: the simulated NPU has no blocks of memory, so operator_memory.csv has no rows",
    SUNK_GRAPH: "A sunk graph: the simulated NPU launches each operator of each step, where an NPU launches the graph once",
}
_running = 0
_ended = 0


def watch_sinking() -> None:
    """Notice from now on when Model.train sinks its data: on the CPU it runs step by step."""
    from mindspore.train.model import Model

    own, signature = Model.train, inspect.signature(Model.train)

    @functools.wraps(own)
    def train(*args: Any, **kwargs: Any) -> Any:
        global _running, _ended
        sinks = bool(signature.bind(*args, **kwargs).arguments.get("dataset_sink_mode"))
        _running += sinks
        try:
            return own(*args, **kwargs)
        finally:
            _running -= sinks
            _ended = time.time_ns() if sinks else _ended

    Model.train = train


def say_left_out(started: int, has_memory: bool, jit_level: str) -> list[str]:
    """What a capture that began at `started` (ns) leaves out; each is one warning."""
    is_sunk = _running > 0 or _ended > started or jit_level == "O2"
    out = [name for name, is_left_out in ((MEMORY_BLOCKS, has_memory), (SUNK_GRAPH, is_sunk)) if is_left_out]
    for name in out:
        log.warning(f"{_TEXTS[name]}.")
    return out
