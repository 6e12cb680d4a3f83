"""A small training, which the programs beside it profile. Run by itself it only trains."""

import json
from pathlib import Path

import torch
import torch_npu  # noqa: F401

model = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.ReLU(), torch.nn.Linear(16, 2)).npu()
optimizer = torch.optim.AdamW(model.parameters())


def train_step():
    optimizer.zero_grad()
    model(torch.ones(4, 8).npu()).square().mean().backward()
    optimizer.step()


def names(trace):
    """Names of the events of a trace."""
    return {event["name"] for event in json.loads(Path(trace).read_text())}


if __name__ == "__main__":
    train_step()
    print("checked")
