"""What the user switched on. Source: docs/facts/torch_npu_api.md, _ExperimentalConfig."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Options:
    """Capture settings. level -1 is Level_none: no kernels, only trace, operators and memory."""

    level: int = 1
    metrics: str = "ACL_AICORE_PIPE_UTILIZATION"
    shapes: bool = True
    memory: bool = True
    stack: bool = True
    l2_cache: bool = False
    cpu: bool = True
    npu: bool = True
    schedule: Mapping[str, int] | None = field(
        default_factory=lambda: {"wait": 0, "active": 1, "warmup": 1, "repeat": 1, "skip_first": 4}
    )
    metadata: Mapping[str, object] = field(default_factory=dict)
    export: tuple[str, ...] = ("text",)
    gc_threshold: float | None = None
    data_process: bool = False  # MindSpore: the data pipeline is profiled
    sys_io: bool = False
    sys_interconnection: bool = False
    batches: bool = False  # sends and receives are batches, as those of Megatron: see result.py
    built_in_marks: tuple[str, ...] = ()  # of mstx, those that the framework sets: see result.py

    @property
    def kernels(self) -> bool:
        return self.level >= 0

    @property
    def device(self) -> bool:
        """What runs on the device is recorded."""
        return self.npu and self.kernels
