"""torch_npu.optim: optimizers that step in one operator for all parameters of a group."""

from __future__ import annotations

from typing import Any

import torch

from tb_npu_plugin.capture.device.unsupported import raise_for

__getattr__ = raise_for("torch_npu.optim")


class NpuFusedAdamW(torch.optim.AdamW):  # type: ignore[misc]
    """AdamW, fused."""

    def __init__(
        self,
        params: Any,
        lr: float = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 1e-2,
        amsgrad: bool = False,
        *,
        maximize: bool = False,
    ) -> None:
        super().__init__(params, lr, betas, eps, weight_decay, amsgrad, maximize=maximize, fused=True)


class NpuFusedAdam(torch.optim.Adam):  # type: ignore[misc]
    """Adam, fused."""

    def __init__(
        self,
        params: Any,
        lr: float = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        amsgrad: bool = False,
    ) -> None:
        super().__init__(params, lr, betas, eps, weight_decay, amsgrad, fused=True)


class NpuFusedSGD(torch.optim.SGD):  # type: ignore[misc]
    """SGD, fused."""

    def __init__(
        self,
        params: Any,
        lr: float,
        momentum: float = 0,
        dampening: float = 0,
        weight_decay: float = 0,
        nesterov: bool = False,
    ) -> None:
        super().__init__(params, lr, momentum, dampening, weight_decay, nesterov, fused=True)
