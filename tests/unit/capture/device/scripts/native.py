"""A transformer on the NPU with AdamW, clipping and a schedule of the learning rate."""

import sys

import torch
from torch import nn

torch.manual_seed(0)
torch.npu.set_device("npu:0")
layer = nn.TransformerEncoderLayer(32, 4, 64, dropout=0.0, batch_first=True)
model = nn.Sequential(nn.Embedding(50, 32), nn.TransformerEncoder(layer, 2), nn.Linear(32, 50))
tokens = torch.randint(50, (4, 12))
model, tokens = model.npu(), tokens.npu()
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 10)
for step in range(3):
    optimizer.zero_grad(set_to_none=True)
    loss = nn.functional.cross_entropy(model(tokens).flatten(0, 1), tokens.flatten())
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    schedule.step()
    print(step, loss.item())
torch.npu.synchronize()
torch.save([p.grad.cpu() for p in model.parameters()], sys.argv[1])
