"""What operators of torch.distributed are on the device: their types, and how much they move.

As torch_npu calls HCCL: gather is an all-gather, a barrier the all-reduce of one float, an all-to-all with sizes for each
rank or of lists the one of HCCL that takes sizes. Names: those that HCCL gives the profiler.
"""

from __future__ import annotations

from math import prod

from tb_npu_plugin.capture.mock.kineto import Call, Signature
from tb_npu_plugin.capture.simulation.program import Transfer
from tb_npu_plugin.capture.simulation.records import RECEIVE, SEND
from tb_npu_plugin.capture.simulation.work import TYPES

_PREFIX, _BARRIER = "c10d::", "c10d::barrier"
_REDUCE, _GATHER, _SCATTER = "hcom_allReduce_", "hcom_allGather_", "hcom_reduceScatter_"
_TO_ALL, _TO_ALL_SIZES = "hcom_alltoall_", "hcom_alltoallv_"
#: Operators of torch.distributed -> those of the device. Their names end in "_" or not, by the release of PyTorch.
_TYPES = {
    "c10d::allreduce": _REDUCE,
    "c10d::allreduce_coalesced": _REDUCE,
    _BARRIER: _REDUCE,
    "c10d::reduce": "hcom_reduce_",
    "c10d::broadcast": "hcom_broadcast_",
    "c10d::scatter": "hcom_scatter_",
    "c10d::allgather": _GATHER,
    "c10d::_allgather_base": _GATHER,
    "c10d::allgather_into_tensor_coalesced": _GATHER,
    "c10d::allgather_coalesced": _GATHER,
    "c10d::gather": _GATHER,
    "c10d::reduce_scatter": _SCATTER,
    "c10d::_reduce_scatter_base": _SCATTER,
    "c10d::reduce_scatter_tensor_coalesced": _SCATTER,
    "c10d::alltoall": _TO_ALL_SIZES,
    "c10d::alltoall_base": _TO_ALL,
    "c10d::send": SEND,
    "c10d::recv": RECEIVE,
    "c10d::recv_any_source": RECEIVE,
}
#: Operators whose arguments are recorded for one rank only: the whole is as many times as large.
_OF_ONE = frozenset(
    (
        "c10d::allgather",
        "c10d::allgather_coalesced",
        "c10d::reduce_scatter",
        "c10d::scatter",
        "c10d::gather",
    )
)
#: Operators of which the root alone has a list of tensors beside its own: one tensor tells the whole on all ranks.
_ROOTED = frozenset(("c10d::scatter", "c10d::gather"))
#: Operators with outputs and inputs, as many of each: one of both is the whole.
_BOTH = frozenset(
    (
        "c10d::_allgather_base",
        "c10d::allgather_into_tensor_coalesced",
        "c10d::_reduce_scatter_base",
        "c10d::reduce_scatter_tensor_coalesced",
        "c10d::alltoall",
        "c10d::alltoall_base",
    )
)
#: Types of elements as HCCL names them; torch_npu reduces booleans as bytes.
_DATA_TYPES = {
    "c10::Half": "FP16",
    "c10::BFloat16": "BFP16",
    "float": "FP32",
    "double": "FP64",
    "long int": "INT64",
    "long": "INT64",
    "int": "INT32",
    "short int": "INT16",
    "signed char": "INT8",
    "unsigned char": "UINT8",
    "bool": "UINT8",
}


def type_of(signature: Signature) -> str | None:
    """Type of the operator on the device; None: it does not communicate."""
    name = _name(signature)
    type_ = _TYPES.get(name) if name.startswith(_PREFIX) else None
    # output, input, group, sizes of the output, sizes of the input
    if type_ == _TO_ALL and any(text not in ("", "[]") for text in signature.values[3:5]):
        return _TO_ALL_SIZES
    return type_


def transfer_of(call: Call, group: str, members: int) -> Transfer | None:
    """What an operator of a group of so many members does; None: it does not communicate."""
    signature = call.signature
    type_ = type_of(signature)
    if type_ is None:
        return None
    tensors = signature.tensors
    element = "float" if not tensors or _name(signature) == _BARRIER else tensors[0][1]
    item = TYPES.get(element, ("", 4))[1]
    size = max(_size(signature, item, members), item)
    return Transfer(group, type_, size, item, _DATA_TYPES.get(element, "FP32"))


def outputs_of(signature: Signature) -> list[int]:
    """Elements of each result."""
    sizes = [prod(shape) for shape, _ in signature.tensors]
    return sizes[: len(sizes) // 2] if _name(signature) in _BOTH else sizes


def _name(signature: Signature) -> str:
    return signature.name.rstrip("_")


def _size(signature: Signature, item: int, members: int) -> int:
    """Bytes of the whole tensor."""
    name = _name(signature)
    if name == _BARRIER:
        return item
    sizes = [prod(shape) for shape, _ in signature.tensors]
    if name in _BOTH:
        half = len(sizes) // 2
        return item * max(sum(sizes[:half]), sum(sizes[half:]))
    if name in _ROOTED:
        sizes = sizes[:1]
    return item * sum(sizes) * (members if name in _OF_ONE else 1)
