"""Works of gloo: when all had arrived, and the types that PyTorch does not tell of tensors in lists.

An operator of torch.distributed only begins a work; gloo's threads do it, in that order. Works have their own events.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterable

from tb_npu_plugin.capture.mock.kineto import LIST, Call, Recorded, Signature
from tb_npu_plugin.capture.simulation.records import outer_first

#: Operators of torch.distributed -> names of works that they begin, by release of PyTorch.
_WORKS = {
    "c10d::allreduce": ("all_reduce",),
    "c10d::allreduce_coalesced": ("all_reduce",),
    "c10d::barrier": ("barrier",),
    "c10d::reduce": ("reduce",),
    "c10d::broadcast": ("broadcast",),
    "c10d::scatter": ("scatter",),
    "c10d::allgather": ("all_gather",),
    "c10d::_allgather_base": ("all_gather",),
    "c10d::allgather_into_tensor_coalesced": ("all_gather",),
    "c10d::allgather_coalesced": ("all_gather",),
    "c10d::gather": ("gather",),
    "c10d::reduce_scatter": ("reduce_scatter", "all_reduce"),
    "c10d::_reduce_scatter_base": ("reduce_scatter", "all_reduce"),
    "c10d::reduce_scatter_tensor_coalesced": ("reduce_scatter", "all_reduce"),
    "c10d::alltoall": ("all_to_all",),
    "c10d::alltoall_base": ("all_to_all",),
    "c10d::recv": ("recv",),
    "c10d::recv_any_source": ("recvAnySource",),
    "c10d::send": ("send",),
}
#: The operator that begins a work for each of its tensors.
_ONE_EACH = "c10d::reduce_scatter_tensor_coalesced"
_FLOATING = frozenset(("c10::Half", "c10::BFloat16", "float", "double"))
#: Operators before one with a list among which its tensors are looked for.
_BEFORE = 64
_NONE = "float"

Place = tuple[int, int]


def works_of(calls: Iterable[Call], works: Iterable[Call]) -> dict[Place, Call]:
    """(thread, start) of a call of torch.distributed -> the last work that it began. Calls without one are missing."""
    queues: dict[str, deque[Call]] = defaultdict(deque)
    for work in sorted(works, key=lambda work: work.start):
        queues[work.signature.name.partition(":")[2]].append(work)
    out: dict[Place, Call] = {}
    if not queues:
        return out
    for call in sorted(
        (call for call in calls if call.signature.name.startswith("c10d::")), key=lambda call: call.start
    ):
        name = call.signature.name.rstrip("_")
        queue = next((queues[work] for work in _WORKS.get(name, ()) if queues[work]), None)
        for _ in range(max(1, len(call.signature.tensors) // 2) if name == _ONE_EACH else 1):
            while queue and queue[0].start < call.start:
                queue.popleft()  # its call was not recorded
            if queue:
                out[call.tid, call.start] = queue.popleft()
    return out


def name_list_types(recorded: Recorded) -> None:
    """Give the tensors in lists their type: that of the work, else of an operator beside it with such a tensor."""
    known: dict[Signature, bool] = {}
    lists = []
    recorded.calls = outer_first(recorded.calls)
    for at, call in enumerate(recorded.calls):
        signature = call.signature
        has = known.get(signature)
        if has is None:
            has = known[signature] = any(type_ == LIST for _, type_ in signature.tensors)
        if has:
            lists.append(at)
    if not lists:
        return
    works = works_of(recorded.calls, recorded.works)
    named: dict[tuple[Signature, str], Signature] = {}
    for at in lists:
        call = recorded.calls[at]
        work = works.get((call.tid, call.start))
        type_ = work.signature.tensors[0][1] if work is not None and work.signature.tensors else LIST
        type_ = _beside(recorded.calls, at) if type_ == LIST else type_
        key = (call.signature, type_)
        if key not in named:
            named[key] = _with_type(call.signature, type_)
        recorded.calls[at] = call._replace(signature=named[key])


def _with_type(signature: Signature, type_: str) -> Signature:
    tensors = tuple((shape, type_ if old == LIST else old) for shape, old in signature.tensors)
    return Signature(signature.name, tensors, signature.values, signature.shapes, signature.types)


def _beside(calls: list[Call], at: int) -> str:
    """The type of a tensor of the shape of the first one in a list: of the operator itself, of the first one inside it
    or of the last ones before it, else the last floating point type before it."""
    call = calls[at]
    shape = next(shape for shape, type_ in call.signature.tensors if type_ == LIST)
    inside = calls[at + 1] if at + 1 < len(calls) and calls[at + 1].start < call.end else call
    last = _NONE
    for other in (call, inside, *reversed(calls[max(0, at - _BEFORE) : at])):
        if other.tid != call.tid:
            continue
        for size, type_ in other.signature.tensors:
            if type_ != LIST and size == shape:
                return type_
            if last == _NONE and other is not call and type_ in _FLOATING:
                last = type_
    return last
