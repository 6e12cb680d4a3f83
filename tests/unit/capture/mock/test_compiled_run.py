"""Captures of what torch.compile has compiled: nothing is compiled anew because of them."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[4]
pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("torch") is None, reason="PyTorch is not installed: see docs/capture.md"
)

#: Prints how much was compiled before, in and after a capture of a training of which all is compiled.
SCRIPT = """
import os, sys
import torch
import torch.distributed as dist
import torch.distributed._functional_collectives as functional
from torch._dynamo.utils import counters
from tb_npu_plugin.capture.pytorch import *

dist.init_process_group("gloo", init_method=f"file://{sys.argv[1]}/store", rank=0, world_size=1)
parallel = torch.compile(torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(4, 4)), backend="aot_eager")

@torch.compile(backend="aot_eager", fullgraph=True)
def summed(x):
    return functional.all_reduce(x, "sum", dist.group.WORLD) + 1

def train():
    summed(parallel(torch.ones(2, 4)).detach())

def done():
    print("compiled", counters["frames"]["total"], sum(counters["graph_break"].values()))

train()
train()
done()
with profile(on_trace_ready=tensorboard_trace_handler(sys.argv[1], analyse_flag=False)):
    train()
    done()
train()
done()
sys.stdout.flush()
sys.stderr.flush()
os._exit(0)  # to destroy the group may hang in PyTorch: distributed_training.leave()
"""


def test_a_capture_compiles_nothing_anew(tmp_path: Path) -> None:
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "TB_NPU_BACKEND": "mock"}
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(tmp_path)], cwd=tmp_path, env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    found = [line for line in done.stdout.splitlines() if line.startswith("compiled ")]
    assert len(found) == 3
    assert len(set(found)) == 1
    assert "Dynamo does not know" not in done.stderr
