"""Which kernels the device runs for an operator that it recorded."""

from __future__ import annotations

from math import prod
from typing import Any

from tb_npu_plugin import __version__
from tb_npu_plugin.capture.device.records import Kind, Recording, Signature, TensorInfo, tensors_in
from tb_npu_plugin.capture.simulation.kernels import KernelFactory, plain_format
from tb_npu_plugin.capture.simulation.launch import EACH, SAME, Launch, has_rule
from tb_npu_plugin.capture.simulation.work import Tensor, Tensors

_COPY, _CAST, _MOVE = "aten::copy_", "aten::_to_copy", "aten::clone"


def launches_of(signature: Signature, kernels: KernelFactory) -> tuple[Launch, ...]:
    """What an operator launches."""

    def made(name: str, inputs: Tensors, outputs: Tensors) -> tuple[Launch, ...]:
        shapes, types = tuple(tensor.shape for tensor in inputs), tuple(tensor.type for tensor in inputs)
        return kernels.launches(name, shapes, types, outputs)

    name, first = operator_of(signature.name), signature.arguments[:1]
    inputs, outputs = _tensors(signature.inputs), _tensors(signature.outputs)
    if name.startswith(EACH) and not outputs:  # in place
        outputs = _tensors(tensors_in(first))
    if name == "npu::npu_apply_adam_w" and isinstance(first[0], tuple):
        # lists of parameters, gradients and both moments
        lists = [_tensors(tensors_in((one,))) for one in signature.arguments[:4]]
        return tuple(launch for each in zip(*lists) for launch in made(name, each, ()))
    if not any(prod(tensor.shape) for tensor in (*inputs, *outputs)):
        return ()  # empty tensors
    if name == _COPY:
        name, inputs = (_MOVE if inputs[0].type == inputs[-1].type else _CAST), inputs[-1:]
    if name in ("npu::npu_fusion_attention", "npu::npu_fusion_attention_grad"):
        inputs = _heads(signature, inputs[1:4] if name.endswith("grad") else inputs[:3])
    return made(name, inputs, outputs)


def operator_of(name: str) -> str:
    """The operator of a name with overload, as the rules have it. Of a list of tensors CANN has a kernel by overload."""
    if name in SAME:
        return SAME[name]
    name, _, overload = name.partition(".")
    if name.startswith(EACH):
        words = {"ScalarList": "scalar_list", "out": ""}.get(overload, overload.lower())
        return f"{name.rstrip('_')}_{words}".rstrip("_")
    return SAME.get(name, name)


def describe(log: Recording) -> dict[str, Any]:
    """The entry of profiler_metadata.json on the simulation. An operator without a rule is one kernel with the operator's name."""
    numbers = {int(number) for number in log.of(Kind.OPERATOR)["signature"]}
    names = {operator_of(log.signatures[number].name) for number in numbers}
    unknown = sorted(name for name in names if not has_rule(name))
    return {"by": f"tb-npu-plugin {__version__}", "operators_without_rule": unknown, "lost_records": log.lost}


def _tensors(tensors: tuple[TensorInfo, ...]) -> Tensors:
    """A number of Python counts as a scalar of the type of the tensors beside it."""
    real = next((one.dtype for one in tensors if not one.is_number), "float")
    return tuple(Tensor(one.shape, real if one.is_number else one.dtype, plain_format(one.shape)) for one in tensors)


def _heads(signature: Signature, inputs: Tensors) -> Tensors:
    """Query, key and value as batch, heads (N), sequence and width of a head (D)."""
    layout = next((value for value in signature.arguments if value in ("BSH", "SBH", "BSND", "TND", "BNSD")), "BNSD")
    heads = next((value for value in signature.arguments if isinstance(value, int) and not isinstance(value, bool)), 1)
    out = []
    for tensor in inputs:
        sizes = {"B": 1, **dict(zip(layout.replace("T", "S"), tensor.shape))}
        if "H" in sizes:
            sizes |= {"N": heads, "D": sizes["H"] // heads}
        out.append(tensor._replace(shape=tuple(sizes[axis] for axis in "BNSD")))
    return tuple(out)
