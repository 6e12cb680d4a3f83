"""What the simulated NPU costs: the same training on it and on the plain CPU, and with recording and without.

All in one process, in turn, with one thread; CPU time of the process. Bars hold for models whose operators take 20 us and
more; tiny operators are reported without a limit.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

from benchmarks.harness import Bar, arguments, report
from tb_npu_plugin.capture.device.load import import_torch_npu

DEVICE, RECORDING = 1.5, 1.3
MODELS = ("perceptron", "convolutions", "transformer", "tiny operators")


def training(name: str, device: str) -> Callable[[], None]:
    """A step of training of this model."""
    import torch
    from torch import nn

    torch.manual_seed(0)
    if name == "convolutions":
        layers: Any = [
            *(nn.Conv2d(3, 32, 3, padding=1), nn.BatchNorm2d(32), nn.ReLU(), nn.Conv2d(32, 32, 3, padding=1)),
            *(nn.BatchNorm2d(32), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(32, 10)),
        ]
        shape: tuple[int, ...] = (16, 3, 32, 32)
    elif name == "transformer":
        layer = nn.TransformerEncoderLayer(256, 8, 1024, dropout=0.0, batch_first=True)
        layers, shape = [nn.TransformerEncoder(layer, 3)], (8, 64, 256)
    else:
        width, batch = (32, 8) if name == "tiny operators" else (512, 128)
        layers = [part for _ in range(6) for part in (nn.Linear(width, width), nn.ReLU())]
        shape = (batch, width)
    model, inputs = nn.Sequential(*layers).to(device), torch.randn(shape).to(device)
    optimizer = torch.optim.AdamW(model.parameters(), foreach=True)

    def step() -> None:
        optimizer.zero_grad()
        model(inputs).square().mean().backward()
        optimizer.step()

    return step


def seconds(step: Callable[[], None], steps: int, recording: bool = False) -> float:
    """CPU seconds of so many steps."""
    from tb_npu_plugin.capture.device import records

    if recording:
        records.start()
    begin = time.process_time()
    for _ in range(steps):
        step()
    taken = time.process_time() - begin
    if recording:
        records.stop()
    return taken


def bars(rounds: int, steps: int) -> list[Bar]:
    """Of each model: device beside CPU, recording beside not recording."""
    out = []
    for name in MODELS:
        host, device = training(name, "cpu"), training(name, "npu")
        count = steps * 10 if name == "tiny operators" else steps
        for step in (host, device):
            seconds(step, 3)
        times = [(seconds(host, count), seconds(device, count), seconds(device, count, True)) for _ in range(rounds)]
        on_host, on_device, recorded = (list(column) for column in zip(*times))
        without_limit = "tiny operators: reported without a limit" if name == "tiny operators" else ""
        data = f"{count} steps"
        bar = Bar.of_times(
            f"{name}, device / CPU", on_device, on_host, DEVICE, "CPU", data=data, unjudged=without_limit
        )
        out += [
            bar,
            Bar.of_times(f"{name}, recording / not", recorded, on_device, RECORDING, "no recording", data=data),
        ]
    return out


def main() -> int:
    """Measure and report."""
    options = arguments(__doc__)
    import_torch_npu()
    import torch

    torch.set_num_threads(1)
    return report(bars(3 if options.quick else 8, 5 if options.quick else 20))


if __name__ == "__main__":
    sys.exit(main())
