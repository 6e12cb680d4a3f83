"""Raw data of a capture of MindSpore with the simulated NPU, as the platform leaves them. Needs no MindSpore."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tb_npu_plugin.schema.torch_npu_json import SIMULATED

START, US = 1_795_440_100_000_000_000, 1000
#: (node, type of the inputs) of a step, in order; each takes a CPU 200 us.
NODES = (
    "Default/net/fc-Dense/MatMul-op0",
    "Default/net/fc-Dense/BiasAdd-op0",
    "Gradients/Default/net/MatMul-op1",
    "Default/opt/Adam-op0",
)
SHAPES = (
    "[8, 64];input_2:[128, 64]",
    "[8, 128];input_2:[128]",
    "[8, 128];input_2:[8, 64]",
    "[128, 64];input_2:[128, 64]",
)
STEPS, STEP_US, COMPUTED_US = 2, 2_000, 200
PID, LAUNCHING = 77, 79


#: What the compiled graphs say about two of the nodes.
GRAPHS = {
    NODES[0]: {"inputs": ["float16", "float16", None], "output": [[8, 128], "float16"], "group": ""},
    NODES[1]: {"inputs": ["float16"], "output": None, "group": ""},  # another number of inputs
}


def write_capture(
    logdir: Path,
    runtime: bool = True,
    launching: int = LAUNCHING,
    shapes: bool = True,
    graphs: bool = False,
    **parameters: Any,
) -> Path:
    """Write a folder with two steps of four launches. runtime: with the framework's events; launching: thread that launches and
    computes; shapes: MindSpore lists them; graphs: it has compiled the nodes of GRAPHS; parameters: of the profile."""
    folder = logdir / f"host_{PID}_20261123132140707_ascend_ms"
    framework = folder / "FRAMEWORK"
    (framework / "runtime" / "rank_0").mkdir(parents=True)
    executions: dict[str, list[str]] = {node: [] for node in NODES}
    rows, events = [], ["[Step:1 step_time:1ns, module_total_time:1ns]"]
    for step in range(STEPS):
        begin = START + step * STEP_US * US
        events.append(
            _event("module:Python", "PythonObserved", f"ProfilerStep#{step + 1}", begin, begin + 1_990 * US, PID)
        )
        # the main thread waits for the last launch
        events.append(_event("stage:WaitPipeline", "Default", "Default", begin + 1_300 * US, begin + 1_600 * US, PID))
        events.append(_event("stage:RunGraph", "Default", "Default", begin + 10 * US, begin + 1_900 * US, PID))
        for number, (node, of_inputs) in enumerate(zip(NODES, SHAPES)):
            at = begin + (100 + 400 * number) * US
            executions[node].append(f"{at},{COMPUTED_US / 1000},0")
            name = node.rpartition("/")[2]
            rows.append(f"{name.partition('-')[0]};{name};1;input_1:{of_inputs};input_3:NoShape;" if shapes else ";;1;")
            events.append(
                _event("module:Kernel", "KernelLaunch", node, at - US, at + (COMPUTED_US + 1) * US, launching)
            )
    lines = [f"{node};HostCpuOps;{' '.join(texts)} " for node, texts in executions.items()]
    (framework / "cpu_op_execute_timestamp_0.txt").write_text("\n".join(lines) + "\n")
    (framework / "cpu_framework_0.txt").write_text("\n".join(rows) + "\n")
    (framework / "cpu_ms_memory_record_0.txt").write_text(f"Timestamp(ns),a,b,c\n{START + 500 * US},512,1024,512\n")
    if runtime:
        (framework / "runtime" / "rank_0" / "RuntimeProfilerDetail1.csv").write_text("\n".join(events) + "\n")
    capture = {"version": 1, "framework": "mindspore", "pid": PID, "rank": 0, "world": 1, "start": START - 1000}
    (framework / "capture.json").write_text(json.dumps({**capture, "end": START + STEPS * STEP_US * US}))
    marks = [[START + 100 * US, START + 300 * US, PID, "train", "default"]]
    host = {"dispatched": [], "marks": marks, "stacks": [], "nodes": GRAPHS if graphs else {}, "groups": {}}
    (framework / "host.json").write_text(json.dumps(host))
    settings = {
        "activities": ["CPU", "NPU"],
        "profiler_level": "Level1",
        "aic_metrics": "PipeUtilization",
        "export_type": ["text"],
        "record_shapes": True,
        "profile_memory": True,
        "schedule": {"wait": 0, "active": 2, "warmup": 1, "repeat": 1, "skip_first": 0},
        "is_set_schedule": True,
        **parameters,
    }
    info = {
        "profiler_parameters": settings,
        "ms_profiler_info": {"rank_id": "0", "device_id": "0"},
        "ms_version": "2.10.0",
    }
    (folder / "profiler_info_0.json").write_text(json.dumps(info))
    (folder / "profiler_metadata.json").write_text(json.dumps({SIMULATED: True}))
    return folder


def write_rank(
    logdir: Path,
    rank: int,
    world: int,
    group: list[int],
    begins: list[int],
    ends: list[int],
    type_: str = "AllReduce",
    **parameters: Any,
) -> Path:
    """Write the folder of one of several ranks, whose main thread executes a collective of `group` from each of `begins` to one
    of `ends`, in us after START. parameters: of the profile."""
    folder = logdir / f"host_{PID + rank}_20261123132140707_ascend_ms"
    framework = folder / "FRAMEWORK"
    framework.mkdir(parents=True)
    node = f"Default/net/{type_}-op0"
    times = " ".join(f"{START + begin * US},{(end - begin) / 1000},0" for begin, end in zip(begins, ends))
    (framework / f"cpu_op_execute_timestamp_{rank}.txt").write_text(f"{node};HostCpuOps;{times} \n")
    rows = f"{type_};{type_}-op0;1;input_1:[8, 64];\n" * len(begins)
    (framework / f"cpu_framework_{rank}.txt").write_text(rows)
    capture = {"version": 1, "framework": "mindspore", "pid": PID + rank, "rank": rank, "world": world}
    capture |= {"start": START, "end": START + (ends[-1] + 100) * US}
    (framework / "capture.json").write_text(json.dumps(capture))
    nodes = {node: {"inputs": ["float16"], "output": [[8, 64], "float16"], "group": "some"}}
    host = {"dispatched": [], "marks": [], "stacks": [], "nodes": nodes, "groups": {"some": group}}
    (framework / "host.json").write_text(json.dumps(host))
    settings = {"activities": ["CPU", "NPU"], "profiler_level": "Level1", "export_type": ["text"], **parameters}
    (folder / f"profiler_info_{rank}.json").write_text(json.dumps({"profiler_parameters": settings}))
    return folder


def _event(module: str, event: str, op: str, start: int, end: int, tid: int) -> str:
    return (
        f"{module}, event:{event}, op:{op}, start_time:{start}, end_time:{end}, dur_time:,{end - start},ns, tid:{tid}, "
        f"pid:{PID}"
    )
