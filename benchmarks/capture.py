"""What a capture costs: recording with the mock device beside torch.profiler, and analyse of long captures.

Recording: the same small training in processes of their own, with torch.profiler and its trace handler, and with ours
without parsing (analyse_flag=False): what the training process itself does. Time is CPU time of the process from the
making of the profile until the trace is on the disk: all steps, those that are not recorded, too. The operators are as
small as they come, so that recording them is most of the work: a training with larger ones shows less of it.
Analyse: raw data of so many operators, parsed in a process of its own; wall time and memory of that process.
"""

from __future__ import annotations

import importlib.util
import json
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from benchmarks.harness import Bar, arguments, remark, report, run
from tb_npu_plugin.capture.backend import RAW_FOLDER, HostSwitches, Settings
from tb_npu_plugin.capture.mock.host import TRACE, HostData

RATIO, SECONDS, BYTES = 1.3, 60.0, 2e9
ROUNDS = 6
ALL = {"record_shapes": True, "profile_memory": True, "with_stack": True}
PLAIN: dict[str, bool] = {}
#: Name, switches, steps of wait, warmup and active, whether the bar is judged: it cannot hold where shapes are recorded
#: that torch.profiler does not record (docs/capture.md).
CASES = (
    ("plain, 6 steps", PLAIN, (1, 1, 6), ""),
    ("stacks, 6 steps", {"with_stack": True}, (1, 1, 6), ""),
    ("memory, 6 steps", {"profile_memory": True}, (1, 1, 6), ""),
    ("all, 6 steps", ALL, (1, 1, 6), ""),
    ("all, 2 steps", ALL, (1, 1, 2), ""),
    ("plain, 3 steps", PLAIN, (1, 1, 3), "short capture: see docs/capture.md"),
    ("plain, 2 steps", PLAIN, (1, 1, 2), "short capture: see docs/capture.md"),
    ("plain, 6 steps, no warm-up", PLAIN, (2, 0, 6), "no warm-up: see docs/capture.md"),
)
TRAINING = """
import sys, time, json, torch
kind, out, switches = sys.argv[1], sys.argv[2], json.loads(sys.argv[3])
wait, warmup, active = map(int, sys.argv[4:])
torch.set_num_threads(1)
layers = [torch.nn.TransformerEncoderLayer(64, 4, 128, batch_first=True) for _ in range(4)]
model = torch.nn.Sequential(*layers)
optimizer = torch.optim.AdamW(model.parameters())
x = torch.randn(4, 32, 64)
if kind == "torch":
    from torch.profiler import profile, schedule, tensorboard_trace_handler
    more = dict(activities=[torch.profiler.ProfilerActivity.CPU], on_trace_ready=tensorboard_trace_handler(out))
else:
    from tb_npu_plugin.capture.pytorch import profile, schedule, tensorboard_trace_handler
    more = dict(on_trace_ready=tensorboard_trace_handler(out, analyse_flag=False))
def train():
    optimizer.zero_grad(); model(x).sum().backward(); optimizer.step()
for _ in range(3):
    train()
began = time.process_time()
with profile(schedule=schedule(wait=wait, warmup=warmup, active=active, repeat=1), **more, **switches) as p:
    for _ in range(wait + warmup + active):
        train()
        p.step()
print("CPU", time.process_time() - began)
"""
EVENT = (
    '  {{\n    "ph": "X", "cat": "cpu_op", "name": "{name}", "pid": 7, "tid": 7,\n    "ts": {ts:.3f}, "dur": {dur:.3f}\n'
    '    ,\n    "args": {{\n      "External id": 4,"Sequence number": {sequence}, "Fwd thread id": 0, "Record function id": 0, '
    '"Concrete Inputs": ["", "", "1"], "Input type": ["float", "float", "Scalar"], '
    '"Input Strides": [[64, 1], [64, 1], []], "Input Dims": [[{size}, 64], [64, 64], []], "Ev Idx": 4\n    }}\n  }}'
)


