"""LSTM and GRU over packed sequences."""

import sys

import torch
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

torch.manual_seed(0)
lstm, gru = nn.LSTM(6, 10, 2, batch_first=True).npu(), nn.GRU(10, 5, bidirectional=True, batch_first=True).npu()
x, lengths = torch.randn(4, 7, 6).npu(), torch.tensor([7, 5, 3, 2])
optimizer = torch.optim.SGD([*lstm.parameters(), *gru.parameters()], lr=0.1)
for _ in range(2):
    optimizer.zero_grad()
    out, _ = lstm(pack_padded_sequence(x, lengths, batch_first=True))
    out, _ = pad_packed_sequence(out, batch_first=True)
    out, hidden = gru(out)
    (out.square().mean() + hidden.sum()).backward()
    optimizer.step()
torch.save([p.grad.cpu() for p in [*lstm.parameters(), *gru.parameters()]], sys.argv[1])
