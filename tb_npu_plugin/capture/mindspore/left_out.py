"""What the simulated NPU leaves out of a capture: said on the console, and in the result (`tb_npu_simulated`)."""

from __future__ import annotations

import functools
import inspect
import time
from typing import Any

from mindspore import log

from tb_npu_plugin.schema.torch_npu_json import MEMORY_BLOCKS, SUNK_GRAPH

_TEXTS = {
    MEMORY_BLOCKS: "profile_memory: the simulated NPU has no blocks of memory, so operator_memory.csv has no rows",
    SUNK_GRAPH: "A sunk graph: the simulated NPU launches each operator of each step, where an NPU launches the graph once",
}
_running = 0
_ended = 0


def watch_sinking() -> None:
    """Notice from now on when Model.train sinks its data: on the CPU it runs step by step."""
    from mindspore.train.model import Model

    own, signature = Model.train, inspect.signature(Model.train)

    @functools.wraps(own)
    def train(*args: Any, **kwargs: Any) -> Any:
        global _running, _ended
        sinks = bool(signature.bind(*args, **kwargs).arguments.get("dataset_sink_mode"))
        _running += sinks
        try:
            return own(*args, **kwargs)
        finally:
            _running -= sinks
            _ended = time.time_ns() if sinks else _ended

    Model.train = train


def say_left_out(started: int, has_memory: bool, jit_level: str) -> list[str]:
    """What a capture that began at `started` (ns) leaves out; each is one warning."""
    is_sunk = _running > 0 or _ended > started or jit_level == "O2"
    out = [name for name, is_left_out in ((MEMORY_BLOCKS, has_memory), (SUNK_GRAPH, is_sunk)) if is_left_out]
    for name in out:
        log.warning(f"{_TEXTS[name]}.")
    return out
