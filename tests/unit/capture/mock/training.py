"""A small network with convolutions and attention, trained under the profiler."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import Any

from tb_npu_plugin.capture import pytorch as profiler


def train(
    out: Path,
    level: str = "Level1",
    export: tuple[str, ...] = ("text",),
    npu: bool = True,
    active: int = 2,
    warmup: int = 1,
    cpu: bool = True,
    metrics: str = "PipeUtilization",
    config: dict[str, Any] | None = None,
    **switches: Any,
) -> Path:
    """Train 2 steps and `active` more, which are recorded into a result folder below `out`; gives the folder.

    config: more of _ExperimentalConfig; switches: of profile."""
    import torch

    torch.set_num_threads(1)
    torch.manual_seed(0)
    image = torch.nn.Sequential(torch.nn.Conv2d(3, 16, 4, 4), torch.nn.BatchNorm2d(16), torch.nn.GELU())
    layer = torch.nn.TransformerEncoderLayer(16, 2, 32, dropout=0.1, batch_first=True)
    head = torch.nn.Linear(16, 5)
    parameters = [*image.parameters(), *layer.parameters(), *head.parameters()]
    optimizer = torch.optim.AdamW(parameters)
    x, y = torch.randn(2, 3, 16, 16), torch.tensor([0, 1])
    settings = profiler._ExperimentalConfig(
        profiler_level=getattr(profiler.ProfilerLevel, level),
        export_type=list(export),
        aic_metrics=getattr(profiler.AiCMetrics, metrics),
        mstx=level == "Level2",
        **(config or {}),
    )
    activities = [profiler.ProfilerActivity.CPU] * cpu + [profiler.ProfilerActivity.NPU] * npu
    with profiler.profile(
        activities=activities,
        schedule=profiler.schedule(wait=2 - warmup, warmup=warmup, active=active, repeat=1),
        on_trace_ready=profiler.tensorboard_trace_handler(str(out)),
        experimental_config=settings,
        **switches,
    ) as profile:
        for _ in range(2 + active):
            with contextlib.ExitStack() as stack:
                if level in ("Level2", "Level_none"):
                    stack.enter_context(profiler.mstx.annotate("a range"))
                optimizer.zero_grad()
                loss = torch.nn.functional.cross_entropy(head(layer(image(x).flatten(2).transpose(1, 2)).mean(1)), y)
                loss.backward()
                optimizer.step()
                loss.item()
            profile.step()
    found = list(out.glob("*_ascend_pt"))
    return found[0] if found else out
