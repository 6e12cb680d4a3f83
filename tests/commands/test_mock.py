"""tb-npu mock: what it writes, what it refuses, and what an end before its time leaves."""

from __future__ import annotations

import csv
import json
import multiprocessing
import os
import re
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from tb_npu_plugin.capture.models import run
from tb_npu_plugin.capture.models.run import Recipe, Report, write_rank, write_run
from tb_npu_plugin.capture.simulation.cluster import Cluster
from tb_npu_plugin.capture.simulation.faults import FAULTS
from tb_npu_plugin.cli import mock as command
from tb_npu_plugin.cli.mock import mock
from tests.support import cli
from tests.support.invariants import query
from tests.support.mock import rank_folder


def invoke(out: Path, arguments: str = "", status: int = 0) -> str:
    """What `tb-npu mock` of a small model says."""
    done = cli.run("mock", "--model", "tiny", "--out", out, *arguments.split())
    assert done.returncode == status, (done.stdout, done.stderr)
    return done.stdout + done.stderr


def contents(folder: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_writes_the_ranks_that_were_asked_for(tmp_path: Path) -> None:
    output = invoke(tmp_path, "--ranks 8 --tp 2 --pp 2 --steps 1 --only-ranks 1,5")
    assert "2 of 8 ranks, 1 steps" in output
    found = {path.name for path in tmp_path.glob("*/profiler_info_*.json")}
    assert found == {"profiler_info_1.json", "profiler_info_5.json"}
    assert set(json.loads((tmp_path / "truth.json").read_text())["ranks"]) == {str(rank) for rank in range(8)}


def test_kinds_of_files_are_left_out(tmp_path: Path) -> None:
    common = "--ranks 2 --steps 1 --layers 1 --no-stack --export-type text,db"
    for name, option in (("whole", ""), ("part", "--without trace,communication,database,memory")):
        invoke(tmp_path / name, f"{common} {option}")
    whole, part = (
        {str(path.relative_to(tmp_path / name)): content for path, content in contents(tmp_path / name).items()}
        for name in ("whole", "part")
    )
    assert part.items() <= whole.items()  # truth.json included
    gone = {re.sub(r"_\d\.db", ".db", Path(name).name) for name in whole.keys() - part.keys()}
    memory = {"operator_memory.csv", "memory_record.csv", "npu_module_mem.csv"}
    files = {"trace_view.json", "communication.json", "communication_matrix.json", "ascend_pytorch_profiler.db"}
    assert gone == files | memory


def test_batches_of_megatron_leave_the_bubble_zero(tmp_path: Path) -> None:
    """Both ranks have the same batches, which end together; how they are written changes nothing of the truth."""
    common = "--layers 4 --micro-batches 6 --ranks 4 --pp 4 --steps 1 --no-stack --bubble"
    bubbles, elapsed = {}, {}
    for bubble in ("written", "zero"):
        invoke(tmp_path / bubble, f"{common} {bubble}")
        (file,) = tmp_path.glob(f"{bubble}/*_31798_*/ASCEND_PROFILER_OUTPUT/step_trace_time.csv")
        bubbles[bubble] = float(next(csv.DictReader(file.open()))["Bubble"])
        p2p = json.loads(file.with_name("communication.json").read_text())["step11"]["p2p"]
        elapsed[bubble] = p2p["Total Op Info"]["Communication Time Info"]["Elapse Time(ms)"]
    assert bubbles["written"] > bubbles["zero"] == 0
    assert 0 < elapsed["zero"] - elapsed["written"] < 0.4  # the time between what is joined
    assert (tmp_path / "written" / "truth.json").read_bytes() == (tmp_path / "zero" / "truth.json").read_bytes()
    ends: dict[str, list[float]] = {}
    for file in tmp_path.glob("zero/*/ASCEND_PROFILER_OUTPUT/communication.json"):
        ops = json.loads(file.read_text())["step11"]["p2p"]
        for name, op in ops.items():
            if name != "Total Op Info":
                times = op["Communication Time Info"]
                end = times["Start Timestamp(us)"] + times["Elapse Time(ms)"] * 1000
                ends.setdefault(name, []).append(end)
        assert b"HcclSend" not in file.with_name("trace_view.json").read_bytes()
    assert all(re.fullmatch(r"hcom_batchSendRecv__\d{3}_\d_1@\d+", name) for name in ends)
    # 6 micro-batches there and back, of which stages join what is no warm-up
    assert sorted(Counter(name.partition("@")[2] for name in ends).values()) == [7, 8, 9]
    assert all(len(each) == 2 and abs(each[0] - each[1]) < 0.5 for each in ends.values())


def test_groups_that_the_script_names_and_servers_with_numbers(tmp_path: Path) -> None:
    invoke(tmp_path, "--ranks 16 --tp 2 --steps 1 --layers 1 --named-groups --only-ranks 0,1,8 --export-type text,db")
    members, hosts = set(), []
    for rank in (0, 1, 8):
        folder = rank_folder(tmp_path, rank)
        times = json.loads((folder / "ASCEND_PROFILER_OUTPUT" / "communication.json").read_text())["step11"][
            "collective"
        ]
        assert {name.partition("@")[2] for name in times} == {"", "tp_group", "dp_group"}
        names = query(
            folder, "SELECT DISTINCT value FROM COMMUNICATION_OP JOIN STRING_IDS ON id = groupName ORDER BY 1"
        )
        assert names == [("dp_group",), ("tp_group",)]
        groups = json.loads((folder / "profiler_metadata.json").read_text())["parallel_group_info"]
        members.add(tuple(groups["tp_group"]["global_ranks"]))
        hosts += query(folder, "SELECT hostUid, hostName FROM HOST_INFO")
    assert members == {(0, 1), (8, 9)}
    assert hosts[0] == hosts[1] != hosts[2]
    assert all(uid.isdecimal() and len(uid) > 16 for uid, _ in hosts)
    assert [name for _, name in hosts] == ["node0", "node0", "node1"]


def test_settings_are_those_of_the_result(tmp_path: Path) -> None:
    invoke(tmp_path, "--level Level2 --aic-metrics MemoryUB --no-stack --no-shapes --l2-cache --steps 1")
    (info,) = tmp_path.glob("*/profiler_info_0.json")
    config = json.loads(info.read_text())["config"]
    settings, common = config["experimental_config"], config["common_config"]
    assert (settings["_profiler_level"], settings["_aic_metrics"]) == ("Level2", "ACL_AICORE_MEMORY_UB")
    assert settings["_l2_cache"] is True
    assert (common["with_stack"], common["record_shapes"], common["profile_memory"]) == (False, False, True)
    assert common["schedule"]["active"] == 1


def test_as_many_steps_as_the_events_need(tmp_path: Path) -> None:
    for form in ("text", "db"):
        invoke(tmp_path / form, f"--events 5000 --export-type {form}")
    text, database = (json.loads((tmp_path / form / "truth.json").read_text())["steps"] for form in ("text", "db"))
    assert text == database
    (trace,) = tmp_path.glob("text/*/ASCEND_PROFILER_OUTPUT/trace_view.json")
    events = json.loads(trace.read_text())
    steps = [event for event in events if event["name"].startswith("ProfilerStep#")]
    assert 5000 <= len(events) < 5000 + 2 * len(events) / len(steps)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("--fault slow-rank:9", "there is no rank 9"),
        ("--fault slow-link:0-3 --ranks 8 --tp 2 --pp 2", "0 and 3 send each other nothing"),
        ("--fault slow-link:0-16 --model linear --ranks 32", "0 and 16 send each other nothing"),
        ("--fault dynamic-shapes --model linear", "shapes of linear do not change"),
        ("--ranks 4 --tp 3", "cannot be split"),
        ("--pp 4 --ranks 4", "cannot be split into pp 4"),
        ("--only-ranks 2", "there is no rank 2"),
        ("--only-ranks 0,x", "is not a list of numbers"),
        ("--model resnet50 --ranks 2 --tp 2", "data parallel only"),
        ("--model resnet50 --hidden 512", "resnet50 has no hidden to change"),
        ("--model linear --layers 2", "linear has no layers to change"),
        ("--hidden 100 --heads 7", "100 cannot be split into 7 heads"),
        ("--level Level0 --aic-metrics Memory", "--level Level0 records no --aic-metrics"),
        ("--export-type csv", "is not text, db or text,db"),
        ("--framework mindspore --task-queue 0", "TASK_QUEUE_ENABLE is a variable of torch_npu"),
        ("--without trace,comm", "Unknown kind of files 'comm'\nKnown are: trace, communication, kernels, "),
        ("--framework mindspore --bubble zero", "Leave --bubble zero out."),
        ("--data-process", "only MindSpore profiles the data pipeline"),
    ],
)
def test_invalid_arguments_are_refused(tmp_path: Path, arguments: str, message: str) -> None:
    assert message in invoke(tmp_path, arguments, status=2)
    assert list(tmp_path.iterdir()) == []


