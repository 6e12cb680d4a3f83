"""What a capture costs: recording with the mock device beside torch.profiler, and analyse of long captures.

Recording: the same training in one process, in turn with torch.profiler and its trace handler and with ours without
parsing (analyse_flag=False): what the training process itself does. Time is CPU time of the process, all threads, from
the making of the profile until the trace is on the disk and what was recorded is freed: all steps, those that are not
recorded, too, on both sides; on ours also the shapes that the observer tells, and their writing. Time of other processes
is in neither. Without the observer (docs/capture.md) a step before the capture is sampled for shapes, and recording with a
device that is simulated is told, not judged.
What trains: a transformer and a ResNet, small ones, and the transformer once more with operators as small as they come
(about 2 us), where recording is most of the work. Against what:
- "CPU": torch.profiler's switches to the letter (activities=[CPU]), no device.
- "same data": a device is simulated. Its kernels need shapes, so torch.profiler records them, too.
- "same switches": a device is simulated, and torch.profiler records no shapes.
Scripts: the same training as a script of its own that differs in nothing but the import, from the start of Python to its
end, so that what it costs to import each is in it, too. Told, not judged: two seconds of imports stand on both sides.
Analyse: raw data of so many operators, parsed in a process of its own; wall time and memory of that process.
"""

from __future__ import annotations

import importlib.util
import json
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

from tb_npu_plugin.capture.mock import observer

from benchmarks.harness import Bar, arguments, remark, report, run
from tb_npu_plugin.capture.backend import RAW_FOLDER, HostSwitches, Settings
from tb_npu_plugin.capture.recording.raw_data import OBSERVED, SHAPES, TRACE, HostData

