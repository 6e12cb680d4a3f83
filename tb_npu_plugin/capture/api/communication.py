"""Which group communicates, with which rank, and when the script waits for it: PyTorch's profiler does not record that.

All calls of torch.distributed end in methods of ProcessGroup, except those from C++: DistributedDataParallel
(buffers inside forward, gradients in the backward pass that follows) and functional collectives (those of DTensor, too),
whose Python functions look up the group just before.
"""

from __future__ import annotations

import functools
import sys
import threading
import time
from typing import Any, Callable

from tb_npu_plugin.capture.api import ranks, session
from tb_npu_plugin.capture.api.hooks import Patches
from tb_npu_plugin.capture.api.messages import never_raises

_GROUP = ("torch.distributed.distributed_c10d", "ProcessGroup")
#: Methods of ProcessGroup; which of them there are depends on the version.
_COLLECTIVES = (
    "allreduce",
    "allreduce_coalesced",
    "broadcast",
    "reduce",
    "barrier",
    "gather",
    "scatter",
    "allgather",
    "_allgather_base",
    "all_gather_single",
    "allgather_coalesced",
    "allgather_into_tensor_coalesced",
    "all_gather_single_coalesced",
    "reduce_scatter",
    "_reduce_scatter_base",
    "reduce_scatter_single",
    "reduce_scatter_tensor_coalesced",
    "reduce_scatter_single_coalesced",
    "alltoall",
    "alltoall_base",
    "all_to_all_single",
)
#: Those between two ranks: the second argument is the other one, counted in the group.
_BETWEEN_TWO = ("send", "recv")
#: Functions of functional collectives that give the group or its name, by release of PyTorch.
_FUNCTIONAL = ("torch.distributed._functional_collectives", ("_resolve_group", "_resolve_group_name"))
#: Its sends and receives are one operator of the device.
_BATCH = (("torch.distributed", "batch_isend_irecv"), ("torch.distributed.distributed_c10d", "batch_isend_irecv"))
_WAIT = ("torch.distributed.distributed_c10d", "Work.wait")
_PARALLEL = ("torch.nn.parallel.distributed", "DistributedDataParallel.forward")


class CommunicationNotes:
    """Reports communication to the recorder between start() and stop()."""

    def __init__(self) -> None:
        self._patches = Patches()

    def start(self) -> None:
        """Wrap the functions."""
        module, name = _GROUP
        for method in _COLLECTIVES:
            self._patches.replace(module, f"{name}.{method}", _record_calls)
        for method in _BETWEEN_TWO:
            self._patches.replace(module, f"{name}.{method}", _noted_with_peer)
        if not _is_compiled():
            self._patches.replace(*_PARALLEL, _noted_parallel)
            for function in _FUNCTIONAL[1]:
                self._patches.replace(_FUNCTIONAL[0], function, _noted_lookup)
        for place in _BATCH:
            self._patches.replace(*place, _noted_batch)
        self._patches.replace(*_WAIT, _noted_wait)

    def stop(self) -> None:
        """Restore the functions."""
        self._patches.undo()
        _works.clear()
        _reported.clear()


def _is_compiled() -> bool:
    """torch.compile has compiled something. Wrapping a function recompiles its callers, and the capture would show that."""
    dynamo = sys.modules.get("torch._dynamo.utils")
    frames = getattr(dynamo, "counters", {}).get("frames", {})
    return bool(frames.get("total"))


#: id of a pending work -> start of its note. Python reuses the id of a deleted work.
_works: dict[int, int] = {}
#: Communicators of this capture that have communicated.
_reported: set[str] = set()
#: Per thread. batch: inside batch_isend_irecv.
_here = threading.local()


def _record_calls(method: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(method)
    def call(group: Any, *args: Any, **kwargs: Any) -> Any:
        return _run(method, None, group, *args, **kwargs)

    return call


def _noted_with_peer(method: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(method)
    def call(group: Any, *args: Any, **kwargs: Any) -> Any:
        one_of_many = getattr(_here, "batch", False)  # a batch uses the communicator of the whole group
        return _run(method, args[1] if len(args) > 1 and not one_of_many else None, group, *args, **kwargs)

    return call


def _run(method: Callable[..., Any], peer: int | None, group: Any, *args: Any, **kwargs: Any) -> Any:
    start = time.time_ns()
    work = None
    try:
        work = method(group, *args, **kwargs)
    finally:
        _report(start, max(start, time.time_ns()), group, peer)  # the clock may be set back
    if work is not None and session.current_session() is not None:
        _works[id(work)] = start
    return work


def _noted_batch(function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        start = time.time_ns()
        _here.batch = True
        try:
            return function(*args, **kwargs)
        finally:
            _here.batch = False
            _report_batch(start)

    return call


def _noted_wait(method: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(method)
    def call(work: Any, *args: Any, **kwargs: Any) -> Any:
        _report_wait(_works.pop(id(work), None))
        return method(work, *args, **kwargs)

    return call


def _noted_lookup(function: Callable[..., Any]) -> Callable[..., Any]:
    import torch  # imported already: the function belongs to it

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        group = function(*args, **kwargs)
        if torch.compiler.is_compiling():  # nothing communicates now, and time_ns cannot be compiled
            return group
        now = time.time_ns()
        _report(now, now, group, None)
        return group

    return call


def _noted_parallel(forward: Callable[..., Any]) -> Callable[..., Any]:
    import torch  # as above

    @functools.wraps(forward)
    def call(model: Any, *args: Any, **kwargs: Any) -> Any:
        if not torch.compiler.is_compiling():
            _report(time.time_ns(), None, getattr(model, "process_group", None), None)
        return forward(model, *args, **kwargs)

    return call


@never_raises()
def _report(start: int, end: int | None, group: Any, peer: int | None) -> None:
    found, name = session.current_session(), ranks.communicator(group)
    if found is None or name is None:
        return
    if name not in _reported:  # it may be newer than the capture
        _reported.add(name)
        found.recorder.communicators(ranks.groups())
    found.recorder.communication(start, end, name, peer)


@never_raises()
def _report_batch(start: int) -> None:
    found = session.current_session()
    if found is not None:
        found.recorder.batch(start, max(start, time.time_ns()))


@never_raises()
def _report_wait(start: int | None) -> None:
    found = session.current_session()
    if found is not None and start is not None:
        found.recorder.waited(time.time_ns(), start)
