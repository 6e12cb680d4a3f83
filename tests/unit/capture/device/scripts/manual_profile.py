"""A profile between start() and stop(), with marks on a stream of its own."""

import sys
from pathlib import Path

import torch
import torch_npu
from torch import nn

torch.manual_seed(0)
model = nn.Linear(8, 8).npu()
x = torch.randn(4, 8).npu()
result = str(Path(sys.argv[1]).parent / "result")
prof = torch_npu.profiler.profile(
    activities=[torch_npu.profiler.ProfilerActivity.CPU, torch_npu.profiler.ProfilerActivity.NPU],
    on_trace_ready=torch_npu.profiler.tensorboard_trace_handler(result),
    record_shapes=True,
    profile_memory=True,
)
prof.start()
stream = torch.npu.Stream()
number = torch_npu.npu.mstx.range_start("forward", torch.npu.current_stream())
with torch.npu.stream(stream):
    out = model(x)
torch.npu.current_stream().wait_stream(stream)
torch_npu.npu.mstx.range_end(number)
out.sum().backward()
prof.stop()
assert list(Path(result).glob("*_ascend_pt/ASCEND_PROFILER_OUTPUT/trace_view.json"))
torch.save([p.grad.cpu() for p in model.parameters()], sys.argv[1])