RATIO, SECONDS, BYTES = 1.3, 60.0, 2e9
ROUNDS = 10
ALL = {"record_shapes": True, "profile_memory": True, "with_stack": True}
PLAIN: dict[str, bool] = {}
CPU = {"cpu": True}
#: Name, model, switches, steps of wait, warmup and active; none: without a schedule.
CASES: tuple[tuple[str, str, dict[str, bool], tuple[int, ...]], ...] = (
    ("transformer, 1 step", "transformer", PLAIN, (1, 1, 1)),
    ("transformer, 2 steps", "transformer", PLAIN, (1, 1, 2)),
    ("transformer, 2 steps, no warm-up", "transformer", PLAIN, (2, 0, 2)),
    ("transformer, 6 steps, no schedule", "transformer", PLAIN, ()),
    ("transformer, 2 steps, all", "transformer", ALL, (1, 1, 2)),
    ("ResNet, 1 step", "resnet", PLAIN, (1, 1, 1)),
    ("ResNet, 2 steps", "resnet", PLAIN, (1, 1, 2)),
    ("ResNet, 6 steps, no schedule", "resnet", PLAIN, ()),
    ("ResNet, 2 steps, all", "resnet", ALL, (1, 1, 2)),
    ("tiny operators, CPU, 1 step", "tiny", CPU, (1, 1, 1)),
    ("tiny operators, CPU, 2 steps", "tiny", CPU, (1, 1, 2)),
    ("tiny operators, CPU, 6 steps, no schedule", "tiny", CPU, ()),
    ("tiny operators, CPU, 2 steps, all", "tiny", {**CPU, **ALL}, (1, 1, 2)),
    ("tiny operators, 1 step", "tiny", PLAIN, (1, 1, 1)),
    ("tiny operators, 2 steps", "tiny", PLAIN, (1, 1, 2)),
    ("tiny operators, 6 steps", "tiny", PLAIN, (1, 1, 6)),
    ("tiny operators, 6 steps, no warm-up", "tiny", PLAIN, (2, 0, 6)),
    ("tiny operators, 6 steps, no schedule", "tiny", PLAIN, ()),
    ("tiny operators, 6 steps, stacks", "tiny", {"with_stack": True}, (1, 1, 6)),
    ("tiny operators, 6 steps, memory", "tiny", {"profile_memory": True}, (1, 1, 6)),
    ("tiny operators, 2 steps, all", "tiny", ALL, (1, 1, 2)),
    ("tiny operators, 6 steps, all", "tiny", ALL, (1, 1, 6)),
    ("tiny operators, 6 steps, all, no schedule", "tiny", ALL, ()),
)
#: Name, model, switches, steps of the script; wait, warmup and active after ten steps that are skipped, or none: from the
#: first step to the last.
SCRIPTS: tuple[tuple[str, str, dict[str, bool], int, tuple[int, ...]], ...] = (
    ("20 steps, 2 of them recorded", "tiny", PLAIN, 20, (1, 1, 2)),
    ("20 steps, 2 of them recorded, all", "tiny", ALL, 20, (1, 1, 2)),
    ("6 steps, all recorded", "tiny", PLAIN, 6, ()),
    ("6 steps, all recorded, transformer", "transformer", PLAIN, 6, ()),
)
#: The models, and a step of training. Named `model` is one of "transformer", "resnet", "tiny".
MODELS = """
import torch
from torch import nn
torch.set_num_threads(1)
class Block(nn.Module):
    def __init__(self, inward, outward, stride):
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(inward, outward, 3, stride, 1, bias=False), nn.BatchNorm2d(outward), nn.ReLU(),
            nn.Conv2d(outward, outward, 3, 1, 1, bias=False), nn.BatchNorm2d(outward))
        self.short = nn.Identity() if inward == outward else nn.Conv2d(inward, outward, 1, stride, bias=False)
    def forward(self, x):
        return torch.relu(self.body(x) + self.short(x))
def resnet(width=16):
    widths = [width, width, 2 * width, 2 * width, 4 * width, 4 * width]
    blocks = [Block(a, b, 1 if a == b else 2) for a, b in zip([width, *widths], widths)]
    return nn.Sequential(nn.Conv2d(3, width, 3, 1, 1), *blocks, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(4 * width, 10))
def transformer(width):
    return nn.Sequential(*(nn.TransformerEncoderLayer(width, 4, 2 * width, batch_first=True) for _ in range(4)))
if model == "resnet":
    net, x = resnet(), torch.randn(8, 3, 32, 32)
else:
    width = 64 if model == "tiny" else 192
    net, x = transformer(width), torch.randn(width // 16, width // 2, width)
optimizer = torch.optim.AdamW(net.parameters())
def train():
    optimizer.zero_grad(); net(x).sum().backward(); optimizer.step()
"""
SCRIPT = (
    """
import json, sys
{profiler}
model, steps, *schedule = sys.argv[3], *map(int, sys.argv[4:])
"""
    + MODELS
    + """
more = dict(schedule=profiler.schedule(**dict(zip(("wait", "warmup", "active"), schedule)), repeat=1, skip_first=10)) if schedule else {{}}
ready = profiler.tensorboard_trace_handler(sys.argv[1]{parsing})
with profiler.profile(activities=activities, on_trace_ready=ready, **more, **json.loads(sys.argv[2])) as p:
    for _ in range(steps):
        train()
        p.step()
"""
)
#: What differs.
PROFILERS = {
    "torch": {
        "profiler": "from torch import profiler; activities = [profiler.ProfilerActivity.CPU]",
        "parsing": "",
    },
    "mock": {
        "profiler": "from tb_npu_plugin.capture import pytorch as profiler; activities = None",
        "parsing": ", analyse_flag=False",
    },
}
TRAINING = (
    """
import gc, json, sys, tempfile, time
from torch import profiler as theirs
from tb_npu_plugin.capture import pytorch as ours
switches = json.loads(sys.argv[1])
model, rounds, *numbers = sys.argv[2], *map(int, sys.argv[3:])
"""
    + MODELS
    + """
def record(kind, out):
    if kind == "mock":
        api, more = ours, dict(activities=[ours.ProfilerActivity.CPU]) if "cpu" in switches else {}
        ready = ours.tensorboard_trace_handler(out, analyse_flag=False)
    else:
        api, more = theirs, dict(activities=[theirs.ProfilerActivity.CPU])
        ready = theirs.tensorboard_trace_handler(out)
    more.update((key, value) for key, value in switches.items() if key != "cpu")
    if kind == "shapes":
        more["record_shapes"] = True
    if numbers:
        more["schedule"] = api.schedule(**dict(zip(("wait", "warmup", "active"), numbers)), repeat=1)
    with api.profile(on_trace_ready=ready, **more) as p:
        for _ in range(sum(numbers) or 6):
            train()
            p.step()
    p.profiler = None  # torch.profiler keeps what it recorded until a collection of garbage; ours lets go at once
for number in range(rounds + 1):
    for kind in ("mock", "torch", "shapes"):
        gc.collect()
        with tempfile.TemporaryDirectory() as out:
            began = time.process_time()
            record(kind, out)
            took = time.process_time() - began
        if number:  # the first of each loads what the others find loaded
            print("CPU", kind, took)
"""
)
OPERATOR = (
    '  {{\n    "ph": "X", "cat": "cpu_op", "name": "{name}", "pid": 7, "tid": 7,\n    "ts": {ts:.3f}, "dur": {dur:.3f}\n'
    '    ,\n    "args": {{\n      "External id": 4,"Sequence number": {sequence}, "Fwd thread id": 0, "Record function id": 0, '
)
SHAPES_OF_IT = (
    '"Concrete Inputs": ["", "", "1"], "Input type": ["float", "float", "Scalar"], '
    '"Input Strides": [[64, 1], [64, 1], []], "Input Dims": [[{size}, 64], [64, 64], []], '
)
END = '"Ev Idx": 4\n    }}\n  }}'
FUNCTION = (
    '  {{\n    "ph": "X", "cat": "python_function", "name": "model.py({line}): forward", "pid": 7, "tid": 7,\n    '
    '"ts": {ts:.3f}, "dur": {dur:.3f}\n    ,\n    "args": {{\n      "Python parent id": {parent}, "Python id": {id}, '
    '"Ev Idx": 4\n    }}\n  }}'
)
CHANGE = (
    '  {{\n    "ph": "i", "cat": "cpu_instant_event", "s": "t", "name": "[memory]", "pid": 7, "tid": 7,\n    "ts": {ts:.3f},\n'
    '    "args": {{\n      "Total Reserved": 0, "Total Allocated": 4096, "Bytes": {size}, "Device Id": -1, "Device Type": 0, '
    '"Addr": {address}, "Ev Idx": 4\n    }}\n  }}'
)
NAMES = ("aten::linear", "aten::matmul", "aten::mm")
START = 1_790_857_026_000_000_000
GROUP_US = 60
#: What raw data there are: shapes in the capture; of the observer; in a step before the capture; in the capture beside Python
#: functions and memory.
FORMS = ("shapes", "observed", "plain", "all")


