"""Two ranks with DistributedDataParallel over hccl, and each kind of collective."""

import os
import sys

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

dist.init_process_group("hccl")
rank, world = dist.get_rank(), dist.get_world_size()
device = torch.device("npu", int(os.environ["LOCAL_RANK"]))
torch.npu.set_device(device)
torch.manual_seed(0)
model = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 2)).to(device)
whole = torch.randn(16, 8)
model = DistributedDataParallel(model, device_ids=[device.index])
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(3):
    optimizer.zero_grad()
    model(whole.chunk(world)[rank].to(device)).square().mean().backward()
    optimizer.step()

one = torch.full((2,), rank + 1.0, device=device)
dist.all_reduce(one, op=dist.ReduceOp.AVG)
assert one.tolist() == [1.5, 1.5]
parts = [torch.empty(1, dtype=torch.bool, device=device) for _ in range(world)]
dist.all_gather(parts, torch.tensor([rank == 1], device=device))
assert [part.item() for part in parts] == [False, True]
both = torch.empty(world, device=device)
dist.all_gather_into_tensor(both, torch.tensor([float(rank)], device=device))
assert both.tolist() == [0.0, 1.0]
mine = torch.empty(1, device=device)
dist.reduce_scatter_tensor(mine, torch.arange(2.0, device=device))
assert mine.item() == 2.0 * rank
got = torch.empty(world, device=device)
dist.all_to_all_single(got, torch.arange(2.0, device=device) + 10 * rank)
assert got.tolist() == [rank, 10.0 + rank]
lists = [torch.empty(1, device=device) for _ in range(world)]
dist.all_to_all(lists, [torch.full((1,), 10.0 * rank + peer, device=device) for peer in range(world)])
assert [one.item() for one in lists] == [rank, 10.0 + rank]
buffer = torch.empty(1, device=device)
sends = [
    dist.P2POp(dist.isend, torch.full((1,), float(rank), device=device), 1 - rank),
    dist.P2POp(dist.irecv, buffer, 1 - rank),
]
for work in dist.batch_isend_irecv(sends):
    work.wait()
assert buffer.item() == 1.0 - rank
ragged = [torch.empty(1 + peer, device=device) for peer in range(world)]  # parts of different sizes
dist.all_gather(ragged, torch.full((1 + rank,), float(rank), device=device))
assert [one.tolist() for one in ragged] == [[0.0], [1.0, 1.0]]
part = torch.empty(1 + rank, device=device)
dist.reduce_scatter(part, [torch.full((1 + peer,), float(peer), device=device) for peer in range(world)])
assert part.tolist() == [[0.0], [2.0, 2.0]][rank]
objects = [None] * world
dist.all_gather_object(objects, {"rank": rank})
assert objects == [{"rank": 0}, {"rank": 1}]
group = dist.new_group([0, 1])
dist.broadcast(buffer, 0, group=group)
dist.barrier()

norm, plain = nn.SyncBatchNorm(3).to(device), nn.BatchNorm1d(3)  # over all ranks, and over all data
x, y = torch.randn(5, 3, 4), torch.randn(5, 3, 4)
mine = slice(0, 2) if rank == 0 else slice(2, 5)
plain(x).mul(y).sum().backward()
norm(x[mine].to(device)).mul(y[mine].to(device)).sum().backward()
dist.all_reduce(norm.weight.grad)
torch.testing.assert_close(norm.weight.grad.cpu(), plain.weight.grad)
torch.testing.assert_close(norm.running_var.cpu(), plain.running_var)
if rank == 0:
    torch.save([p.grad.cpu() for p in model.parameters()], sys.argv[1])
dist.destroy_process_group()
