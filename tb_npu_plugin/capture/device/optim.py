"""torch_npu.optim: optimizers that step in one operator for all parameters of a group."""

from __future__ import annotations

from typing import Any

import torch

from tb_npu_plugin.capture.device.unsupported import raise_for

__getattr__ = raise_for("torch_npu.optim")


class _Fused:
    """In front of an optimizer of PyTorch, whose arguments come in the same order as torch_npu's."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, fused=True, **options)  # type: ignore[call-arg]


class NpuFusedAdamW(_Fused, torch.optim.AdamW):  # type: ignore[misc]
    """AdamW, fused."""


class NpuFusedAdam(_Fused, torch.optim.Adam):  # type: ignore[misc]
    """Adam, fused."""


class NpuFusedSGD(_Fused, torch.optim.SGD):  # type: ignore[misc]
    """SGD, fused."""
