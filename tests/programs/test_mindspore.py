"""MindSpore's own package under `tb-npu run`, and with the twin of its profiler.

The scripts are in the style of the vendor's documents, ask for Ascend, and run unchanged on the CPU. No NPU was there: that a
host with one gets MindSpore's own objects is shown by what has_npu looks at alone.
"""

from __future__ import annotations

import csv
import json
import os
import re
import subprocess
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import tb_npu_plugin.capture.mindspore as own_package
from tb_npu_plugin.capture.mindspore.raw_data import read
from tests.conftest import ROOT
from tests.programs import python_of
from tests.programs.mindspore import run_script
from tests.support.cli import shown as show_json
from tests.support.invariants import check_all
from tests.support.span import found_spans

pytestmark = pytest.mark.full

MODEL = """
import os, sys, time
import numpy as np
import mindspore
from mindspore import Tensor, context, nn, ops
import mindspore.dataset as ds
class Block(nn.Cell):
    def __init__(self):
        super().__init__()
        self.norm, self.query, self.key, self.value = nn.LayerNorm([64]), nn.Dense(64, 64), nn.Dense(64, 64), nn.Dense(64, 64)
        self.out, self.up, self.act, self.down = nn.Dense(64, 64), nn.Dense(64, 256), nn.GELU(), nn.Dense(256, 64)
    def construct(self, x):
        y = self.norm(x)
        a = ops.softmax(ops.bmm(self.query(y), self.key(y).swapaxes(1, 2)) / 8.0, -1)
        x = x + self.out(ops.bmm(a, self.value(y)))
        return x + self.down(self.act(self.up(x)))
def generate():
    for _ in range(24):
        yield np.random.rand(8).astype(np.float32), np.random.rand(4).astype(np.float32)
def dense_model():
    net = nn.Dense(8, 4)
    return mindspore.train.Model(net, nn.MSELoss(), nn.Momentum(net.trainable_params(), 0.01, 0.9))
def data():
    return ds.GeneratorDataset(generate, ["data", "label"]).batch(2)
"""
#: Method 0 of the oldest document: the legacy Profiler around Model.train.
LEGACY = """
from mindspore.profiler import Profiler
context.set_context(mode=context.GRAPH_MODE, device_target='Ascend', device_id=int(os.environ.get("DEVICE_ID", "0")))
profiler = Profiler(output_path="./result")
dense_model().train(1, data())
profiler.analyse()
"""
#: A callback that profiles from one step to another.
CALLBACK = """
mindspore.set_context(mode=mindspore.GRAPH_MODE, device_target="Ascend")
class StopAtStep(mindspore.Callback):
    def __init__(self, start_step, stop_step):
        super().__init__()
        self.start_step, self.stop_step = start_step, stop_step
        self.profiler = mindspore.profiler.profile(
            start_profile=False, experimental_config=mindspore.profiler._ExperimentalConfig(),
            on_trace_ready=mindspore.profiler.tensorboard_trace_handler("./result"))
    def on_train_step_begin(self, run_context):
        if run_context.original_args().cur_step_num == self.start_step:
            self.profiler.start()
    def on_train_step_end(self, run_context):
        step = run_context.original_args().cur_step_num
        if self.start_step <= step <= self.stop_step:
            self.profiler.step()
        if step == self.stop_step:
            self.profiler.stop()
dense_model().train(1, data(), callbacks=[StopAtStep(3, 5)], dataset_sink_mode=False)
"""
#: A loop with a schedule, at level 2 and with everything that is recorded beside kernels.
SCHEDULE = """
from mindspore.profiler import AicoreMetrics, ExportType, ProfilerActivity, ProfilerLevel, mstx
mindspore.set_device("Ascend", 0)
mindspore.set_context(mode=mindspore.PYNATIVE_MODE)
net = nn.SequentialCell(Block(), Block())
optimizer = nn.AdamWeightDecay(net.trainable_params(), 1e-3)
gradients = mindspore.value_and_grad(lambda x: net(x).square().mean(), None, optimizer.parameters)
x = Tensor(np.random.rand(4, 16, 64).astype(np.float32))
def train():
    number = mstx.range_start("train")
    loss, found = gradients(x)
    optimizer(found)
    loss.asnumpy()
    mstx.range_end(number)
train()
config = mindspore.profiler._ExperimentalConfig(
    profiler_level=ProfilerLevel.Level2, aic_metrics=AicoreMetrics.PipeUtilization, l2_cache=True, mstx=True,
    export_type=[ExportType.Text, ExportType.Db])
with mindspore.profiler.profile(
        activities=[ProfilerActivity.CPU, ProfilerActivity.NPU], profile_memory=True, record_shapes=True, with_stack=True,
        schedule=mindspore.profiler.schedule(wait=0, warmup=1, active=2, repeat=1),
        on_trace_ready=mindspore.profiler.tensorboard_trace_handler("./result"), experimental_config=config) as prof:
    for step in range(4):
        train()
        prof.step()
"""
#: A window that the JSON file names, and which is set while the training runs.
DYNAMIC = """
import json
from mindspore.profiler import DynamicProfilerMonitor
mindspore.set_device("Ascend")
monitor = DynamicProfilerMonitor(cfg_path="./config", output_path="./result", poll_interval=1)
net, x = nn.Dense(8, 4), Tensor(np.ones((2, 8), np.float32))
for step in range(14):
    net(x).asnumpy()
    monitor.step()
    if step == 1:
        with open("./config/profiler_config.json") as file:
            settings = json.load(file)
        settings.update(start_step=7, stop_step=9, analyse=True)
        with open("./config/profiler_config.json", "w") as file:
            json.dump(settings, file)
    time.sleep(0.5)
"""
#: The environment variable alone.
OPTIONS = """
mindspore.set_device("Ascend")
net, x = nn.Dense(8, 4), Tensor(np.ones((2, 8), np.float32))
for _ in range(3):
    net(x).asnumpy()
mindspore.profiler.EnvProfiler().analyse()
"""
SECOND = """
from mindspore.profiler import profile, tensorboard_trace_handler
mindspore.set_device("Ascend")
net, x = nn.Dense(8, 4), Tensor(np.ones((2, 8), np.float32))
first = profile(on_trace_ready=tensorboard_trace_handler("./result"))
second = profile(on_trace_ready=tensorboard_trace_handler("./other"))
net(x).asnumpy()
second.step(), second.stop(), first.stop()
third = profile(on_trace_ready=tensorboard_trace_handler("./result"))
net(x).asnumpy()
third.stop()
"""
#: Every pair of actions: what a schedule that returns them leaves behind.
TRANSITIONS = """
from mindspore.profiler import tensorboard_trace_handler
from mindspore.profiler.schedule import ProfilerAction as A
if sys.argv[1] == "twin":
    from tb_npu_plugin.capture.mindspore import profile
else:
    from mindspore.profiler import profile
from mindspore.profiler.profiler_interface import ProfilerInterface as I
done = []
for name in ("init", "start", "stop", "finalize", "clear"):
    def call(own=getattr(I, name), name=name):
        done.append(name)
        own()
    setattr(I, name, call)
net, x = nn.Dense(8, 4), Tensor(np.ones((2, 8), np.float32))
import json
out = {}
for before in (*A,):
    for after in (*A, None):
        done.clear()
        ready = []
        steps = {0: before, 1: after} if after is not None else {0: before}
        prof = profile(schedule=lambda step: steps.get(step, A.NONE), on_trace_ready=lambda prof: ready.append(1))
        net(x).asnumpy()
        if after is not None:
            prof.step()
        else:
            prof.stop()
        out[f"{before.name} {after.name if after is not None else 'stop'}"] = [*done, len(ready)]
        prof._has_started = False
        I.clear()
print("TABLE" + json.dumps(out))
"""
ARGUMENTS = """
import contextlib, io, json, warnings
import mindspore.profiler as own
from mindspore import log
if sys.argv[1] == "twin":
    import tb_npu_plugin.capture.mindspore as own
from mindspore.profiler import *
texts = []
for name in ("warning", "error"):
    setattr(log, name, lambda text, *args: texts.append(str(text) % args if args else str(text)))
warnings.showwarning = lambda message, *rest, **more: texts.append(str(message))
warnings.simplefilter("always")
L, M = ProfilerLevel, AicoreMetrics
C = own._ExperimentalConfig
cases = [
    dict(), dict(activities=ProfilerActivity.CPU), dict(activities=["CPU"]), dict(activities=[]),
    dict(with_stack=1, profile_memory="x", data_process=None, record_shapes=0), dict(schedule="x"), dict(schedule=len),
    dict(on_trace_ready=3), dict(experimental_config={"a": 1}), dict(hbm_ddr=True, pcie=True), dict(nope=1),
    dict(schedule=own.schedule(wait=0, active=1, warmup=1), data_process=True),
    dict(activities=[ProfilerActivity.NPU], record_shapes=True),
    *(dict(experimental_config=C(**one)) for one in (
        dict(profiler_level=1), dict(profiler_level="Level1"), dict(profiler_level=L.LevelNone), dict(aic_metrics=M.Memory),
        dict(profiler_level=L.Level2), dict(export_type="db"), dict(export_type=["db"]), dict(mstx_domain_include=["a"]),
        dict(mstx=True, mstx_domain_include=["a"], mstx_domain_exclude=["b"]), dict(mstx=True, mstx_domain_include=["a", 1]),
        dict(host_sys=["cpu"])))
]
out = []
for case in cases:
    texts.clear()
    try:
        own.profile(start_profile=False, **case)
        raised = ""
    except Exception as error:
        raised = f"{type(error).__name__}: {error}"
    out.append([sorted(texts), raised])
for call in (lambda: own.schedule(), lambda: own.schedule(wait=-1, active=2), lambda: own.schedule(wait=1, active=2)(-1),
             lambda: own.tensorboard_trace_handler(1), lambda: own.tensorboard_trace_handler("h", worker_name=""),
             lambda: own.DynamicProfilerMonitor()):
    texts.clear()
    try:
        call()
        raised = ""
    except Exception as error:
        raised = f"{type(error).__name__}: {error}"
    out.append([sorted(texts), raised])
print("TABLE" + json.dumps(out))
"""
#: What each action of the transition table does. Source: MindSpore 2.10, of which these were recorded.
BEGIN = {"NONE": [], "WARM_UP": ["init"], "RECORD": ["init", "start"], "RECORD_AND_SAVE": ["init", "start"]}
SAVE = ["stop", "finalize", "clear"]


