"""PyTorch's own profiler as the mock device uses it: on the CPU, through names that PyTorch keeps to itself."""

from __future__ import annotations

import errno
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, replace
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Any

from tb_npu_plugin.capture.backend import HostSwitches, Json
from tb_npu_plugin.capture.recording.host_lane import tail

#: PyTorch has one profiler a process; a second one ends the first, whose results crash the process when they are read.
_ONE = "PyTorch runs one profiler at a time in a process"
_MISSING = (
    "PyTorch is not installed, and the mock device records what it runs: install it, a CPU build will do "
    "(docs/capture.md). `tb-npu mock` and analyse() do without"
)


def make(host: HostSwitches) -> Any:
    """A profiler with these switches."""
    import torch

    # PyTorch records the modules of a call with the stacks only
    switches = asdict(replace(host, with_stack=host.with_stack or host.with_modules))
    activities = [torch.profiler.ProfilerActivity.CPU]
    return torch.profiler._KinetoProfile(activities=activities, experimental_config=_config(torch, host), **switches)


def prepare(profiler: Any) -> None:
    """Get a profiler ready, without PyTorch's compiler: PyTorch would import it to look for CUDA graphs, which takes seconds."""
    import torch

    lazy: set[str] = getattr(torch, "_lazy_modules", set())
    compiler = lazy & {"_inductor"}
    lazy -= compiler
    try:
        profiler.prepare_trace()
    finally:
        lazy |= compiler


def refuse_second() -> None:
    """RuntimeError where a profiler of PyTorch records in this process already, or PyTorch is too old;
    ModuleNotFoundError without PyTorch."""
    try:
        import torch
    except ModuleNotFoundError as problem:
        if problem.name != "torch":
            raise
        raise ModuleNotFoundError(_MISSING, name="torch") from None
    if not hasattr(torch._C._autograd._ProfilerResult, "trace_start_ns"):
        old = "The mock device records with PyTorch 2.4 or later, whose times are exact to the nanosecond"
        raise RuntimeError(f"{old}, and this one is {torch.__version__}: install a newer one")
    if is_running():
        raise RuntimeError(f"{_ONE}, and one is recording: torch.profiler, or another profile")


def stop(profiler: Any) -> None:
    """Stop a profiler that runs. RuntimeError where it has no results: they must not be touched.

    The arrows from forward to backward are left out: sequence numbers give the same links.
    """
    if not is_running():
        raise RuntimeError(f"{_ONE}, and another one has ended this recording")
    from torch._C import _profiler

    arrows = getattr(_profiler, "_set_fwd_bwd_enabled_val", lambda on: None)
    arrows(False)
    try:
        profiler.stop_trace()
    finally:
        arrows(True)
    results = profiler.profiler.kineto_results
    if results is None or not results.trace_start_ns():
        raise RuntimeError(
            f"{_ONE}, and another one has ended this recording; or it was started and stopped in different threads, "
            "which PyTorch does not offer with profile_memory=True"
        )


def is_running() -> bool:
    """A profiler of PyTorch records, ours or another."""
    import torch.autograd.profiler

    return bool(getattr(torch.autograd.profiler, "_is_profiler_enabled", False))


def save(profiler: Any, target: Path) -> None:
    """Write the trace of a profiler that was stopped, whole or not at all."""
    temporary = target.with_suffix(".part")
    with _plain_path(temporary) as path:
        profiler.profiler.kineto_results.save(path)
    if not _is_whole(temporary):  # PyTorch logs why, and raises nothing
        for left in target.parent.glob(f"{temporary.name}*"):  # PyTorch, too, writes under another name first
            left.unlink()
        raise OSError(errno.ENOSPC, "PyTorch could not write all that it recorded: is the disk full?", str(target))
    temporary.replace(target)


@contextmanager
def _plain_path(target: Path) -> Iterator[str]:
    """A path of the file that PyTorch uses unchanged: it drops control characters, turns backslashes and refuses invalid
    UTF-8. So the folder is named by its descriptor, where the system offers that."""
    if "\\" not in str(target) and str(target).isprintable():
        yield str(target)
        return
    folder = os.open(target.parent, os.O_RDONLY)
    try:
        by_descriptor = Path(f"/proc/self/fd/{folder}")
        yield str((by_descriptor if by_descriptor.exists() else target.parent) / target.name)
    finally:
        os.close(folder)


def _is_whole(trace: Path) -> bool:
    """The file ends as PyTorch ends it: a disk that is full cuts it."""
    end = tail(trace).rstrip() if trace.is_file() else b""
    return b'"traceName"' in end and end.endswith(b"}")


def memory_timeline(profiler: Any, device: str, raw: bool) -> Json:
    """What PyTorch works out of shapes, stacks and allocations (backend.Recorder.memory_timeline)."""
    from torch.profiler._memory_profiler import MemoryProfileTimeline

    timeline = MemoryProfileTimeline(profiler._memory_profile())
    export = timeline.export_memory_timeline_raw if raw else timeline.export_memory_timeline
    with NamedTemporaryFile() as file:
        export(file.name, device)
        return json.load(file)


def _config(torch: Any, host: HostSwitches) -> Any:
    """The options of this list that this version of PyTorch has; None: it has none of them.

    profile_all_threads: PyTorch cannot begin with a thread later, so that all are recorded and those that were not asked
    for left out when parsing; it records no allocations then. trace_only: no objects of the events, which memory_timeline
    alone needs; PyTorch has it without stacks only.
    """
    wanted = {"profile_all_threads": not host.profile_memory, "trace_only": not (host.with_stack or host.with_modules)}
    while wanted:
        try:
            return torch.profiler._ExperimentalConfig(**wanted)
        except TypeError:  # an older version: without the newest
            wanted.popitem()
    return None
