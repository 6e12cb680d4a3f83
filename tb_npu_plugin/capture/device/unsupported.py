"""Names of torch_npu that the simulated device does not have."""

from __future__ import annotations

from typing import Any, Callable

#: What names with these beginnings stand for; the first that fits is taken.
_MEANINGS = {
    "graph capture": ("NPUGraph", "graph", "make_graphed"),
    "a stream or event of another library": ("External",),
    "memory pools": ("MemPool", "use_mem_pool"),
    "an allocator of your own": ("NPUPluggable", "change_current_allocator"),
    "raw device memory": ("caching_allocator",),
    "a snapshot of the allocator": ("memory_snapshot",),
    "quantized kernels": ("npu_quant", "npu_weight_quant", "npu_dynamic_quant"),
    "kernels that compute and communicate": ("npu_mm_all_reduce", "npu_all_gather", "npu_moe_distribute"),
    "paged attention": ("_npu_paged", "_npu_reshape_and_cache"),
    "attention for inference": ("npu_incre_flash", "npu_prompt_flash", "npu_fused_infer"),
    "compilation of graphs": ("_inductor", "dynamo"),
    "data dumps": ("init_dump", "set_dump", "finalize_dump"),
    "hardware checks": ("stress_detect", "check_uce"),
    "device recovery": ("stop_device", "restart_device"),
    "a fused operator": ("npu_",),
}


class NotSimulated(AttributeError):
    """A name of torch_npu that the simulated device does not have; hasattr() is False."""


def raise_for(module: str) -> Callable[[str], Any]:
    """The __getattr__ of `module` (its name as scripts write it)."""

    def find(name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(f"module {module!r} has no attribute {name!r}")
        meaning = next((text for text, starts in _MEANINGS.items() if name.startswith(starts)), "")
        described = f"{module}.{name} ({meaning})" if meaning else f"{module}.{name}"
        raise NotSimulated(f"{described} does not exist on the simulated NPU: see docs/capture.md for what it has")

    return find
