"""dynamic_profile, controlled by its file."""

import json
import sys
from pathlib import Path

import torch
from torch import nn
from torch_npu.profiler import dynamic_profile as dp

torch.manual_seed(0)
folder = Path(sys.argv[1]).parent / "dynamic"
folder.mkdir()
dp.init(str(folder))
config = json.loads((folder / "profiler_config.json").read_text())
config.update(analyse=True, start_step=1, active=1, warmup=0, prof_dir=str(folder / "result"))
(folder / "now.json").write_text(json.dumps(config))
model = nn.Linear(8, 8).npu()
dp.start(str(folder / "now.json"))
for _ in range(3):
    model.zero_grad()
    model(torch.ones(4, 8).npu()).square().sum().backward()
    dp.step()
assert list(folder.rglob("trace_view.json"))
torch.save([p.grad.cpu() for p in model.parameters()], sys.argv[1])
