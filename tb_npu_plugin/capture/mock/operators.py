"""Which kernels the device would run for an operator that PyTorch ran on the CPU."""

from __future__ import annotations

import re
from math import prod

from tb_npu_plugin.capture.mock.kineto import Signature
from tb_npu_plugin.capture.simulation.kernels import KernelFactory
from tb_npu_plugin.capture.simulation.launch import Launch
from tb_npu_plugin.capture.simulation.rules import VIEWS, has_rule, rule_of
from tb_npu_plugin.capture.simulation.work import TYPES, Shape

#: Operators of the CPU -> those of the device that do the same.
_SAME = {
    "aten::_scaled_dot_product_flash_attention_for_cpu": "npu::npu_fusion_attention",
    "aten::_scaled_dot_product_flash_attention_for_cpu_backward": "npu::npu_fusion_attention_grad",
}
#: Operators that launch what those inside them launch.
_COMPOSED = frozenset({"aten::matmul"})
#: Operators that launch nothing themselves, beside VIEWS.
_HOST_ONLY = frozenset(
    f"aten::{name}"
    for name in (
        "to",
        "contiguous",
        "type_as",
        "view_as",
        "expand_as",
        "conv1d",
        "conv2d",
        "conv3d",
        "linear",
        "dropout",
        "detach_",
        "lift_fresh",
        "lift_fresh_copy",
        "result_type",
        "empty_permuted",
        "new_empty",
        "unflatten",
        "movedim",
        "swapaxes",
        "real",
        "resolve_conj",
        "resolve_neg",
        "_conj",
        "pin_memory",
        "is_pinned",
        "_nnpack_available",
        "unsafe_chunk",
        "unsafe_split",
        "split_with_sizes",
        "stride",
        "is_nonzero",
        "is_same_size",
        "requires_grad_",
        "broadcast_tensors",
        "atleast_1d",
        "diagonal",
        "unfold",
        "T",
        "mT",
        "new_empty_strided",
        "data",
        "retain_grad",
        "set_data",
        "_has_compatible_shallow_copy_type",
        "output_nr",
        "is_leaf",
        "_version",
        "squeeze_",
        "unsqueeze_",
        "t_",
        "transpose_",
        "as_strided_",
        "view_dtype",
        "dense_dim",
        "index_put_impl",
        "_fused_sdp_choice",
    )
)
_NUMBER = re.compile(r"-?\d+")
#: Operator whose result the host waits for.
ITEM = "aten::_local_scalar_dense"


def may_launch(name: str) -> bool:
    """An operator of this name launches kernels of its own, or communicates, for some shapes."""
    name = _SAME.get(name, name)
    return name.startswith(("aten::", "npu::", "c10d::")) and not (
        name in VIEWS or name in _HOST_ONLY or name in _COMPOSED or name == ITEM
    )


def owns(signature: Signature) -> bool:
    """It launches its kernels itself, whatever operators run inside it."""
    return (has_rule(signature.name) and signature.name not in _COMPOSED) or signature.name in _SAME


def launches(kernels: KernelFactory, signature: Signature) -> tuple[Launch, ...]:
    """Kernels of an operator, if none inside it launches any."""
    name = _SAME.get(signature.name, signature.name)
    if not may_launch(name) or name.startswith("c10d::"):
        return ()
    tensors = signature.tensors
    if any(not prod(shape) for shape, _ in tensors[:1]):
        return ()  # an empty tensor
    shapes, types = tuple(shape for shape, _ in tensors), tuple(type_ for _, type_ in tensors)
    if name == "aten::convolution" and len(shapes) >= 2:
        shapes, types = _convolution(shapes, signature), types[:1] * 3
    elif name == "aten::convolution_backward" and len(shapes) >= 3:
        shapes, types = tuple(_flat_image(shapes[at]) for at in (1, 2, 0)), types[:1] * 3
    elif name == "npu::npu_fusion_attention":
        shapes, types = shapes[:3], types[:3]
    elif name == "npu::npu_fusion_attention_grad":
        shapes, types = shapes[1:4], types[1:4]
    if not _fits(name, shapes):
        return ()
    return kernels.launches(name, shapes, tuple(type_ if type_ in TYPES else "float" for type_ in types))


def _fits(name: str, shapes: tuple[Shape, ...]) -> bool:
    """The shapes are those that the rule of the operator works on."""
    rule = rule_of(name)
    kind = rule.kind if rule else ""
    if kind == "matmul":
        return len(shapes) >= 2 and all(len(shape) >= 2 for shape in shapes[-2:])
    if kind in ("conv", "conv_grad"):
        return len(shapes) == 3 and all(len(shape) == 4 for shape in shapes)
    if kind == "attention":
        return len(shapes) == 3 and all(len(shape) == 4 for shape in shapes)
    if kind == "gather":
        return len(shapes) >= 2 and bool(shapes[0])
    return bool(shapes)


def _flat_image(shape: Shape) -> Shape:
    """(n, c, ...) as (n, c, h, w)."""
    if len(shape) == 3:
        return (shape[0], shape[1], 1, shape[2])
    return shape if len(shape) <= 4 else (*shape[:3], prod(shape[3:]))


def _convolution(shapes: tuple[Shape, ...], signature: Signature) -> tuple[Shape, ...]:
    """Input, weight and output of a convolution; its strides and so on are arguments 3 to 7."""
    image, weight = shapes[:2]
    numbers = [[int(number) for number in _NUMBER.findall(text)] for text in signature.values]
    turned = len(signature.values) > 6 and signature.values[6] == "True"
    out = [image[0], weight[1] if turned else weight[0]]
    for axis, (size, width) in enumerate(zip(image[2:], weight[2:])):
        stride, padding, dilation = (_at(numbers, which, axis, default) for which, default in ((3, 1), (4, 0), (5, 1)))
        reach = dilation * (width - 1)
        if turned:
            out.append((size - 1) * stride - 2 * padding + reach + 1)
        else:
            out.append((size + 2 * padding - reach - 1) // stride + 1)
    return _flat_image(image), _flat_image(weight), _flat_image(tuple(max(1, part) for part in out))


def _at(numbers: list[list[int]], which: int, axis: int, default: int) -> int:
    found = numbers[which] if which < len(numbers) else []
    return found[min(axis, len(found) - 1)] if found else default
