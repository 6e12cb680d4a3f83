"""A schedule without parsing, then analyse."""

import sys
from pathlib import Path

import torch
import torch_npu
from torch import nn
from torch_npu.profiler.profiler import analyse

if __name__ == "__main__":
    torch.manual_seed(0)
    result = str(Path(sys.argv[1]).parent / "offline")
    model = nn.Linear(8, 8).npu()
    with torch_npu.profiler.profile(
        schedule=torch_npu.profiler.schedule(wait=0, warmup=1, active=1, repeat=1),
        on_trace_ready=torch_npu.profiler.tensorboard_trace_handler(result, analyse_flag=False),
    ) as prof:
        for _ in range(3):
            model.zero_grad()
            model(torch.ones(4, 8).npu()).square().sum().backward()
            prof.step()
    assert not list(Path(result).rglob("trace_view.json"))
    analyse(result)
    assert list(Path(result).rglob("trace_view.json"))
    torch.save([p.grad.cpu() for p in model.parameters()], sys.argv[1])