def run(folder: Path, script: str, *arguments: str, simulated: bool = True, **variables: str) -> str:
    """Run a script in a folder; gives what it printed."""
    (folder / "train.py").write_text(MODEL + script)
    return run_script(folder, Path("train.py"), *arguments, simulated=simulated, **variables)


def results(folder: Path) -> list[Path]:
    return sorted(folder.rglob("*_ascend_ms"))


def show(path: Path, view: str) -> dict[str, Any]:
    found: dict[str, Any] = show_json(view, path)
    return found


def version_of(result: Path) -> str:
    """Of MindSpore."""
    return str(json.loads(next(result.glob("profiler_info_*.json")).read_bytes())["ms_version"])


def kernels(result: Path) -> list[dict[str, str]]:
    with (result / "ASCEND_PROFILER_OUTPUT" / "kernel_details.csv").open(newline="") as file:
        return list(csv.DictReader(file))


@pytest.mark.parametrize("script", [LEGACY, CALLBACK], ids=["legacy", "callback"])
def test_graph_mode_runs_unchanged(tmp_path: Path, script: str) -> None:
    printed = run(tmp_path, script)
    assert printed.count("the NPU is simulated") == 1
    (result,) = results(tmp_path)
    launches = read(result).launches
    assert launches and len(kernels(result)) == len(launches)
    assert all(launch.shapes is not None for launch in launches)
    assert all(launch.types for launch in launches if not launch.node.startswith("Expand/")), "of the compiled graph"
    assert {"05", "07", "08"} <= check_all(result)
    assert show(tmp_path / "result", "overview")["data"]["capture"]["simulated"] is True
    for view in ("trace", "kernel", "operator", "idle", "step_trace"):
        assert show(tmp_path / "result", view)["state"] == "ready", view