def test_an_empty_name_is_not_this_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As of --out "$UNSET"."""
    monkeypatch.chdir(tmp_path)
    assert "the name is empty" in cli.run("mock", "--model", "tiny", "--out", "").stderr
    assert list(tmp_path.iterdir()) == []


def test_existing_results_are_not_overwritten(tmp_path: Path) -> None:
    invoke(tmp_path, "--ranks 2 --only-ranks 0 --steps 1")
    invoke(tmp_path, "--ranks 2 --only-ranks 1 --steps 1")  # another rank may join it
    before = contents(tmp_path)
    assert "already exists" in invoke(tmp_path, "--level Level0 --no-memory --steps 1", status=2)
    assert contents(tmp_path) == before


@pytest.mark.parametrize(("number", "jobs"), [(signal.SIGINT, 1), (signal.SIGTERM, 2), (signal.SIGHUP, 1)])
def test_a_signal_leaves_complete_results_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: signal.Signals, jobs: int
) -> None:
    def stopping(recipe: Recipe, out: Path, jobs: int, progress: Report) -> dict[str, Any]:
        def stop(what: str, share: float) -> None:
            if what == "ranks" and share > 0.5:
                os.kill(os.getpid(), number)

        return write_run(recipe, out, jobs, stop)

    monkeypatch.setattr(command, "write_run", stopping)
    others = set(multiprocessing.active_children())  # of other tests
    handlers = [signal.getsignal(other) for other in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)]
    said = invoke(tmp_path, f"--ranks 6 --tp 2 --steps 1 --jobs {jobs}", status=128 + number)
    left = sorted(tmp_path.iterdir())
    assert f"{len(left)} of 6 ranks are complete and stay; the others have been removed" in said
    assert 3 <= len(left) < 6
    for folder in left:
        assert json.loads((folder / "ASCEND_PROFILER_OUTPUT" / "trace_view.json").read_text())
        assert len(list(folder.glob("profiler_info_*.json"))) == 1
    assert set(multiprocessing.active_children()) <= others
    assert [signal.getsignal(other) for other in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)] == handlers


def test_a_killed_writing_process_leaves_no_partial_result(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As for lack of memory. What is patched here is so in forked processes, too."""

    def dying(whole: run.Run, rank: int, report: Callable[[float], None]) -> None:
        write_rank(whole, rank, lambda share: os.kill(os.getpid(), signal.SIGKILL) if rank == 5 else None)

    monkeypatch.setattr(run, "write_rank", dying)
    others = set(multiprocessing.active_children())  # of other tests
    said = invoke(tmp_path, "--ranks 8 --tp 8 --steps 1 --jobs 2", status=1)
    left = sorted(tmp_path.glob("*_ascend_pt"))
    assert "a writing process was killed" in said
    assert (f"{len(left)} of 8 ranks are complete" if left else "Nothing of it is left") in said
    assert len(left) < 8 and not list(tmp_path.glob("*_31810_*_ascend_pt"))
    assert all((folder / "profiler_metadata.json").exists() for folder in left)
    assert not (tmp_path / "truth.json").exists() and set(multiprocessing.active_children()) <= others


