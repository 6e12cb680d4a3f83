"""Captures in processes that end, fork, meet a full disk, or are one of several ranks."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tb_npu_plugin.capture.api.parsing import analyse
from tests.unit.capture.api.conftest import Recorded
from tests.unit.capture.scripts import PROLOGUE, ROOT, is_parsed, needs_torch, own_lines, run_python, run_script


@pytest.mark.parametrize("mode", ["False", "True"])
def test_a_capture_that_runs_when_the_process_ends(mode: str, tmp_path: Path) -> None:
    script = f"prof = profile(on_trace_ready=tensorboard_trace_handler('result', async_mode={mode}))\nprof.start()\n"
    run_script(tmp_path, script)
    [folder] = (tmp_path / "result").iterdir()
    assert is_parsed(folder)


def test_the_process_waits_for_async_parsing(tmp_path: Path) -> None:
    script = (
        "with profile(on_trace_ready=tensorboard_trace_handler('result', async_mode=True), schedule=schedule(0, 1)) as p:\n"
        "    for _ in range(2): p.step()\n"
    )
    out = run_script(tmp_path, script)
    folders = list((tmp_path / "result").iterdir())
    assert len(folders) == out.count("Start parsing profiling data in async mode at: ") == 3
    assert all(is_parsed(folder) for folder in folders)


@pytest.mark.parametrize(("sent", "parsed"), [(signal.SIGINT, True), (signal.SIGTERM, False)])
def test_a_signal_ends_the_process_during_a_capture(
    sent: signal.Signals, parsed: bool, tmp_path: Path, recorded: Recorded
) -> None:
    script = (
        "import subprocess\n"
        "with profile(on_trace_ready=tensorboard_trace_handler('result')):\n"
        f"    subprocess.run(['kill', '-{int(sent)}', str(os.getpid())])\n"
        "    time.sleep(60)\n"
    )
    run_script(tmp_path, script, status=-sent)
    [folder] = (tmp_path / "result").iterdir()
    assert is_parsed(folder) == parsed
    analyse(str(folder))
    assert is_parsed(folder)


@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_while_a_capture_is_stopped_waits_until_it_is_written(
    sent: signal.Signals, tmp_path: Path, recorded: Recorded
) -> None:
    script = (
        f"fake.FakeRecorder.stop = lambda self: os.kill(os.getpid(), {int(sent)})\n"
        "with profile(on_trace_ready=tensorboard_trace_handler('result')): pass\n"
    )
    run_script(tmp_path, script, status=-sent)
    [folder] = (tmp_path / "result").iterdir()
    assert not is_parsed(folder)
    analyse(str(folder))
    assert is_parsed(folder)


@pytest.mark.full
@pytest.mark.parametrize(
    ("parser", "mode", "status", "parsed"),
    [
        ("kill_who_waits", "False", -signal.SIGKILL, False),
        # in the background parsing goes on, and the process waits for it
        ("interrupt_and_parse", "True", -signal.SIGINT, True),
        ("full_disk", "False", 0, False),
    ],
)
def test_parsing_that_ends_early_leaves_no_half_result(
    parser: str, mode: str, status: int, parsed: bool, tmp_path: Path, recorded: Recorded
) -> None:
    wait = "while True: time.sleep(0.01)\n" if mode == "True" and status else ""
    script = f"with profile(on_trace_ready=tensorboard_trace_handler('result', async_mode={mode})): pass\n{wait}"
    run_script(tmp_path, script, parser, status=status)
    [folder] = (tmp_path / "result").iterdir()
    assert is_parsed(folder) == (folder / "ASCEND_PROFILER_OUTPUT").exists() == parsed
    analyse(str(folder))
    assert is_parsed(folder)
    assert not list(folder.glob("*.part*"))


def test_a_profile_may_die_after_its_modules(tmp_path: Path) -> None:
    """Cause: in a reference cycle, it was found when the names of modules were None, and an exception was printed."""
    script = (
        "import atexit, sys\n"
        "@atexit.register  # before that of the API, so that it runs after\n"
        "def clear():\n"
        "    names = vars(sys.modules['tb_npu_plugin.capture.api.messages'])\n"
        "    names.update(dict.fromkeys(names))\n"
        "from tb_npu_plugin.capture.pytorch import _KinetoProfile\n"
        "prof = _KinetoProfile()\n"
        "prof.itself = prof\n"
    )
    assert run_python(script, tmp_path, TB_NPU_BACKEND="mock").stderr == ""


def test_a_forked_process_leaves_the_capture_alone(tmp_path: Path) -> None:
    script = (
        "with profile(schedule=schedule(0, 1), on_trace_ready=lambda prof: print('ready', flush=True)) as prof:\n"
        "    if os.fork() == 0:\n"
        "        prof.step()\n"
        "        prof.start()\n"
        "        sys.exit()  # leaves the with\n"
        "    os.wait()\n"
        "    print('now', flush=True)\n"
    )
    out = run_script(tmp_path, script)
    assert own_lines(out) == ["now", "ready"]
    warnings = [line.split("process ")[1] for line in out.splitlines() if "takes no effect in its child" in line]
    parent = warnings[0].split(",")[0]
    assert warnings == [f"{parent}, {call} takes no effect in its child!" for call in ("step", "start", "stop")]


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
    assert "takes no effect" not in run_script(tmp_path, script)
    assert (tmp_path / "trace.json").is_file()
    assert not (tmp_path / "export_only_prof_dir").exists()


def test_a_forked_process_parses_in_the_background_itself(tmp_path: Path) -> None:
    script = (
        "def capture():\n"
        "    with profile(on_trace_ready=tensorboard_trace_handler('result', async_mode=True)): pass\n"
        "capture()\n"
        "while not list(Path().glob('result/*/*/analyse.done')): time.sleep(0.01)\n"
        "if os.fork() == 0:\n"
        "    capture()\n"
        "    sys.exit()\n"
        "os.wait()\n"
    )
    run_script(tmp_path, script)
    assert [is_parsed(folder) for folder in (tmp_path / "result").iterdir()] == [True, True]


@pytest.mark.parametrize(
    ("prepare", "where", "reason"),
    [
        ("", "/proc/result", "No such file or directory"),
        ("open('file', 'w').close()", "file", "Not a directory"),
        # no file may grow: what a full disk does, but to this process alone
        ("resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))", "result", "File too large"),
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
    *lines, last = run_script(tmp_path, script).splitlines()
    assert last == "steps 5"
    [error] = [line for line in lines if "[ERROR]" in line]
    assert reason in error
    assert "The training goes on." in error


RANK = """
from tb_npu_plugin.capture.pytorch import torch_npu
import torch.distributed as dist
rank = int(os.environ["MY_RANK"])
torch_npu.npu.set_device(rank)
dist.init_process_group("hccl", init_method="file://" + os.path.abspath("meeting"), rank=rank, world_size=2)
alone = [dist.new_group([member]) for member in range(2)][rank]
on_the_host = dist.new_group(backend="gloo")  # is not listed
with profile(on_trace_ready=tensorboard_trace_handler("result", analyse_flag=False)):
    dist.barrier()
os._exit(0)  # to destroy the group may hang in PyTorch: leave() of recording/inside/test_distributed_run.py
"""


@needs_torch
@pytest.mark.full
def test_ranks_of_torch_distributed(tmp_path: Path) -> None:
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "TB_NPU_BACKEND": "mock"}
    command = [sys.executable, "-c", PROLOGUE.format(parser="parse") + RANK]
    processes = [
        subprocess.Popen(command, cwd=tmp_path, env={**environment, "MY_RANK": str(rank)}) for rank in range(2)
    ]
    assert [process.wait() for process in processes] == [0, 0]
    groups = {}
    for rank in range(2):
        [info] = (tmp_path / "result").glob(f"*/profiler_info_{rank}.json")
        assert json.loads(info.read_text())["rank_id"] == rank  # a number
        groups[rank] = json.loads((info.parent / "profiler_metadata.json").read_text())["parallel_group_info"]
    [name] = [name for name, group in groups[0].items() if group["group_name"] == "default_group"]
    for rank in range(2):
        assert groups[rank].pop(name) == {"group_name": "default_group", "group_rank": rank, "global_ranks": [0, 1]}
        [own] = groups[rank].values()
        assert (own["group_rank"], own["global_ranks"]) == (0, [rank])