def test_pynative_step_of_two_blocks(tmp_path: Path) -> None:
    """142 launches a step become as many kernels in order, of which 140 or more have shapes."""
    run(tmp_path, SCHEDULE)
    (result,) = results(tmp_path)
    data, rows = read(result), kernels(result)
    assert len(data.launches) == len(rows) > 0
    assert all(launch.node in row["Name"] for launch, row in zip(data.launches, rows))
    if version_of(result).startswith("2.10."):  # others launch other operators, and have no dispatch mode
        assert len(rows) == 2 * 142
        assert sum(launch.shapes is not None for launch in data.launches) >= 2 * 140
    assert len(data.marks) == 2 and data.stacks
    assert check_all(result) == {"05", "06", "07", "08", "11", "14"}
    for view in ("overview", "trace", "kernel", "operator", "idle", "step_trace", "memory", "doctor"):
        assert show(tmp_path / "result", view)["state"] == "ready", view


def test_dynamic_window_is_set_while_running(tmp_path: Path) -> None:
    (tmp_path / "config").mkdir()
    run(tmp_path, DYNAMIC)
    (result,) = results(tmp_path)
    assert re.fullmatch(r"rank0_start7_stop9", result.parent.name)
    assert kernels(result)
    (span,) = found_spans(tmp_path / "result")
    assert span.capture.window == (7, 9)


