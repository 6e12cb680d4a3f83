"""What recording with the simulated NPU costs a MindSpore script, beside MindSpore's own profiler with the same switches.

Both profile the same loop on the CPU, each in a process of its own; parsing is left out. The environment with MindSpore is that of
tests/programs (tools/ensure_programs.sh); without it nothing is measured, and that is said.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from benchmarks.harness import ROOT, Bar, arguments, remark, report

#: x of the time of the loop under MindSpore's own profiler.
LIMIT = 1.5
SCRIPT = """
import sys, time
import numpy as np
import mindspore as ms
from mindspore import Tensor, nn
if sys.argv[1] == "ours":
    from tb_npu_plugin.capture.mindspore import profile
else:
    from mindspore.profiler import profile
from mindspore.profiler import tensorboard_trace_handler
ms.set_device("CPU")
ms.set_context(mode=ms.GRAPH_MODE if sys.argv[2] == "graph" else ms.PYNATIVE_MODE)
net = nn.SequentialCell(*[nn.Dense(256, 256) for _ in range(12)])
optimizer, x = nn.Adam(net.trainable_params(), 1e-3), Tensor(np.random.rand(64, 256).astype(np.float32))
whole = nn.TrainOneStepCell(nn.WithLossCell(net, nn.MSELoss()), optimizer)
gradients = ms.value_and_grad(lambda x: net(x).square().mean(), None, optimizer.parameters)
def train():
    if sys.argv[2] == "graph":
        return whole(x, x).asnumpy()
    loss, found = gradients(x)
    optimizer(found)
    return loss.asnumpy()
for _ in range(5):
    train()
for _ in range(5):
    handler = tensorboard_trace_handler("result", analyse_flag=False)
    with profile(on_trace_ready=handler):
        start = time.perf_counter()
        for _ in range(int(sys.argv[3])):
            train()
        print("TIME", time.perf_counter() - start)
"""


def times(python: Path, which: str, mode: str, steps: int) -> list[float]:
    """Seconds of the loop in each round."""
    with tempfile.TemporaryDirectory(prefix="npu-bench-") as name:
        (Path(name) / "train.py").write_text(SCRIPT)
        command = [str(python), "train.py", which, mode, str(steps)]
        environment = {**os.environ, "PYTHONPATH": str(ROOT)}
        done = subprocess.run(command, cwd=name, env=environment, capture_output=True, text=True, check=True)
    return [float(line.split()[1]) for line in done.stdout.splitlines() if line.startswith("TIME")]


def main() -> int:
    """Exit status: 1 when a bar falls short."""
    steps = 5 if arguments(__doc__).quick else 40
    python = Path(sys.prefix) / "program-mindspore" / "bin" / "python"
    if not python.exists():
        remark("MindSpore is not installed here (tools/ensure_programs.sh): nothing was measured")
        return 0
    bars = []
    for mode in ("pynative", "graph"):
        ours, own = (times(python, which, mode, steps) for which in ("ours", "own"))
        name = f"recording {steps} steps of 12 Dense layers, {mode}"
        bars.append(
            Bar.of_times(
                name,
                ours,
                own,
                LIMIT,
                "MindSpore's own profiler",
                unjudged="not judged at this size" if steps < 40 else "",
            )
        )
    return report(bars)


if __name__ == "__main__":
    sys.exit(main())