def test_sigkill_leaves_no_process_and_no_partial_result(tmp_path: Path) -> None:
    """SIGKILL, which it cannot see. Its processes share its output, which ends with the last of them."""
    arguments = ["--steps", "1000", "--jobs", "2", "--export-type", "text,db", "--out", str(tmp_path)]
    command_line = [sys.executable, "-m", "tb_npu_plugin", "mock", "--model", "linear", *arguments]
    with subprocess.Popen(command_line, stdout=subprocess.PIPE) as process:
        while not list(tmp_path.glob("*_ascend_pt/*/*.db.part")):
            assert process.poll() is None
            time.sleep(0.01)
        process.kill()
        assert process.communicate(timeout=60)[0] == b""  # which expires while one of its processes stays
    assert all(list(folder.glob("profiler_info_*.json")) for folder in tmp_path.glob("*_ascend_pt"))


@pytest.mark.parametrize(("jobs", "export"), [("1", "text"), ("2", "text,db")])
def test_a_full_disk_is_reported_and_partial_results_are_removed(tmp_path: Path, jobs: str, export: str) -> None:
    """A limit on the size of files stands for the disk; it is set in a separate process, which writes no bytecode:
    Python 3.11 keeps what the limit leaves of it, and no other process could import that module again."""
    arguments = ["mock", "--model", "tiny", "--steps", "3", "--jobs", jobs, "--export-type", export, "--out", "out"]
    code = (
        "import resource, signal, sys; resource.setrlimit(resource.RLIMIT_FSIZE, (40_000, 40_000));"
        f"signal.signal(signal.SIGXFSZ, signal.SIG_IGN); sys.argv[1:] = {arguments};"
        "from tb_npu_plugin.cli import main; main()"
    )
    found = subprocess.run(
        [sys.executable, "-B", "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert found.returncode == 1 and found.stderr.startswith("tb-npu: cannot write out: "), found.stderr
    assert "Traceback" not in found.stderr
    assert list((tmp_path / "out").iterdir()) == []


def test_help_names_every_fault_and_every_option_and_its_examples_work(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Cluster] = []

    def ask(recipe: Recipe, *_: object) -> dict[str, Any]:
        asked.append(recipe.cluster())
        return {"ranks": {"0": {"reserved": [0]}}}

    monkeypatch.setattr(command, "write_run", ask)
    monkeypatch.setattr(command, "_events_of_a_step", lambda recipe: 1000)
    text = CliRunner().invoke(mock, ["--help"]).output
    assert [word for word in FAULTS if word not in text] == []
    assert [option for param in mock.params for option in param.opts if f"  {option} " not in text] == []
    assert text.count("  --help ") == 1
    for line in text.splitlines():
        if line.split()[:2] == ["tb-npu", "mock"]:
            CliRunner().invoke(mock, line.split()[2:], catch_exceptions=False)
    assert len(asked) == 3


def test_more_memory_than_the_device_has_is_reported(tmp_path: Path) -> None:
    assert "lack of memory" not in invoke(tmp_path / "small", "--steps 1")
    text = invoke(tmp_path / "large", "--steps 1 --hidden 65536 --layers 1")
    assert "GiB of a device with 64 GiB" in text and "lack of memory" in text
