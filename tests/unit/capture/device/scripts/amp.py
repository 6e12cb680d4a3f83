"""Mixed precision with a gradient scaler."""

import sys

import torch
from torch import nn
from torch_npu.npu.amp import GradScaler, autocast

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(16, 64), nn.GELU(), nn.LayerNorm(64), nn.Linear(64, 4)).to("npu")
inputs, targets = torch.randn(32, 16).npu(), torch.randn(32, 4).npu()
optimizer, scaler = torch.optim.SGD(model.parameters(), lr=0.1), GradScaler(init_scale=128.0)
for _ in range(3):
    optimizer.zero_grad()
    with autocast(dtype=torch.bfloat16):
        out = model(inputs)
        assert out.dtype == torch.bfloat16
        loss = nn.functional.mse_loss(out, targets)
    assert loss.dtype == torch.float32
    scaler.scale(loss).backward()
    scaler.unscale_(optimizer)
    scaler.step(optimizer)
    scaler.update()
with torch.autocast("npu", torch.bfloat16):
    product = inputs @ inputs.T
assert product.dtype == torch.bfloat16
torch.save([p.grad.cpu() for p in model.parameters()], sys.argv[1])
