"""Two ranks with FSDP2 on a device mesh."""

import os
import sys

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard

torch.npu.set_device(int(os.environ["LOCAL_RANK"]))
mesh = init_device_mesh("npu", (int(os.environ["WORLD_SIZE"]),))
rank = dist.get_rank()
torch.manual_seed(0)
model = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 2)).npu()
fully_shard(model[0], mesh=mesh)
fully_shard(model, mesh=mesh)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
whole = torch.randn(16, 8)
for _ in range(3):
    optimizer.zero_grad()
    model(whole.chunk(2)[rank].npu()).square().mean().backward()
    optimizer.step()
replica = nn.parallel.DistributedDataParallel(nn.Linear(8, 2).npu())  # the mesh named no backend
replica(whole.npu()).sum().backward()
grads = [p.grad.full_tensor().cpu() for p in model.parameters()]
if rank == 0:
    torch.save(grads, sys.argv[1])
dist.destroy_process_group()