def test_environment_variable_records_the_run(tmp_path: Path) -> None:
    options = {"start": True, "output_path": str(tmp_path / "result"), "activities": ["CPU", "NPU"]}
    run(tmp_path, OPTIONS, MS_PROFILER_OPTIONS=json.dumps(options))
    (result,) = results(tmp_path / "result")
    assert len(kernels(result)) == len(read(result).launches) > 0


def test_what_is_left_out_is_said(tmp_path: Path) -> None:
    """On the console and in the result: a sunk graph, and blocks of memory."""
    script = """
from mindspore.profiler import profile, tensorboard_trace_handler
mindspore.set_context(mode=mindspore.GRAPH_MODE, device_target="Ascend")
for name in ("first", "second"):
    with profile(profile_memory=name == "first", on_trace_ready=tensorboard_trace_handler(name)):
        dense_model().train(1, data(), dataset_sink_mode=name == "first", sink_size=4)
"""
    printed = run(tmp_path, script)
    assert printed.count("A sunk graph") == printed.count("no blocks of memory") == 1
    found = {name: found_spans(tmp_path / name)[0].problems for name in ("first", "second")}
    assert {name: sum(one.code == "not_simulated" for one in problems) for name, problems in found.items()} == {
        "first": 2,
        "second": 0,
    }


def test_without_private_names_there_are_executions_alone(tmp_path: Path) -> None:
    """Another version of MindSpore may lack the runtime profiler and the dispatch mode."""
    script = """
import mindspore._c_expression as native
from mindspore.profiler import profile, tensorboard_trace_handler
del native._framework_profiler_clear
sys.modules["mindspore.utils.ms_dispatch"] = None
mindspore.set_device("Ascend")
net, x = nn.Dense(8, 4), Tensor(np.ones((2, 8), np.float32))
with profile(on_trace_ready=tensorboard_trace_handler("./result")):
    net(x).asnumpy()
"""
    printed = run(tmp_path, script)
    assert printed.count("This MindSpore has no runtime profiler") == 1
    (result,) = results(tmp_path)
    launches = read(result).launches
    assert len(kernels(result)) == len(launches) > 0
    assert {launch.tid for launch in launches} == {0}


def test_second_profile_is_refused(tmp_path: Path) -> None:
    printed = run(tmp_path, SECOND)
    assert printed.count("Another profile of this process is recording") == 1
    assert len(results(tmp_path / "result")) == 2 and not (tmp_path / "other").exists()
    assert all(kernels(result) for result in results(tmp_path / "result"))


@cache
def table(tmp: Path, script: str, which: str) -> object:
    (tmp / which).mkdir()
    printed = run(tmp / which, script, which, simulated=False)
    return json.loads(printed.rpartition("TABLE")[2].partition("\n")[0])


def test_every_transition_is_that_of_mindspore(tmp_path: Path) -> None:
    found = table(tmp_path, TRANSITIONS, "twin")
    assert found == table(tmp_path, TRANSITIONS, "own")
    assert isinstance(found, dict)
    for after, begin in BEGIN.items():
        assert found[f"NONE {after}"] == [*begin, 0]
        assert found[f"RECORD_AND_SAVE {after}"] == ["init", "start", *SAVE, *begin, 1]
    assert found["RECORD stop"] == ["init", "start", *SAVE, 1]
    assert found["WARM_UP stop"] == ["init", "finalize", "clear", 0]


