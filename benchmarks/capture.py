"""What a capture costs: recording beside the same training without it, and analyse of long captures.

Recording: the same training on the simulated NPU in one process, in turn with a capture and without. Time is CPU time of the
process, all threads, from the making of the profile until what was recorded is on the disk; it is parsed later. Bars hold for
models whose operators take 20 us and more, without switches; stacks, shapes and memory cost what PyTorch's profiler takes for
them: those figures and those of tiny operators are reported without a limit.
Analyse: a separate process parses raw data of that many operators of the host. One in three runs on the device.
"""

from __future__ import annotations

import importlib.util
import json
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))

from benchmarks.device import training
from benchmarks.harness import Bar, arguments, remark, report, run
from tb_npu_plugin.capture.backend import RAW_FOLDER, HostSwitches, Settings
from tb_npu_plugin.capture.device.records import RECORD, Kind
from tb_npu_plugin.capture.recording.raw_data import DEVICE, TRACE, HostData

RATIO, SECONDS, BYTES = 1.3, 60.0, 1e9
STEPS, ROUNDS = 6, 8
MODELS = ("perceptron", "convolutions", "transformer", "tiny operators")
SWITCHES = {"plain": {}, "all": {"record_shapes": True, "profile_memory": True, "with_stack": True}}
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
NAMES = ("aten::linear", "aten::matmul", "aten::mm")
START = 1_790_857_026_000_000_000
GROUP_US = 60
#: Sizes of the first matrix.
SIZES = 8


def record(model: str, switches: dict[str, bool], rounds: int) -> list[Bar]:
    """The bars of one model."""
    from tb_npu_plugin.capture.pytorch import torch_npu

    step = training(model, "npu")
    count = STEPS * (10 if model == "tiny operators" else 1)
    handler = torch_npu.profiler.tensorboard_trace_handler

    def plain() -> None:
        for _ in range(count):
            step()

    def captured() -> None:
        with tempfile.TemporaryDirectory() as out:
            profile = torch_npu.profiler.profile(on_trace_ready=handler(out, analyse_flag=False), **switches)
            with profile:
                for _ in range(count):
                    step()
                    profile.step()

    times = []
    for _ in range(rounds + 1):
        pair = []
        for work in (plain, captured):
            began = time.process_time()
            work()
            pair.append(time.process_time() - began)
        times.append(pair)
    without, recorded = (list(column) for column in zip(*times[1:]))  # the first loads what the others find
    without_limit = "reported without a limit" if switches or model == "tiny operators" else ""
    name = f"recording, {model}, {'all switches' if switches else 'plain'}"
    return [Bar.of_times(name, recorded, without, RATIO, "no capture", data=f"{count} steps", unjudged=without_limit)]


def raw_data(folder: Path, operators: int, form: str, steps: int = 10) -> None:
    """A capture as the recorder leaves it."""
    raw = folder / RAW_FOLDER
    raw.mkdir(parents=True)
    host = HostSwitches(**SWITCHES[form])
    data = HostData(Settings(level="Level1", host=host), 7, 0, START, tid=7)
    groups = operators // 3
    length = groups * GROUP_US // steps
    write_trace(raw / TRACE, groups, form, [(1000 + step * length, length - 1) for step in range(steps)])
    write_log(raw / DEVICE, groups)
    data.end = START + (groups * GROUP_US + 2000) * 1000
    data.write(folder)


def write_trace(path: Path, groups: int, form: str, steps: list[tuple[int, int]]) -> None:
    """Groups of three operators, one inside the other. steps: start and duration, us."""
    operator = OPERATOR + (SHAPES_OF_IT if form == "all" else "") + END
    with path.open("w", encoding="utf-8") as file:
        file.write(f'{{"schemaVersion": 1,\n"baseTimeNanoseconds": {START},\n"traceEvents": [\n')
        for number in range(groups):
            at = 1000 + number * GROUP_US
            events = [
                operator.format(
                    name=name, ts=at + depth * 10, dur=50 - depth * 15, sequence=number, size=32 + number % SIZES
                )
                for depth, name in enumerate(NAMES)
            ]
            if form == "all":
                ids = 2 * number + 1
                events += [
                    FUNCTION.format(line=number % 900, ts=at - 3, dur=58, parent=0, id=ids),
                    FUNCTION.format(line=number % 90, ts=at - 2, dur=55, parent=ids, id=ids + 1),
                ]
            file.write(",\n".join(events) + ",\n")
        marks = (
            (OPERATOR + END).format(name=f"ProfilerStep#{number}", ts=start, dur=length, sequence=-1)
            for number, (start, length) in enumerate(steps)
        )
        file.write(",\n".join(marks))
        file.write('\n  ],"traceName": "x" }')


