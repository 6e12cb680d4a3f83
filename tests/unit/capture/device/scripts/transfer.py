"""A convolutional network for CUDA, moved by transfer_to_npu."""

import os
import sys
from pathlib import Path

import torch
from torch import nn
from torch_npu.contrib import transfer_to_npu  # noqa: F401


def _scale(x: torch.Tensor) -> torch.Tensor:
    return x * torch.ones([1], device=x.device)


torch.manual_seed(0)
device = torch.device("cuda:0" if torch.cuda.is_available() else "cpu")
torch.cuda.set_device(0)
model = nn.Sequential(
    nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(128, 10)
).cuda()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
images, labels = torch.randn(16, 3, 8, 8), torch.randint(10, (16,))
with torch.profiler.profile(
    activities=[torch.profiler.ProfilerActivity.CPU, torch.profiler.ProfilerActivity.CUDA],
    schedule=torch.profiler.schedule(wait=1, warmup=1, active=1),
    on_trace_ready=torch.profiler.tensorboard_trace_handler(sys.argv[1] + ".trace"),
) as profile:
    for _ in range(3):
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(images.to("cuda", non_blocking=True)), labels.to(device))
        loss.backward()
        optimizer.step()
        profile.step()
assert list(Path(sys.argv[1] + ".trace").glob("*_ascend_pt/ASCEND_PROFILER_OUTPUT/kernel_details.csv"))
torch.cuda.synchronize()
assert loss.is_cuda and loss.device.type == "npu" and torch.cuda.max_memory_allocated() > 0
assert torch.jit.script(_scale)(loss).device.type == "npu"
assert torch.cuda.random.get_rng_state().numel() > 0 and torch.cuda.memory.memory_allocated() > 0
assert isinstance(torch.cuda.FloatTensor(2, 3), torch.cuda.FloatTensor)
assert not isinstance(loss, torch.cuda.LongTensor)
assert labels.type(torch.cuda.LongTensor).is_cuda and labels.type("torch.cuda.HalfTensor").dtype == torch.float16
torch.save(model.state_dict(), sys.argv[1] + ".state")
model.load_state_dict(torch.load(sys.argv[1] + ".state", map_location="cuda:0"))
torch.save([p.grad.cpu() for p in model.parameters()], sys.argv[1])
os.chdir(Path(sys.argv[1]).parent)  # names of files stay
torch.save(model.state_dict(), "cuda-model.pt")
torch.load("cuda-model.pt", map_location={"cuda:0": "cpu"})
torch.load(f="cuda-model.pt", map_location="cuda")
assert torch.set_default_tensor_type("torch.cuda.HalfTensor") is None
assert torch.ones(1).type() == "torch.npu.HalfTensor"
