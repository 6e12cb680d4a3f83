"""Embeddings with sparse gradients."""

import sys

import torch
from torch import nn

torch.manual_seed(0)
table, bag = nn.Embedding(30, 8, sparse=True).npu(), nn.EmbeddingBag(30, 8, mode="sum").npu()
head = nn.Linear(8, 1).npu()
indices, offsets = torch.tensor([1, 2, 2, 29, 7]).npu(), torch.tensor([0, 2]).npu()
sparse, dense = (
    torch.optim.SparseAdam(list(table.parameters()), lr=0.01),
    torch.optim.SGD([*bag.parameters(), *head.parameters()], lr=0.1),
)
for _ in range(3):
    sparse.zero_grad()
    dense.zero_grad()
    (head(table(indices)).square().mean() + head(bag(indices, offsets)).square().mean()).backward()
    assert table.weight.grad.is_sparse
    sparse.step()
    dense.step()
grads = [table.weight.grad.to_dense().cpu(), *(p.grad.cpu() for p in [*bag.parameters(), *head.parameters()])]
torch.save([table.weight.detach().cpu(), *grads], sys.argv[1])
