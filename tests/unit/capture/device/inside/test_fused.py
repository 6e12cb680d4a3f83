"""Fused operators: one record forward, one backward, values and gradients as PyTorch's own operators have them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Callable

import pytest
import torch
import torch_npu
from torch.nn import functional as F

from tb_npu_plugin.capture.device import records
from tb_npu_plugin.capture.device.fused import SCHEMAS
from tests.unit.capture.device.inside import names


def _half_rotation(x: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor) -> torch.Tensor:
    return x * cos + torch.cat((-x[..., 4:], x[..., :4]), -1) * sin


def _attend(layout: str, **options: Any) -> Callable[..., Any]:
    return lambda q, k, v: torch_npu.npu_fusion_attention(q, k, v, 2, layout, scale=0.5, **options)


def _sdpa(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, **options: Any) -> torch.Tensor:
    return F.scaled_dot_product_attention(q, k, v, scale=0.5, **options)


def _sdpa_bsh(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    heads = (t.unflatten(-1, (2, 4)).transpose(1, 2) for t in (q, k, v))
    return _sdpa(*heads).transpose(1, 2).flatten(2)


HIDDEN = torch.ones(5, 5, dtype=torch.bool).triu(1)
HEADS = [(2, 2, 5, 4)] * 3
CASES: list[tuple[str, Callable[..., Any], Callable[..., Any], Sequence[tuple[int, ...]]]] = [
    ("npu_rms_norm", torch_npu.npu_rms_norm, lambda x, g: F.rms_norm(x, (8,), g, 1e-6), [(3, 8), (8,)]),
    (
        "npu_add_rms_norm",
        torch_npu.npu_add_rms_norm,
        lambda x, y, g: F.rms_norm(x + y, (8,), g, 1e-6),
        [(3, 8), (3, 8), (8,)],
    ),
    ("npu_rotary_mul", torch_npu.npu_rotary_mul, _half_rotation, [(2, 3, 8)] * 3),
    ("npu_swiglu", torch_npu.npu_swiglu, lambda x: F.silu(x[:, :4]) * x[:, 4:], [(3, 8)]),
    ("npu_gelu", torch_npu.npu_gelu, F.gelu, [(3, 8)]),
    ("npu_silu", torch_npu.npu_silu, F.silu, [(3, 8)]),
    ("fast_gelu", torch_npu.npu_fast_gelu, lambda x: x * torch.sigmoid(1.702 * x), [(3, 8)]),
    (
        "npu_scaled_masked_softmax",
        lambda x: torch_npu.npu_scaled_masked_softmax(x, HIDDEN.to(x.device), 0.5, False),
        lambda x: F.softmax((x * 0.5).masked_fill(HIDDEN, -10000.0), -1),
        [(2, 2, 5, 5)],
    ),
    ("npu_linear", torch_npu.npu_linear, F.linear, [(3, 8), (4, 8), (4,)]),
    ("npu_format_cast", lambda x: torch_npu.npu_format_cast(x, 29), lambda x: x, [(3, 8)]),
    ("npu_fusion_attention", _attend("BNSD"), _sdpa, HEADS),
    ("npu_fusion_attention", _attend("BNSD", sparse_mode=2), lambda *t: _sdpa(*t, is_causal=True), HEADS),
    (
        "npu_fusion_attention",
        lambda q, k, v: _attend("BNSD", atten_mask=HIDDEN.to(q.device))(q, k, v),
        lambda *t: _sdpa(*t, is_causal=True),
        HEADS,
    ),
    ("npu_fusion_attention", _attend("BSH"), _sdpa_bsh, [(2, 5, 8)] * 3),
    (
        "npu_fusion_attention",
        _attend("TND", actual_seq_qlen=[2, 5], actual_seq_kvlen=[2, 5]),
        lambda q, k, v: torch.cat(
            [
                _sdpa(*(t[part].transpose(0, 1).unsqueeze(0) for t in (q, k, v))).squeeze(0).transpose(0, 1)
                for part in (slice(0, 2), slice(2, 5))
            ]
        ),
        [(5, 2, 4)] * 3,
    ),
    (
        "npu_grouped_matmul",
        lambda x, a, b: torch_npu.npu_grouped_matmul([x], [a, b], group_list=[2, 5], split_item=3, group_type=0),
        lambda x, a, b: torch.cat((x[:2] @ a, x[2:] @ b)),
        [(5, 4), (4, 6), (4, 6)],
    ),
]


@pytest.mark.parametrize(("name", "fused", "reference", "shapes"), CASES)
def test_one_operator_each_way_with_right_gradients(name: str, fused: Any, reference: Any, shapes: Any) -> None:
    torch.manual_seed(0)
    host = [torch.randn(shape, requires_grad=True) for shape in shapes]
    device = [tensor.detach().npu().requires_grad_() for tensor in host]
    wanted = reference(*host)
    grad = torch.randn(wanted.shape)
    device_grad = grad.npu()
    extra = [(HIDDEN.npu())]  # moved before the recording begins
    records.start()
    out = fused(*device)
    out = out if isinstance(out, torch.Tensor) else out[0]
    out.backward(device_grad)
    recording = records.stop()
    wanted.backward(grad)
    assert names(recording) == [f"npu::{name}", f"npu::{SCHEMAS[name].get('backward', f'{name}_backward')}"], extra
    torch.testing.assert_close(out.cpu(), wanted, atol=2e-6, rtol=1e-5)
    for a, b in zip(host, device):
        torch.testing.assert_close(b.grad.cpu(), a.grad, atol=2e-6, rtol=1e-5)


def test_attention_drops_the_same_weights_forward_and_backward() -> None:
    torch.npu.manual_seed(0)
    query = torch.randn(1, 1, 4, 4, device="npu")
    value = torch.eye(4, device="npu").reshape(1, 1, 4, 4).requires_grad_()
    out = torch_npu.npu_fusion_attention(query, query, value, 1, "BNSD", keep_prob=0.5)[0]
    out.sum().backward()
    assert torch.allclose(value.grad.sum(-1) / 4, out.detach().sum(-2)) and (out == 0).any()


def test_tokens_are_permuted_and_brought_back() -> None:
    tokens = torch.randn(4, 3, device="npu", requires_grad=True)
    experts = torch.tensor([[1, 0], [0, 1], [2, 0], [1, 2]], device="npu")
    probs = torch.full((4, 2), 0.5, device="npu")
    permuted, order = torch_npu.npu_moe_token_permute(tokens, experts)
    back = torch_npu.npu_moe_token_unpermute(permuted, order, probs)
    back.sum().backward()
    assert torch.allclose(back, tokens) and torch.allclose(tokens.grad.cpu(), torch.ones(4, 3))
    assert permuted[:3].equal(tokens[torch.tensor([0, 1, 2], device="npu")])


def test_the_fused_optimizer_is_one_operator() -> None:
    torch.manual_seed(0)
    host = torch.nn.Linear(4, 4)
    device = torch.nn.Linear(4, 4).npu()
    device.load_state_dict(host.state_dict())
    optimizers = torch.optim.AdamW(host.parameters()), torch_npu.optim.NpuFusedAdamW(device.parameters())
    for _ in range(3):
        for model, optimizer in zip((host, device), optimizers):
            optimizer.zero_grad()
            model(torch.ones(2, 4, device=model.weight.device)).square().sum().backward()
            records.start()
            optimizer.step()
            recording = records.stop()
    torch.testing.assert_close(device.weight.cpu(), host.weight, atol=1e-6, rtol=1e-5)
    assert names(recording) == ["aten::_foreach_add_.Scalar", "aten::_fused_adamw_"]