def test_every_bad_argument_gets_the_words_of_mindspore(tmp_path: Path) -> None:
    found = table(tmp_path, ARGUMENTS, "twin")
    assert found == table(tmp_path, ARGUMENTS, "own")
    assert isinstance(found, list)
    assert sum(bool(texts or raised) for texts, raised in found) >= 20


def test_own_profile_stays_usable_beside_the_twin(tmp_path: Path) -> None:
    """MindSpore's own result of a CPU, in a process that has imported the twin."""
    script = """
from tb_npu_plugin.capture.mindspore import profile as twin
mindspore.set_device("CPU")
net, x = nn.Dense(8, 4), Tensor(np.ones((2, 8), np.float32))
with mindspore.profiler.profile(on_trace_ready=mindspore.profiler.tensorboard_trace_handler("./result")):
    net(x).asnumpy()
"""
    run(tmp_path, script, simulated=False)
    (span,) = found_spans(tmp_path / "result")
    assert span.format == "mindspore_cpu"


def test_two_ranks_communicate(tmp_path: Path) -> None:
    script = """
from mindspore.communication import create_group, get_rank, init
from mindspore.profiler import ProfilerLevel, profile, schedule, tensorboard_trace_handler
mindspore.set_context(mode=mindspore.GRAPH_MODE, device_target="Ascend")
init("hccl")
create_group("pair", [0, 1])
class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        group = {} if mindspore.__version__.startswith("2.7") else {"group": "pair"}  # its CPU build has no other groups
        self.dense, self.reduce, self.gather = nn.Dense(64, 64), ops.AllReduce(**group), ops.AllGather()
    def construct(self, x):
        return self.gather(self.reduce(self.dense(x)))
net, x = Net(), Tensor(np.random.rand(8, 64).astype(np.float32))
net(x)
config = mindspore.profiler._ExperimentalConfig(profiler_level=ProfilerLevel.Level1)
with profile(schedule=schedule(wait=0, warmup=0, active=2, repeat=1), experimental_config=config,
             on_trace_ready=tensorboard_trace_handler("./result")) as prof:
    for _ in range(3):
        time.sleep(0.05 * get_rank())
        net(x).asnumpy()
        prof.step()
"""
    (tmp_path / "train.py").write_text(MODEL + script)
    command = [str(python_of("mindspore")), "-m", "tb_npu_plugin.capture.run", "train.py"]
    common = {"MS_WORKER_NUM": "2", "MS_SCHED_HOST": "127.0.0.1", "MS_SCHED_PORT": "8137"}
    common = {**os.environ, "PYTHONPATH": str(ROOT), **common}
    roles = [{"MS_ROLE": "MS_SCHED"}, *({"MS_ROLE": "MS_WORKER", "MS_NODE_ID": n, "RANK_ID": n} for n in "01")]
    running = [
        subprocess.Popen(
            command, cwd=tmp_path, env={**common, **role}, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        for role in roles
    ]
    assert [process.wait(200) for process in running[1:]] == [0, 0]
    found = results(tmp_path)
    assert len(found) == 2 and all("12" in check_all(result) for result in found)
    assert {span.capture.rank for span in found_spans(tmp_path / "result")} == {0, 1}
    waited = {}
    for result in found:
        metadata = json.loads((result / "profiler_metadata.json").read_bytes())
        groups = metadata["parallel_group_info"]
        assert set(groups) == {"hccl_world_group"} | (set() if version_of(result).startswith("2.7") else {"pair"})
        assert all(group["global_ranks"] == [0, 1] for group in groups.values())
        rank = groups["hccl_world_group"]["group_rank"]
        steps = json.loads((result / "ASCEND_PROFILER_OUTPUT/communication.json").read_bytes()).values()
        assert [len(step["collective"]) for step in steps] == [3, 3], "two collectives and their sum"
        waited[rank] = [
            step["collective"]["Total Op Info"]["Communication Time Info"]["Wait Time(ms)"] for step in steps
        ]
    assert min(waited[0]) > 30 and max(waited[1]) < 30, "rank 1 comes 50 ms later in each step"


def test_host_with_an_npu_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(own_package, "DEVICES", tmp_path)
    assert not own_package.has_npu()
    (tmp_path / "davinci0").touch()
    assert own_package.has_npu()
    monkeypatch.setenv("TB_NPU_BACKEND", "mock")
    assert not own_package.has_npu()