def record(model: str, switches: dict[str, bool], steps: Sequence[int], rounds: int) -> dict[str, list[float]]:
    """CPU seconds of trainings, with ours ("mock"), with torch.profiler ("torch") and with torch.profiler and shapes ("shapes")."""
    with tempfile.TemporaryDirectory() as name:
        script = Path(name) / "training.py"
        script.write_text(TRAINING)
        said = run([sys.executable, script, json.dumps(switches), model, *map(str, (rounds, *steps))]).output
    times: dict[str, list[float]] = {"mock": [], "torch": [], "shapes": []}
    for line in said.splitlines():
        if line.startswith("CPU "):
            _, kind, took = line.split()
            times[kind].append(float(took))
    return times


def judge(name: str, switches: dict[str, bool], times: dict[str, list[float]]) -> list[Bar]:
    """The bars of one case."""
    name = f"recording, {name}"
    same = Bar.of_times(name, times["mock"], times["torch"], RATIO, "torch.profiler, same switches")
    if "cpu" in switches or "record_shapes" in switches:
        return [same]
    base = "torch.profiler, same data"
    data = Bar.of_times(f"{name}, same data", times["mock"], times["shapes"], RATIO, base)
    return [data, same if observer.is_there() else replace(same, unjudged="no observer")]


def run_scripts(
    model: str, switches: dict[str, bool], steps: int, schedule: Sequence[int], rounds: int
) -> dict[str, list[float]]:
    """CPU seconds of whole scripts, as record."""
    times: dict[str, list[float]] = {"mock": [], "torch": []}
    for _ in range(rounds):
        for kind, differs in PROFILERS.items():
            with tempfile.TemporaryDirectory() as name:
                script = Path(name) / "training.py"
                script.write_text(SCRIPT.format(**differs))
                numbers = (model, *map(str, (steps, *schedule)))
                times[kind].append(run([sys.executable, script, name, json.dumps(switches), *numbers]).cpu)
    return times


