"""Which group communicates, and with which rank: PyTorch's profiler tells neither.

All of torch.distributed ends in the methods of a ProcessGroup, but for DistributedDataParallel, which communicates from
C++: buffers inside forward, gradients in the backward pass that follows.
"""

from __future__ import annotations

import functools
import time
from typing import Any, Callable

from tb_npu_plugin.capture.api import ranks, session
from tb_npu_plugin.capture.api.messages import guarded
from tb_npu_plugin.capture.api.patches import Patches

_GROUP = ("torch.distributed.distributed_c10d", "ProcessGroup")
#: Methods of ProcessGroup; which of them there are depends on the version.
_COLLECTIVES = (
    "allreduce", "allreduce_coalesced", "broadcast", "reduce", "barrier", "gather", "scatter", "allgather",
    "_allgather_base", "all_gather_single", "allgather_coalesced", "allgather_into_tensor_coalesced",
    "all_gather_single_coalesced", "reduce_scatter", "_reduce_scatter_base", "reduce_scatter_single",
    "reduce_scatter_tensor_coalesced", "reduce_scatter_single_coalesced", "alltoall", "alltoall_base",
    "all_to_all_single",
)  # fmt: skip
#: Those between two ranks: the second argument is the other one, counted in the group.
_BETWEEN_TWO = ("send", "recv")
_PARALLEL = ("torch.nn.parallel.distributed", "DistributedDataParallel.forward")


class CommunicationNotes:
    """Between start() and stop() the recorder is told of what communicates."""

    def __init__(self) -> None:
        self._patches = Patches()

    def start(self) -> None:
        """Wrap the functions."""
        module, name = _GROUP
        for method in _COLLECTIVES:
            self._patches.replace(module, f"{name}.{method}", _noted)
        for method in _BETWEEN_TWO:
            self._patches.replace(module, f"{name}.{method}", _noted_with_peer)
        self._patches.replace(*_PARALLEL, _noted_parallel)

    def stop(self) -> None:
        """As it was."""
        self._patches.undo()


def _noted(method: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(method)
    def call(group: Any, *args: Any, **kwargs: Any) -> Any:
        return _run(method, None, group, *args, **kwargs)

    return call


def _noted_with_peer(method: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(method)
    def call(group: Any, *args: Any, **kwargs: Any) -> Any:
        return _run(method, args[1] if len(args) > 1 else None, group, *args, **kwargs)

    return call


def _run(method: Callable[..., Any], peer: int | None, group: Any, *args: Any, **kwargs: Any) -> Any:
    start = time.time_ns()
    try:
        return method(group, *args, **kwargs)
    finally:
        _tell(start, time.time_ns(), group, peer)


def _noted_parallel(forward: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(forward)
    def call(model: Any, *args: Any, **kwargs: Any) -> Any:
        _tell(time.time_ns(), None, getattr(model, "process_group", None), None)
        return forward(model, *args, **kwargs)

    return call


@guarded()
def _tell(start: int, end: int | None, group: Any, peer: int | None) -> None:
    found, name = session.current(), ranks.communicator(group)
    if found is not None and name is not None:
        found.recorder.communication(start, end, name, peer)
