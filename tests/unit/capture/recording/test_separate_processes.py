"""Captures in processes of their own: beside another profiler, and of what torch.compile has compiled."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.oracle.raw import FULL
from tests.unit.capture.scripts import needs_torch, run_python

pytestmark = [needs_torch, FULL]
#: PyTorch has one profiler a process, and crashes the process where two meet. Prints "case <name>" before each case, and
#: after each whether a capture works again.
TWO_PROFILERS = """
import os, threading
import torch
from tb_npu_plugin.capture.pytorch import *

def work():
    return torch.ones(3) + 1

def ours(**arguments):
    handler = tensorboard_trace_handler("result", analyse_flag=False)
    return profile(on_trace_ready=handler, profile_memory=os.environ["MODE"] == "memory", **arguments)

def in_thread(call):
    thread = threading.Thread(target=call)
    thread.start()
    thread.join()

def theirs():
    with torch.profiler.profile():
        work()

def theirs_inside():
    with ours():
        theirs()

def theirs_around():
    with torch.profiler.profile():
        with ours():
            work()

def two_of_ours():
    with ours():
        with ours():
            work()

def stop_in_another_thread():
    prof = ours()
    prof.start()
    work()
    in_thread(prof.stop)

for case in (theirs_inside, theirs_around, two_of_ours, stop_in_another_thread):
    print("case", case.__name__)
    case()
    with ours() as last:
        work()
    print("works", last.prof_if.prof_path != "")
"""
ENDED, RUNS = "another one has ended this recording", "and one is recording"
TWO, THREADS = "another profile of this process is recording", "started and stopped in different threads"


# With profile_memory, PyTorch records the thread that starts it alone.
@pytest.mark.parametrize(("mode", "of_threads"), [("plain", ""), ("memory", THREADS)])
def test_two_profilers(mode: str, of_threads: str, tmp_path: Path) -> None:
    done = run_python(TWO_PROFILERS, tmp_path, TB_NPU_BACKEND="mock", MODE=mode)
    assert done.returncode == 0, done.stderr  # -11: it crashed
    parts = [part.split("\n", 1) for part in done.stdout.split("case ")[1:]]
    expected = [ENDED, RUNS, TWO, of_threads]
    assert len(parts) == len(expected)
    for (name, text), said in zip(parts, expected):
        *lines, last = text.splitlines()
        errors = [line for line in lines if "[ERROR]" in line]
        assert last == "works True", name
        assert len(errors) == bool(said), name
        assert all(said in error and error.endswith("The training goes on.") for error in errors), name


#: Prints how much was compiled before, in and after a capture of a training of which all is compiled.
COMPILED = """
import os, sys
import torch
import torch.distributed as dist
import torch.distributed._functional_collectives as functional
from torch._dynamo.utils import counters
from tb_npu_plugin.capture.pytorch import *

dist.init_process_group("gloo", init_method=f"file://{os.getcwd()}/store", rank=0, world_size=1)
parallel = torch.compile(torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(4, 4)), backend="aot_eager")

@torch.compile(backend="aot_eager", fullgraph=True)
def summed(x):
    return functional.all_reduce(x, "sum", dist.group.WORLD) + 1

def train():
    summed(parallel(torch.ones(2, 4)).detach())
    print("compiled", counters["frames"]["total"], sum(counters["graph_break"].values()), flush=True)

train()
train()
with profile(on_trace_ready=tensorboard_trace_handler(".", analyse_flag=False)):
    train()
train()
sys.stdout.flush()
sys.stderr.flush()
os._exit(0)  # to destroy the group may hang in PyTorch: leave() of test_distributed_run.py
"""


def test_a_capture_compiles_nothing_anew(tmp_path: Path) -> None:
    done = run_python(COMPILED, tmp_path, TB_NPU_BACKEND="mock")
    assert done.returncode == 0, done.stderr
    found = [line for line in done.stdout.splitlines() if line.startswith("compiled ")]
    assert len(found) == 4
    assert len(set(found[1:])) == 1
    assert "Dynamo does not know" not in done.stderr
