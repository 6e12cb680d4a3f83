"""Fused operators of torch_npu, `torch.ops.npu.*`: forward and backward are one operator of the device each.

Each is written once, as what it computes. It is registered as a kernel of the CPU: on the device the fallback
(native/fallback.cpp) runs it on the device's memory and records one operator. Its backward operator differentiates the
same function.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Callable, Optional

import torch
import torch.nn.functional as F
from torch.utils._pytree import tree_flatten, tree_leaves, tree_unflatten

from tb_npu_plugin.csv_tables import read_table

Function = Callable[..., Any]
_library = torch.library.Library("npu", "FRAGMENT")
#: Name in torch_npu -> function.
FUNCTIONS: dict[str, Function] = {}


#: Operator -> "arguments", "returns" of its schema; "backward": in torch_npu, where that is not `<operator>_backward`.
SCHEMAS = read_table(__file__, "fused.csv", dict[str, str])


def _fused(name: str) -> Callable[[Function], Function]:
    """Register what the function computes as the operator of this name."""

    def register(function: Function) -> Function:
        _library.define(f"{name}({SCHEMAS[name]['arguments']}) -> {SCHEMAS[name]['returns']}")
        operator = FUNCTIONS[name] = getattr(torch.ops.npu, name).default
        _library.impl(name, lambda *values, **options: function(*_complete(operator, values, options)), "CPU")
        _differentiate(name, function, operator)
        return function

    return register


def _complete(operator: Any, values: Sequence[Any], options: dict[str, Any]) -> list[Any]:
    """All arguments in the order of the schema; PyTorch leaves out those that equal their defaults."""
    arguments = operator._schema.arguments
    given = {**dict(zip((argument.name for argument in arguments), values)), **options}
    return [given.get(argument.name, argument.default_value) for argument in arguments]


def _differentiate(name: str, function: Function, operator: Any) -> None:
    """Define the backward operator (grads, the arguments, wanted) and link it with the operator.

    wanted: numbers of the leaves (pytree) of the arguments whose gradients it returns.
    """
    backward = SCHEMAS[name].get("backward", f"{name}_backward")
    arguments = SCHEMAS[name]["arguments"].replace("*, ", "")
    _library.define(f"{backward}(Tensor?[] grads, {arguments}, int[] wanted) -> Tensor[]")
    names = [argument.name for argument in operator._schema.arguments]

    def compute(grads: Sequence[Any], *arguments: Any) -> list[Any]:
        *values, wanted = arguments
        with _autograd_of_the_host():
            leaves, spec = tree_flatten(values)
            for number in wanted:
                leaves[number] = leaves[number].detach().requires_grad_()
            results = tree_leaves(function(*tree_unflatten(leaves, spec)))
            pairs = [(out, grad) for out, grad in zip(results, grads) if grad is not None and out.requires_grad]
            inputs = [leaves[number] for number in wanted]
            outs, gradients = zip(*pairs)
            found = torch.autograd.grad(outs, inputs, gradients, allow_unused=True)
        return [torch.zeros_like(leaf) if grad is None else grad for leaf, grad in zip(inputs, found)]

    _library.impl(backward, compute, "CPU")
    backward_operator = getattr(torch.ops.npu, backward).default

    class Node(torch.autograd.Function):  # type: ignore[misc]
        @staticmethod
        def forward(ctx: Any, spec: Any, *leaves: Any) -> Any:
            ctx.set_materialize_grads(False)
            ctx.spec, ctx.others = spec, [None if isinstance(leaf, torch.Tensor) else leaf for leaf in leaves]
            ctx.save_for_backward(*(leaf if isinstance(leaf, torch.Tensor) else None for leaf in leaves))
            with torch._C._AutoDispatchBelowAutograd():
                out = operator(**dict(zip(names, tree_unflatten(leaves, spec))))
            return tuple(out) if isinstance(out, list) else out

        @staticmethod
        def backward(ctx: Any, *grads: Any) -> Any:
            leaves = [other if leaf is None else leaf for leaf, other in zip(ctx.saved_tensors, ctx.others)]
            wanted = [number for number, is_needed in enumerate(ctx.needs_input_grad[1:]) if is_needed]
            given = [grad if isinstance(grad, torch.Tensor) else None for grad in grads]
            with torch._C._AutoDispatchBelowAutograd():
                found = backward_operator(given, *tree_unflatten(leaves, ctx.spec), wanted)
            by_leaf = dict(zip(wanted, found))
            return (None, *map(by_leaf.get, range(len(leaves))))

    Node.__name__ = Node.__qualname__ = "".join(part.capitalize() for part in name.split("_"))

    def with_gradient(*values: Any, **options: Any) -> Any:
        leaves, spec = tree_flatten(_complete(operator, values, options))
        out = Node.apply(spec, *leaves)
        return list(out) if operator._schema.returns[0].type.kind() == "ListType" else out

    _library.impl(name, with_gradient, "AutogradPrivateUse1")


@contextmanager
def _autograd_of_the_host() -> Iterator[None]:
    """Switch autograd on, without which kernels run."""
    excluded = torch._C._dispatch_tls_local_exclude_set()
    for key in ("AutogradFunctionality", "ADInplaceOrView", "AutogradOther"):
        excluded = excluded.remove(getattr(torch._C.DispatchKey, key))
    with torch._C._ForceDispatchKeyGuard(torch._C._dispatch_tls_local_include_set(), excluded), torch.enable_grad():
        yield


#: Those of one expression each.
_EXPRESSIONS: dict[str, Function] = {
    "npu_gelu": lambda x, how: F.gelu(x, approximate=how),
    "fast_gelu": lambda x: x * torch.sigmoid(1.702 * x),
    "npu_silu": F.silu,
    "npu_dtype_cast": lambda x, dtype: x.to(dtype, copy=True),
    "npu_format_cast": lambda x, acl_format: x.clone(),
    "npu_linear": F.linear,
}
for _name, _expression in _EXPRESSIONS.items():
    _fused(_name)(_expression)
FUNCTIONS["npu_fast_gelu"] = FUNCTIONS["fast_gelu"]


@_fused("npu_rms_norm")
def _rms_norm(x: Any, gamma: Any, epsilon: float) -> tuple[Any, Any]:
    wide = x.float() if x.dtype != torch.float64 else x
    dims = tuple(range(x.dim() - gamma.dim(), x.dim()))
    rstd = torch.rsqrt(wide.square().mean(dims, keepdim=True) + epsilon)
    return (wide * rstd * gamma).to(x.dtype), rstd


@_fused("npu_add_rms_norm")
def _add_rms_norm(x1: Any, x2: Any, gamma: Any, epsilon: float) -> tuple[Any, Any, Any]:
    x = x1 + x2
    return (*_rms_norm(x, gamma, epsilon), x)


@_fused("npu_rotary_mul")
def _rotary_mul(x: Any, cos: Any, sin: Any, mode: str) -> Any:
    if mode == "interleave":
        turned = torch.stack((-x[..., 1::2], x[..., ::2]), -1).flatten(-2)
    else:
        first, second = x.chunk(2, -1)
        turned = torch.cat((-second, first), -1)
    return x * cos + turned * sin


@_fused("npu_swiglu")
def _swiglu(x: Any, dim: int) -> Any:
    gate, value = x.chunk(2, dim)
    return F.silu(gate) * value


@_fused("npu_geglu")
def _geglu(x: Any, dim: int, approximate: int, activate_left: bool) -> tuple[Any, Any]:
    left, right = x.chunk(2, dim)
    value, gate = (right, left) if activate_left else (left, right)
    activated = F.gelu(gate, approximate="tanh" if approximate else "none")
    return value * activated, activated


@_fused("npu_scaled_masked_softmax")
def _scaled_masked_softmax(x: Any, mask: Any, scale: float, fixed_triu_mask: bool) -> Any:
    if fixed_triu_mask:
        mask = torch.ones(x.shape[-2:], dtype=torch.bool).triu(1)
    return torch.softmax((x.float() * scale).masked_fill(mask.bool(), -10000.0), -1).to(x.dtype)


@_fused("npu_confusion_transpose")
def _confusion_transpose(x: Any, perm: Sequence[int], shape: Sequence[int], transpose_first: bool) -> Any:
    out = x.permute(perm).reshape(shape) if transpose_first else x.reshape(shape).permute(perm)
    return out.clone(memory_format=torch.contiguous_format)


@_fused("npu_grouped_matmul")
def _grouped_matmul(x: Any, weight: Any, bias: Any, group_list: Any, split_item: int, group_type: int) -> list[Any]:
    if group_type == 2:  # groups of the inner dimension: gradients of weights
        parts = zip(*(_split(tensor, group_list, axis) for tensor, axis in ((x[0], 1), (weight[0], 0))))
        return [torch.stack([left @ right for left, right in parts])]
    weights = list(weight[0].unbind(0)) if len(weight) == 1 and weight[0].dim() == 3 else list(weight)
    inputs = _split(x[0], group_list, 0) if len(x) == 1 and group_list else list(x)
    biases = [None] * len(weights) if not bias else list(bias[0].unbind(0)) if len(bias) == 1 else list(bias)
    products = [left @ right for left, right in zip(inputs, weights)]
    outs = [product if extra is None else product + extra for product, extra in zip(products, biases)]
    return [torch.cat(outs)] if split_item in (2, 3) else outs


def _split(tensor: Any, ends: Sequence[int], axis: int) -> list[Any]:
    """Pieces of a tensor that end there."""
    return [tensor.narrow(axis, begin, end - begin) for begin, end in zip([0, *ends[:-1]], ends)]


def npu_grouped_matmul(
    x: Any,
    weight: Any,
    *,
    bias: Any = None,
    group_list: Any = None,
    split_item: Optional[int] = 0,
    group_type: Optional[int] = -1,
    group_list_type: Optional[int] = 0,
    **others: Any,
) -> Any:
    """torch_npu.npu_grouped_matmul for floating-point weights. group_list: ends of the groups (group_list_type 0) or
    their sizes (1), as numbers or as a tensor, which the host reads."""
    if unknown := [name for name, value in others.items() if value not in (None, [], 0)]:
        raise NotImplementedError(f"npu_grouped_matmul of the simulated NPU has no {', '.join(unknown)}")
    ends = group_list.tolist() if isinstance(group_list, torch.Tensor) else group_list
    if ends and group_list_type == 1:
        ends = torch.tensor(ends).cumsum(0).tolist()
    kind = -1 if group_type is None else group_type
    options = {"bias": bias, "group_list": ends, "split_item": split_item or 0, "group_type": kind}
    return torch.ops.npu.npu_grouped_matmul(x, weight, **options)


FUNCTIONS["npu_grouped_matmul"] = npu_grouped_matmul


@_fused("npu_moe_token_permute")
def _moe_token_permute(tokens: Any, indices: Any, num_out_tokens: Optional[int], padded_mode: bool) -> tuple[Any, Any]:
    choices = indices.shape[1] if indices.dim() > 1 else 1
    order = torch.argsort(indices.reshape(-1), stable=True)
    kept = order if not num_out_tokens else order[:num_out_tokens]
    return tokens.index_select(0, kept // choices), torch.argsort(order).int()


@_fused("npu_moe_token_unpermute")
def _moe_token_unpermute(tokens: Any, indices: Any, probs: Any, padded_mode: bool, restore_shape: Any) -> Any:
    choices = probs.shape[1] if probs is not None and probs.dim() > 1 else 1
    missing = indices.numel() - tokens.shape[0]
    if missing > 0:
        tokens = F.pad(tokens, (0, 0, 0, missing))
    out = tokens.index_select(0, indices.long()).reshape(-1, choices, tokens.shape[-1])
    return (out if probs is None else out * probs.reshape(-1, choices, 1)).sum(1).to(tokens.dtype)


@_fused("npu_fusion_attention")
def _fusion_attention(
    query: Any, key: Any, value: Any, heads: int, layout: str, pse: Any, padding_mask: Any, mask: Any, scale: float,
    keep: float, before: int, after: int, inner_precise: int, prefix: Any, query_ends: Any, key_ends: Any, sparse_mode: int,
    gen_mask_parallel: bool, sync: bool, seed: int,
) -> tuple[Any, ...]:  # fmt: skip
    if layout == "TND":
        pieces = zip(_split(query, query_ends, 0), _split(key, key_ends, 0), _split(value, key_ends, 0))
        inputs = [tuple(tensor.transpose(0, 1).unsqueeze(0) for tensor in piece) for piece in pieces]
    else:
        inputs = [tuple(_to_heads(tensor, layout, heads, query) for tensor in (query, key, value))]
    hidden = [_hidden(mask, sparse_mode, q.shape[2], k.shape[2], before, after) for q, k, _ in inputs]
    attended = [_attend(q, k, v, pse, hidden[at], scale, keep, seed + at) for at, (q, k, v) in enumerate(inputs)]
    outs, maxima, sums = zip(*attended)
    if layout == "TND":
        out = torch.cat([piece.squeeze(0).transpose(0, 1) for piece in outs])
    else:
        out = outs[0].permute(["BNSD".index(axis) for axis in layout.replace("H", "ND")]).contiguous()
        out = out.flatten(2) if "H" in layout else out
    dropped = 0 if keep == 1 else sum(q.shape[0] * q.shape[1] * q.shape[2] * k.shape[2] for q, k, _ in inputs)
    return out, torch.cat(maxima, 2), torch.cat(sums, 2), query.new_empty(0), seed, 0, dropped


def _to_heads(tensor: Any, layout: str, heads: int, query: Any) -> Any:
    """batch, head, sequence, width of a head; keys and values may have fewer heads than the query."""
    if layout not in ("BSH", "SBH", "BSND", "BNSD"):
        raise ValueError(f"input_layout must be BSH, SBH, BSND, BNSD or TND, and is {layout!r}")
    if "H" in layout:
        width = query.shape[-1] // heads
        tensor = tensor.unflatten(-1, (tensor.shape[-1] // width, width))
    return tensor.permute([layout.replace("H", "ND").index(axis) for axis in "BNSD"])


def _hidden(mask: Any, sparse_mode: int, rows: int, columns: int, before: int, after: int) -> Any:
    """What each position may not see, True or 1; None: all may be seen."""
    row, column = torch.arange(rows)[:, None], torch.arange(columns)[None]
    offset = column - (columns - rows) - row
    if sparse_mode == 2:  # causal, from the first position on
        return column > row
    if sparse_mode == 3:  # causal, up to the last position
        return offset > 0
    if sparse_mode == 4:  # a band that ends at the last position
        return (offset > after) | (offset < -before)
    if sparse_mode > 1:
        raise NotImplementedError(f"npu_fusion_attention of the simulated NPU has no sparse_mode={sparse_mode}")
    if mask is None:
        return None
    hidden = mask.bool()
    if sparse_mode == 0 and (before < rows or after < columns):
        hidden = hidden | (column - row > after) | (row - column > before)
    return hidden


def _attend(
    q: Any, k: Any, v: Any, pse: Any, hidden: Any, scale: float, keep: float, seed: int
) -> tuple[Any, Any, Any]:
    repeats = q.shape[1] // k.shape[1]
    if repeats > 1:
        k, v = k.repeat_interleave(repeats, 1), v.repeat_interleave(repeats, 1)
    wide = q.dtype if q.dtype == torch.float64 else torch.float32
    scores = q.to(wide) @ k.to(wide).transpose(-1, -2) * scale
    if pse is not None:
        scores = scores + pse
    if hidden is not None:
        scores = scores.masked_fill(hidden, torch.finfo(wide).min)
    maximum = scores.detach().amax(-1, keepdim=True)
    exponents = torch.exp(scores - maximum)
    total = exponents.sum(-1, keepdim=True)
    weights = exponents / total
    if keep < 1:
        generator = torch.Generator().manual_seed(seed)
        weights = weights * torch.empty_like(weights).bernoulli_(keep, generator=generator) / keep
    out = (weights @ v.to(wide)).to(q.dtype)
    return out, maximum.expand(*maximum.shape[:-1], 8), total.detach().expand(*total.shape[:-1], 8)


def npu_fusion_attention(
    query: Any, key: Any, value: Any, head_num: int, input_layout: str, *values: Any, **options: Any
) -> Any:
    """torch_npu.npu_fusion_attention; with keep_prob below 1 the dropout comes from the device's generator."""
    keep = values[4] if len(values) > 4 else options.get("keep_prob", 1.0)
    if keep < 1 and query.device.type == "npu":
        generator, host = torch.npu.default_generators[query.device.index], torch.Generator()
        host.set_state(generator.get_state())
        options["seed"] = int(torch.randint(2**31, (1,), generator=host))
        generator.set_state(host.get_state())
    for name in ("actual_seq_qlen", "actual_seq_kvlen"):
        if isinstance(options.get(name), torch.Tensor):
            options[name] = options[name].tolist()
    return torch.ops.npu.npu_fusion_attention(query, key, value, head_num, input_layout, *values, **options)


FUNCTIONS["npu_fusion_attention"] = npu_fusion_attention
