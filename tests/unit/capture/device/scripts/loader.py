"""A DataLoader with workers of both kinds and pinned memory."""

import sys

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def main():
    torch.manual_seed(0)
    model = nn.Linear(8, 2).npu()
    data = TensorDataset(torch.randn(64, 8), torch.randn(64, 2))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for context in ("fork", "spawn"):
        device = {} if hasattr(torch, "accelerator") else {"pin_memory_device": "npu"}  # before 2.6 the device is named
        loader = DataLoader(data, 16, num_workers=2, pin_memory=True, multiprocessing_context=context, **device)
        for x, y in loader:
            assert x.is_pinned()
            optimizer.zero_grad()
            nn.functional.mse_loss(model(x.npu(non_blocking=True)), y.to("npu", non_blocking=True)).backward()
            optimizer.step()
    torch.save([p.grad.cpu() for p in model.parameters()], sys.argv[1])


if __name__ == "__main__":
    main()