def raw_data(folder: Path, operators: int, form: str, steps: int = 10) -> None:
    """A capture as the recorder leaves it: one in three operators launches a kernel, the others are around it."""
    raw = folder / RAW_FOLDER
    raw.mkdir(parents=True)
    more = form == "all"
    host = HostSwitches(record_shapes=form in ("shapes", "all"), profile_memory=more, with_stack=more)
    data = HostData(Settings(level="Level1", host=host), 7, 0, START, tid=7)
    groups = operators // 3
    length = groups * GROUP_US // steps
    write_trace(raw / TRACE, groups, form, [(1000 + step * length, length - 1) for step in range(steps)])
    if form == "plain":
        write_trace(raw / SHAPES, groups // steps, "shapes", [])
    if form == "observed":
        (raw / OBSERVED).write_text(json.dumps(observed(groups)))
    data.end = START + (groups * GROUP_US + 2000) * 1000
    data.write(folder)


def write_trace(path: Path, groups: int, form: str, steps: list[tuple[int, int]]) -> None:
    """Groups of three operators, one inside the other. steps: start and duration, us."""
    operator = OPERATOR + (SHAPES_OF_IT if form in ("shapes", "all") else "") + END
    with path.open("w", encoding="utf-8") as file:
        file.write(f'{{"schemaVersion": 1,\n"baseTimeNanoseconds": {START},\n"traceEvents": [\n')
        for number in range(groups):
            at = 1000 + number * GROUP_US
            events = [
                operator.format(
                    name=name, ts=at + depth * 10, dur=50 - depth * 15, sequence=number, size=32 + number % 8
                )
                for depth, name in enumerate(NAMES)
            ]
            if form == "all":
                ids = 2 * number + 1
                events += [
                    FUNCTION.format(line=number % 900, ts=at - 3, dur=58, parent=0, id=ids),
                    FUNCTION.format(line=number % 90, ts=at - 2, dur=55, parent=ids, id=ids + 1),
                    CHANGE.format(ts=at + 25, size=4096, address=1 << 20 | number % 64 << 12),
                    CHANGE.format(ts=at + 54, size=-4096, address=1 << 20 | number % 64 << 12),
                ]
            file.write(",\n".join(events) + ",\n")
        marks = (
            (OPERATOR + END).format(name=f"ProfilerStep#{number}", ts=start, dur=length, sequence=-1)
            for number, (start, length) in enumerate(steps)
        )
        file.write(",\n".join(marks))
        file.write('\n  ],"traceName": "x" }')


def observed(groups: int) -> list[Any]:
    """What the observer would have told of write_trace."""
    sizes, depths = range(32, 40), range(len(NAMES))
    calls = [[name, ["float", size, 64], ["float", 64, 64], 1] for size in sizes for name in NAMES]
    order = [number % len(sizes) * len(NAMES) + depth for number in range(groups) for depth in depths]
    return [[7, calls, order]]


def analyse(operators: int, form: str) -> list[Bar]:
    """Time and memory of parsing."""
    with tempfile.TemporaryDirectory() as name:
        folder, out = Path(name) / "x_ascend_pt", Path(name) / "out"
        raw_data(folder, operators, form)
        out.mkdir()
        size = (folder / RAW_FOLDER / TRACE).stat().st_size
        parser = "tb_npu_plugin.capture.recording.parse:parse"
        usage = run([sys.executable, "-m", "tb_npu_plugin.capture.api.worker", parser, folder, out, "text"])
        if '["done"]' not in usage.output:
            raise RuntimeError(usage.output[-500:])
        what = f"{operators:,} operators, {size / 1e6:.0f} MB of raw data, {sum(f.stat().st_size for f in out.iterdir()) / 1e6:.0f} MB of results"
    unjudged = "" if operators >= 1_000_000 else "not judged at this size"
    return [
        Bar(f"analyse, {form}, wall time", usage.wall, SECONDS, "s", data=what, unjudged=unjudged),
        Bar(f"analyse, {form}, CPU time", usage.cpu, None, "s", data=what),
        Bar(f"analyse, {form}, peak memory", usage.anonymous / 1e6, BYTES / 1e6, "MB", data=what, unjudged=unjudged),
    ]


def main() -> int:
    """Exit status: 1 when a bar falls short."""
    chosen = arguments(__doc__, ("--operators", {"type": int, "default": 1_000_000}))
    quick = bool(getattr(chosen, "quick", False))
    operators = 100_000 if quick else chosen.operators
    short = [report(analyse(operators, form)) for form in FORMS]
    if importlib.util.find_spec("torch") is None:
        remark("PyTorch is not installed: recording is not measured")
        return max(short)
    for label, model, switches, steps in CASES:
        times = record(model, switches, steps, 2 if quick else ROUNDS)
        short.append(report(judge(label, switches, times)))
    for label, model, switches, count, schedule in SCRIPTS:
        times = run_scripts(model, switches, count, schedule, 2 if quick else ROUNDS // 2)
        base = "torch.profiler, the script differs in its import"
        bar = Bar.of_times(f"script, {label}", times["mock"], times["torch"], RATIO, base, unjudged="told")
        short.append(report([bar]))
    return max(short)


if __name__ == "__main__":
    sys.exit(main())
