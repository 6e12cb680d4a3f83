"""A small network with convolutions and attention, trained under the profiler."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tb_npu_plugin.capture import pytorch as profiler
from tests.oracle.raw import Raw


def train(
    out: Path,
    export: tuple[str, ...] = ("text",),
    npu: bool = True,
    active: int = 2,
    warmup: int = 1,
    **switches: Any,
) -> Path:
    """Train 2 steps and `active` more, which are recorded into a result folder below `out`; gives the folder."""
    import torch

    torch.set_num_threads(1)
    torch.manual_seed(0)
    image = torch.nn.Sequential(torch.nn.Conv2d(3, 16, 4, 4), torch.nn.BatchNorm2d(16), torch.nn.GELU())
    layer = torch.nn.TransformerEncoderLayer(16, 2, 32, dropout=0.1, batch_first=True)
    head = torch.nn.Linear(16, 5)
    optimizer = torch.optim.AdamW([*image.parameters(), *layer.parameters(), *head.parameters()])
    x, y = torch.randn(2, 3, 16, 16), torch.tensor([0, 1])
    settings = profiler._ExperimentalConfig(
        profiler_level=profiler.ProfilerLevel.Level1,
        export_type=list(export),
        aic_metrics=profiler.AiCMetrics.PipeUtilization,
        gc_detect_threshold=0.0,
    )
    with profiler.profile(
        activities=[profiler.ProfilerActivity.CPU] + [profiler.ProfilerActivity.NPU] * npu,
        schedule=profiler.schedule(wait=2 - warmup, warmup=warmup, active=active, repeat=1),
        on_trace_ready=profiler.tensorboard_trace_handler(str(out)),
        experimental_config=settings,
        **switches,
    ) as profile:
        for _ in range(2 + active):
            optimizer.zero_grad()
            loss = torch.nn.functional.cross_entropy(head(layer(image(x).flatten(2).transpose(1, 2)).mean(1)), y)
            loss.backward()
            optimizer.step()
            loss.item()
            profile.step()
    return next(out.glob("*_ascend_pt"), out)


def kernels(folder: Path) -> list[tuple[str, ...]]:
    """Step, name, type and shapes of the kernels of a result."""
    return [(row.get("Step Id", ""), row["Name"], row["Type"], row["Input Shapes"]) for row in Raw(folder).kernels]
