"""The names of torch_npu: submodules, fused operators, optimizers."""

from __future__ import annotations

import sys
from functools import partial, partialmethod
from types import ModuleType
from typing import Any

import torch

from tb_npu_plugin.capture.device import fused, npu, raise_for
from tb_npu_plugin.schema.dialects import NEW

#: What npu_format_cast and get_npu_format call the plain format.
ND = 2


def fill(module: ModuleType, profiler: ModuleType) -> None:
    """Give the stand-in package torch_npu its names, and register its submodules. profiler: torch_npu.profiler."""
    custom = {name: partial(getattr(torch.amp, name), device_type="npu") for name in ("custom_fwd", "custom_bwd")}
    amp = _module("torch_npu.npu.amp", autocast=_Autocast, GradScaler=_GradScaler, **custom)
    vars(npu)["amp"] = amp
    _module("torch_npu.npu.amp.autocast_mode", autocast=_Autocast)
    _module("torch_npu.npu.amp.grad_scaler", GradScaler=_GradScaler)
    c10d = _module("torch_npu._C._distributed_c10d", ProcessGroupHCCL=ProcessGroupHCCL)
    optimizers = map(_fused, (torch.optim.AdamW, torch.optim.Adam, torch.optim.SGD))
    vars(module).update(
        SIMULATED=True,
        __version__=NEW.versions["torch_npu_version"],
        npu=npu,
        optim=_module("torch_npu.optim", **{one.__name__: one for one in optimizers}),
        profiler=profiler,
        utils=_module("torch_npu.utils", get_part_combined_tensor=None),
        _C=_module("torch_npu._C", _distributed_c10d=c10d),
        get_npu_format=npu._always(ND),  # the simulated memory knows no private formats
        empty_with_format=empty_with_format,
        erase_stream=npu._always(None),  # record_stream keeps nothing here
        __getattr__=raise_for("torch_npu"),
        **fused.FUNCTIONS,
    )
    sys.modules.update({"torch_npu.npu": npu, "torch.npu.amp": amp, "torch_npu.profiler": profiler})
    for name in ("memory", "random", "streams", "utils"):
        sys.modules[f"torch.npu.{name}"] = sys.modules[f"torch_npu.npu.{name}"] = npu
    for name in ("profiler", "dynamic_profile"):
        sys.modules[f"torch_npu.profiler.{name}"] = getattr(profiler, name)


def _module(name: str, **content: Any) -> ModuleType:
    out = ModuleType(name, "Part of the simulated torch_npu.")
    vars(out).update(content, __path__=[], __getattr__=raise_for(name))
    sys.modules[name] = out
    return out


class _Autocast(torch.amp.autocast_mode.autocast):  # type: ignore[misc]
    """torch_npu.npu.amp.autocast: float16 by default."""

    def __init__(self, enabled: bool = True, dtype: Any = torch.float16, cache_enabled: bool = True) -> None:
        super().__init__("npu", enabled=enabled, dtype=dtype, cache_enabled=cache_enabled)


class _GradScaler(torch.amp.GradScaler):  # type: ignore[misc]
    """torch_npu.npu.amp.GradScaler; `dynamic` changes nothing here."""

    def __init__(
        self,
        init_scale: float = 2.0**16,
        growth_factor: float = 2.0,
        backoff_factor: float = 0.5,
        growth_interval: int = 2000,
        dynamic: bool = True,
        enabled: bool = True,
    ) -> None:
        super().__init__("npu", init_scale, growth_factor, backoff_factor, growth_interval, enabled)


class ProcessGroupHCCL:
    """What scripts name of torch_npu's class: its options, `pg_options` of new_group, which change nothing here."""

    class Options:
        """hccl_config: hccl_buffer_size, hccl_algo and others."""

        def __init__(self, is_high_priority_stream: bool = False) -> None:
            self.is_high_priority_stream = is_high_priority_stream
            self.hccl_config: dict[str, Any] = {}
            self.global_ranks_in_group: list[int] = []
            self.group_id = ""


def _fused(optimizer: Any) -> Any:
    """NpuFused<optimizer>: one operator steps all parameters of a group; the arguments have torch_npu's order."""
    own = {"__init__": partialmethod(optimizer.__init__, fused=True), "__module__": "torch_npu.optim"}
    return type(f"NpuFused{optimizer.__name__}", (optimizer,), own)


def empty_with_format(
    size: Any, dtype: Any = None, layout: Any = None, device: Any = None, pin_memory: Any = None, acl_format: int = ND
) -> Any:
    """An empty tensor; the format is not kept."""
    return torch.empty(size, dtype=dtype, device="npu" if device is None else device)