def write_log(path: Path, groups: int) -> None:
    """The innermost operator of each group runs on the device; it allocates its result, and frees that of 64 groups before."""
    rows = np.zeros((groups, 3), RECORD)
    at = START + 1_000_000 + np.arange(groups) * GROUP_US * 1000 + 22_000
    numbers = np.arange(groups)
    for column, kind in enumerate((Kind.ALLOCATE, Kind.OPERATOR, Kind.FREE)):
        part = rows[:, column]
        part["kind"], part["thread"], part["sequence"], part["signature"] = kind, 7, -1, -1
        for moment, ns in (("entry", 0), ("begin", 2000), ("end", 12000), ("exit", 14000)):
            part[moment] = at + (ns if kind == Kind.OPERATOR else 1000 + column * 7000)
        part["bytes"], part["id"] = 4096, numbers % 64 << 12 | 1 << 20
    rows[:, 1]["signature"] = numbers % SIZES
    rows[:64, 2]["kind"] = Kind.VIEW  # nothing is there to free yet
    ordered = rows[:, [2, 0, 1]].reshape(-1)
    signatures = []
    for size in range(32, 32 + SIZES):
        left, right, out = (
            {"shape": shape, "dtype": "Float", "device": 0} for shape in ((size, 64), (64, 64), (size, 64))
        )
        signatures.append(["aten::mm", [left, right], [out]])
    table = np.frombuffer(json.dumps(signatures).encode(), "u1")
    with path.open("wb") as file:
        np.savez(file, records=ordered.view("u1"), signatures=table, lost=0)


def analyse(operators: int, form: str) -> list[Bar]:
    """Time and memory of parsing."""
    with tempfile.TemporaryDirectory() as name:
        folder, out = Path(name) / "x_ascend_pt", Path(name) / "out"
        raw_data(folder, operators, form)
        out.mkdir()
        size = sum(file.stat().st_size for file in (folder / RAW_FOLDER).iterdir())
        parser = "tb_npu_plugin.capture.recording.parse:parse"
        usage = run([sys.executable, "-m", "tb_npu_plugin.capture.api.worker", parser, folder, out, "text"])
        if '"done"]' not in usage.output:
            raise RuntimeError(usage.output[-500:])
        written = sum(file.stat().st_size for file in out.iterdir())
    what = f"{operators:,} operators, {size / 1e6:.0f} MB of raw data, {written / 1e6:.0f} MB of results"
    without_limit = "" if operators >= 1_000_000 and form == "plain" else "reported without a limit"
    return [
        Bar(f"analyse, {form}, CPU time", usage.cpu, SECONDS, "s", data=what, unjudged=without_limit),
        Bar(
            f"analyse, {form}, peak memory", usage.anonymous / 1e6, BYTES / 1e6, "MB", data=what, unjudged=without_limit
        ),
    ]


def main() -> int:
    """Exit status: 1 when a bar falls short."""
    chosen = arguments(__doc__, ("--operators", {"type": int, "default": 1_000_000}))
    quick = bool(getattr(chosen, "quick", False))
    short = [report(analyse(100_000 if quick else chosen.operators, form)) for form in SWITCHES]
    if importlib.util.find_spec("torch") is None:
        remark("PyTorch is not installed: recording is not measured")
        return max(short)
    import torch

    torch.set_num_threads(1)
    for switches in SWITCHES.values():
        for model in MODELS:
            short.append(report(record(model, switches, 2 if quick else ROUNDS)))
    return max(short)


if __name__ == "__main__":
    sys.exit(main())
