"""Names of torch_npu that the simulated device does not have."""

from __future__ import annotations

from typing import Any, Callable

#: What the beginning of a name stands for; the first that fits is taken.
_MEANINGS = {
    "NPUGraph": "graph capture",
    "graph": "graph capture",
    "make_graphed": "graph capture",
    "External": "a stream or event of another library",
    "MemPool": "memory pools",
    "use_mem_pool": "memory pools",
    "NPUPluggable": "an allocator of your own",
    "change_current_allocator": "an allocator of your own",
    "caching_allocator": "raw device memory",
    "memory_snapshot": "a snapshot of the allocator",
    "npu_quant": "quantized kernels",
    "npu_weight_quant": "quantized kernels",
    "npu_dynamic_quant": "quantized kernels",
    "npu_mm_all_reduce": "kernels that compute and communicate",
    "npu_all_gather": "kernels that compute and communicate",
    "npu_moe_distribute": "kernels that compute and communicate",
    "_npu_paged": "paged attention",
    "_npu_reshape_and_cache": "paged attention",
    "npu_incre_flash": "attention for inference",
    "npu_prompt_flash": "attention for inference",
    "npu_fused_infer": "attention for inference",
    "_C": "the native module of torch_npu",
    "_inductor": "compilation of graphs",
    "dynamo": "compilation of graphs",
    "init_dump": "data dumps",
    "set_dump": "data dumps",
    "finalize_dump": "data dumps",
    "stress_detect": "hardware checks",
    "check_uce": "hardware checks",
    "stop_device": "device recovery",
    "restart_device": "device recovery",
    "npu_": "a fused operator",
}


class NotSimulated(AttributeError):
    """A name of torch_npu that the simulated device does not have; hasattr() is False."""


def raise_for(module: str) -> Callable[[str], Any]:
    """The __getattr__ of `module` (its name as scripts write it)."""

    def find(name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(f"module {module!r} has no attribute {name!r}")
        meaning = next((text for start, text in _MEANINGS.items() if name.startswith(start)), "")
        described = f"{module}.{name} ({meaning})" if meaning else f"{module}.{name}"
        raise NotSimulated(f"{described} does not exist on the simulated NPU: see docs/capture.md for what it has")

    return find