def record(kind: str, switches: dict[str, bool], steps: tuple[int, int, int], folder: Path) -> float:
    """CPU seconds of one training."""
    script = folder / "training.py"
    script.write_text(TRAINING)
    said = run([sys.executable, script, kind, folder / "out", json.dumps(switches), *map(str, steps)]).output
    return float(next(line.split()[1] for line in said.splitlines() if line.startswith("CPU")))


def raw_data(folder: Path, operators: int, steps: int = 10) -> None:
    """A capture as the recorder leaves it: one in three operators launches a kernel, the others are around it."""
    (folder / RAW_FOLDER).mkdir(parents=True)
    start = 1_790_857_026_000_000_000
    data = HostData(Settings(level="Level1", host=HostSwitches(record_shapes=True)), 7, 0, start, tid=7)
    names = ("aten::linear", "aten::matmul", "aten::mm")
    with (folder / RAW_FOLDER / TRACE).open("w", encoding="utf-8") as file:
        file.write(f'{{"schemaVersion": 1,\n"baseTimeNanoseconds": {start},\n"traceEvents": [\n')
        for number in range(operators // 3):
            for depth, name in enumerate(names):
                file.write(EVENT.format(name=name, ts=1000 + number * 60 + depth * 10, dur=50 - depth * 15,
                                        sequence=number, size=32 + number % 8) + ",\n")  # fmt: skip
        length = operators // 3 * 60 // steps
        marks = (
            EVENT.format(name=f"ProfilerStep#{step}", ts=1000 + step * length, dur=length - 1, sequence=-1, size=1)
            for step in range(steps)
        )
        file.write(",\n".join(marks))
        file.write('\n  ],"traceName": "x" }')
    data.end = start + (operators // 3 * 60 + 2000) * 1000
    data.write(folder)


def analyse(operators: int) -> list[Bar]:
    """Time and memory of parsing."""
    with tempfile.TemporaryDirectory() as name:
        folder, out = Path(name) / "x_ascend_pt", Path(name) / "out"
        raw_data(folder, operators)
        out.mkdir()
        size = (folder / RAW_FOLDER / TRACE).stat().st_size
        parser = "tb_npu_plugin.capture.mock.parse:parse"
        usage = run([sys.executable, "-m", "tb_npu_plugin.capture.api.worker", parser, folder, out, "text"])
        if '["done"]' not in usage.output:
            raise RuntimeError(usage.output[-500:])
        what = f"{operators:,} operators, {size / 1e6:.0f} MB of raw data, {sum(f.stat().st_size for f in out.iterdir()) / 1e6:.0f} MB of results"
    unjudged = "" if operators >= 1_000_000 else "not judged at this size"
    return [
        Bar("analyse, wall time", usage.wall, SECONDS, "s", data=what, unjudged=unjudged),
        Bar("analyse, CPU time", usage.cpu, None, "s", data=what),
        Bar("analyse, peak memory", usage.anonymous / 1e6, BYTES / 1e6, "MB", data=what, unjudged=unjudged),
    ]


def main() -> int:
    """Exit status: 1 when a bar falls short."""
    chosen = arguments(__doc__, ("--operators", {"type": int, "default": 1_000_000}))
    quick = bool(getattr(chosen, "quick", False))
    bars = analyse(100_000 if quick else chosen.operators)
    if importlib.util.find_spec("torch") is None:
        remark("PyTorch is not installed: recording is not measured")
        return report(bars)
    for label, switches, steps, unjudged in CASES:
        times: dict[str, list[float]] = {"mock": [], "torch": []}
        for _ in range(2 if quick else ROUNDS):
            for kind, found in times.items():
                with tempfile.TemporaryDirectory() as name:
                    found.append(record(kind, switches, steps, Path(name)))
        base = "torch.profiler, same switches"
        bars.append(Bar.of_times(f"recording, {label}", times["mock"], times["torch"], RATIO, base, unjudged=unjudged))
    return report(bars)


if __name__ == "__main__":
    sys.exit(main())
