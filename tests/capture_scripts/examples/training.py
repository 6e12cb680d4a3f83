"""What the vendor's examples leave out ("..."): a tiny training. Scripts that import it are the examples themselves."""

from __future__ import annotations

from typing import Any

import torch

steps = 18
epochs = 3
model = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.ReLU(), torch.nn.Linear(16, 2))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
criterion = torch.nn.CrossEntropyLoss()
train_loader = [(torch.ones(4, 8), torch.zeros(4, dtype=torch.long)) for _ in range(steps)]


def train_one_step(*arguments: Any) -> None:
    """One forward, backward and update."""
    step = arguments[0] if arguments else 0
    inputs, targets = train_loader[step]
    optimizer.zero_grad()
    criterion(model(inputs), targets).backward()
    optimizer.step()


def trian_model_step() -> None:
    """So it is spelled in the example."""
    train_one_step()
