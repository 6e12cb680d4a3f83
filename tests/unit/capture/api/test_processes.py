"""What happens to captures when processes end, disks are full, or several ranks train: with real processes."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[4]
FAKE = """
import os, sys
from tb_npu_plugin.capture import backend
from tests.unit.capture.api import fake
backend.choose(backend.Backend("fake", lambda: fake.FakeRecorder([], {}, []), fake.PARSER))
from tb_npu_plugin.capture.pytorch import *
from tb_npu_plugin.capture.pytorch import _KinetoProfile
"""
needs_torch = pytest.mark.skipif(
    importlib.util.find_spec("torch") is None, reason="PyTorch is not installed: see docs/capture.md"
)


def _start(script: str, folder: Path, **variables: str) -> subprocess.Popen[str]:
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "TB_NPU_BACKEND": "mock", **variables}
    environment.pop("ASCEND_WORK_PATH", None)
    return subprocess.Popen(
        [sys.executable, "-c", FAKE + script],
        cwd=folder,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def _run(script: str, folder: Path) -> str:
    process = _start(script, folder)
    said, problems = process.communicate()
    assert process.returncode == 0, problems
    assert "Traceback" not in problems
    return said


def _parsed(folder: Path) -> bool:
    return (folder / "ASCEND_PROFILER_OUTPUT/analyse.done").is_file()


@pytest.mark.parametrize("mode", ["False", "True"])
def test_a_capture_that_runs_when_the_process_ends(mode: str, tmp_path: Path) -> None:
    script = f"prof = profile(on_trace_ready=tensorboard_trace_handler('result', async_mode={mode}))\nprof.start()\n"
    _run(script, tmp_path)
    [folder] = (tmp_path / "result").iterdir()
    assert _parsed(folder)


def test_the_process_waits_for_async_parsing(tmp_path: Path) -> None:
    script = (
        "with profile(on_trace_ready=tensorboard_trace_handler('result', async_mode=True), schedule=schedule(0, 1)) as p:\n"
        "    for _ in range(3): p.step()\n"
        "print('the training is over')\n"
    )
    said = _run(script, tmp_path)
    folders = list((tmp_path / "result").iterdir())
    assert len(folders) == 4
    assert all(_parsed(folder) for folder in folders)
    assert said.count("Start parsing profiling data in async mode at: ") == 4


def test_a_forked_process_leaves_the_capture_alone(tmp_path: Path) -> None:
    script = (
        "prof = profile(on_trace_ready=lambda prof: print('ready', flush=True))\n"
        "prof.start()\n"
        "if os.fork() == 0:\n"
        "    sys.exit()\n"
        "os.wait()\n"
        "print('now', flush=True)\n"
        "prof.stop()\n"
    )
    said = [line for line in _run(script, tmp_path).splitlines() if not line.startswith("[")]
    assert said == ["now", "ready"]


def test_a_forked_process_that_goes_on_with_the_profile(tmp_path: Path) -> None:
    """As where a child leaves the `with` by sys.exit()."""
    script = (
        "with profile(schedule=schedule(0, 1), on_trace_ready=lambda prof: print('ready', flush=True)) as prof:\n"
        "    if os.fork() == 0:\n"
        "        prof.step()\n"
        "        prof.start()\n"
        "        sys.exit()\n"
        "    os.wait()\n"
        "    print('now', flush=True)\n"
    )
    lines = _run(script, tmp_path).splitlines()
    assert [line for line in lines if not line.startswith("[")] == ["now", "ready"]
    told = [line.split("process ")[1] for line in lines if "takes no effect in its child" in line]
    parent = told[0].split(",")[0]
    assert told == [f"{parent}, {call} takes no effect in its child!" for call in ("step", "start", "stop")]


@pytest.mark.parametrize("kind", ["profile(on_trace_ready=lambda prof: print('ready'))", "_KinetoProfile()"])
def test_a_profile_that_is_made_before_the_process_forks(kind: str, tmp_path: Path) -> None:
    script = (
        f"prof = {kind}\n"
        "if os.fork() == 0:\n"
        "    with prof: pass\n"
        "    prof.export_chrome_trace('trace.json')\n"
        "    sys.exit()\n"
        "os.wait()\n"
    )
    said = _run(script, tmp_path)
    assert "takes no effect" not in said
    assert (tmp_path / "trace.json").is_file()
    assert not (tmp_path / "export_only_prof_dir").exists()


def test_a_forked_process_parses_in_the_background_itself(tmp_path: Path) -> None:
    script = (
        "def capture():\n"
        "    with profile(on_trace_ready=tensorboard_trace_handler('result', async_mode=True)): pass\n"
        "capture()\n"
        "while not list(__import__('pathlib').Path().glob('result/*/*/analyse.done')): __import__('time').sleep(0.01)\n"
        "if os.fork() == 0:\n"
        "    capture()\n"
        "    sys.exit()\n"
        "os.wait()\n"
    )
    _run(script, tmp_path)
    folders = list((tmp_path / "result").iterdir())
    assert len(folders) == 2
    assert all(_parsed(folder) for folder in folders)


def test_temporary_folders_go_with_the_process(tmp_path: Path) -> None:
    _run("p = _KinetoProfile()\np.start()\np.stop()\np.export_chrome_trace('trace.json')\n", tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["trace.json"]


def test_an_exception_of_the_training_passes_and_the_capture_is_kept(tmp_path: Path) -> None:
    script = "with profile(on_trace_ready=tensorboard_trace_handler('result')):\n    raise KeyError('the training')\n"
    process = _start(script, tmp_path)
    _, problems = process.communicate()
    assert process.returncode == 1
    assert "KeyError: 'the training'" in problems
    [folder] = (tmp_path / "result").iterdir()
    assert _parsed(folder)


@pytest.mark.parametrize(
    ("prepare", "where", "reason"),
    [
        ("", "/proc/result", "No such file or directory"),
        ("open('file', 'w').close()", "file", "Not a directory"),
        # no file may grow: what a full disk does, but to this process alone
        ("import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))", "result", "File too large"),
    ],
)
def test_a_disk_that_takes_nothing(prepare: str, where: str, reason: str, tmp_path: Path) -> None:
    script = (
        f"{prepare}\n"
        f"with profile(on_trace_ready=tensorboard_trace_handler({where!r}), schedule=schedule(0, 3, repeat=1)) as prof:\n"
        "    for step in range(5):\n"
        "        prof.step()\n"
        "print('steps', prof.step_num)\n"
    )
    *lines, last = _run(script, tmp_path).splitlines()
    assert last == "steps 5"
    [error] = [line for line in lines if "[ERROR]" in line]
    assert reason in error
    assert "The training goes on." in error


RANK = """
import torch.distributed as dist
rank = int(os.environ["MY_RANK"])
dist.init_process_group("gloo", init_method="file://" + os.path.abspath("meeting"), rank=rank, world_size=2)
alone = [dist.new_group([member]) for member in range(2)][rank]
with profile(on_trace_ready=tensorboard_trace_handler("result", analyse_flag=False)):
    dist.barrier()
os._exit(0)  # to destroy the group may hang in PyTorch: distributed_training.leave()
"""


@needs_torch
def test_ranks_of_torch_distributed(tmp_path: Path) -> None:
    processes = [_start(RANK, tmp_path, MY_RANK=str(rank)) for rank in range(2)]
    problems = [process.communicate()[1] for process in processes]
    assert [process.returncode for process in processes] == [0, 0], problems
    groups = {}
    for rank in range(2):
        [info] = (tmp_path / "result").glob(f"*/profiler_info_{rank}.json")
        assert json.loads(info.read_text())["rank_id"] == rank  # a number
        groups[rank] = json.loads((info.parent / "profiler_metadata.json").read_text())["parallel_group_info"]
    world = {name: group for name, group in groups[0].items() if group["group_name"] == "default_group"}
    [(name, group)] = world.items()
    assert group == {"group_name": "default_group", "group_rank": 0, "global_ranks": [0, 1]}
    assert groups[1][name] == {**group, "group_rank": 1}
    for rank in range(2):
        [own] = [group for group in groups[rank].values() if group["group_name"] != "default_group"]
        assert (own["group_rank"], own["global_ranks"]) == (0, [rank])
