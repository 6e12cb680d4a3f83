from __future__ import annotations

import json
import multiprocessing
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from tb_npu_plugin.capture import command
from tb_npu_plugin.capture.command import mock
from tb_npu_plugin.capture.models import run
from tb_npu_plugin.capture.models.run import Recipe, Report, write_rank, write_run
from tb_npu_plugin.capture.simulation.cluster import Cluster, Timetable
from tb_npu_plugin.capture.simulation.faults import FAULTS
from tb_npu_plugin.cli import cli
from tb_npu_plugin.errors import BadRequest, NpuPluginError


def invoke(*arguments: str) -> str:
    result = CliRunner().invoke(cli, ["mock", "--model", "tiny", *arguments], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.output


def test_writes_the_ranks_that_were_asked_for(tmp_path: Path) -> None:
    options = "--ranks 8 --tp 2 --pp 2 --steps 1 --only-ranks 1,5"
    output = invoke(*options.split(), "--out", str(tmp_path))
    assert "2 of 8 ranks, 1 steps" in output
    assert sorted(path.name for path in tmp_path.glob("*/profiler_info_*.json")) == [
        "profiler_info_1.json",
        "profiler_info_5.json",
    ]
    assert set(json.loads((tmp_path / "truth.json").read_text())["ranks"]) == {str(rank) for rank in range(8)}


def test_settings_are_those_of_the_result(tmp_path: Path) -> None:
    options = "--level Level2 --aic-metrics MemoryUB --no-stack --no-shapes --l2-cache --steps 1"
    invoke(*options.split(), "--out", str(tmp_path))
    (info,) = tmp_path.glob("*/profiler_info_0.json")
    config = json.loads(info.read_text())["config"]
    assert config["experimental_config"]["_profiler_level"] == "Level2"
    assert config["experimental_config"]["_aic_metrics"] == "ACL_AICORE_MEMORY_UB"
    assert config["experimental_config"]["_l2_cache"] is True
    common = config["common_config"]
    assert (common["with_stack"], common["record_shapes"], common["profile_memory"]) == (False, False, True)
    assert common["schedule"]["active"] == 1


def test_as_many_steps_as_the_events_need(tmp_path: Path) -> None:
    invoke("--events", "5000", "--out", str(tmp_path / "text"))
    invoke("--events", "5000", "--out", str(tmp_path / "db"), "--export-type", "db")
    text, database = (json.loads((tmp_path / form / "truth.json").read_text())["steps"] for form in ("text", "db"))
    assert text == database
    (trace,) = tmp_path.glob("text/*/ASCEND_PROFILER_OUTPUT/trace_view.json")
    events = json.loads(trace.read_text())
    steps = [event for event in events if event["name"].startswith("ProfilerStep#")]
    assert 5000 <= len(events) < 5000 + 2 * len(events) / len(steps)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--fault", "slow-rank:9"], "there is no rank 9"),
        (["--ranks", "4", "--tp", "3"], "cannot be split"),
        (["--only-ranks", "2"], "there is no rank 2"),
        (["--pp", "4", "--ranks", "4"], "cannot be split into pp 4"),
        (["--model", "resnet50", "--ranks", "2", "--tp", "2"], "data parallel only"),
        (["--model", "resnet50", "--hidden", "512"], "resnet50 has no hidden to change"),
        (["--model", "linear", "--layers", "2"], "linear has no layers to change"),
        (["--hidden", "100", "--heads", "7"], "100 cannot be split into 7 heads"),
        (["--model", "linear", "--fault", "dynamic-shapes"], "shapes of linear do not change"),
        (["--fault", "slow-rank:0:nan"], "nan is no factor"),
        (["--ranks", "8", "--tp", "2", "--pp", "2", "--fault", "slow-link:0-3"], "0 and 3 send each other nothing"),
        (["--model", "linear", "--ranks", "32", "--fault", "slow-link:0-16"], "0 and 16 send each other nothing"),
    ],
)
def test_invalid_arguments_are_refused(tmp_path: Path, arguments: list[str], message: str) -> None:
    with pytest.raises(BadRequest, match=message):
        CliRunner().invoke(cli, ["mock", "--model", "tiny", *arguments, "--out", str(tmp_path)], catch_exceptions=False)
    assert list(tmp_path.iterdir()) == []


def test_existing_results_are_not_overwritten(tmp_path: Path) -> None:
    invoke("--ranks", "2", "--only-ranks", "0", "--steps", "1", "--out", str(tmp_path))
    invoke("--ranks", "2", "--only-ranks", "1", "--steps", "1", "--out", str(tmp_path))  # another rank may join it
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    with pytest.raises(BadRequest, match="is there already"):
        invoke("--level", "Level0", "--no-memory", "--steps", "1", "--out", str(tmp_path))
    assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == before


def stop_in_the_middle(monkeypatch: pytest.MonkeyPatch, act: Callable[[], None]) -> None:
    """Let `tb-npu mock` do this once when more than half of the ranks are written."""

    def stopping(recipe: Recipe, out: Path, jobs: int, progress: Report) -> dict[str, Any]:
        def stop(what: str, share: float) -> None:
            if what == "ranks" and share > 0.5:
                act()

        return write_run(recipe, out, jobs, stop)

    monkeypatch.setattr(command, "write_run", stopping)


@pytest.mark.parametrize(
    ("number", "jobs"),
    [
        (signal.SIGINT, "1"),
        (signal.SIGTERM, "2"),
        pytest.param(signal.SIGINT, "2", marks=pytest.mark.full),
        pytest.param(signal.SIGHUP, "1", marks=pytest.mark.full),
    ],
)
def test_a_signal_leaves_complete_results_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: signal.Signals, jobs: str
) -> None:
    stop_in_the_middle(monkeypatch, lambda: os.kill(os.getpid(), number))
    others = set(multiprocessing.active_children())  # of other tests
    handlers = [signal.getsignal(other) for other in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)]
    arguments = ["--ranks", "6", "--tp", "2", "--steps", "1", "--jobs", jobs, "--out", str(tmp_path)]
    result = CliRunner().invoke(cli, ["mock", "--model", "tiny", *arguments])
    assert result.exit_code == 128 + number, result.output
    left = sorted(tmp_path.iterdir())
    assert f"{len(left)} of 6 ranks are complete and stay; the others have been removed" in result.output
    assert 3 <= len(left) < 6
    for folder in left:
        assert json.loads((folder / "ASCEND_PROFILER_OUTPUT" / "trace_view.json").read_text())
        assert len(list(folder.glob("profiler_info_*.json"))) == 1
    assert set(multiprocessing.active_children()) <= others
    assert [signal.getsignal(other) for other in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)] == handlers


def test_a_killed_writing_process_leaves_no_partial_result(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As for lack of memory. What is patched here is so in forked processes, too."""

    def dying(recipe: Recipe, cluster: Cluster, table: Timetable, rank: int, out: Path) -> None:
        write_rank(
            recipe, cluster, table, rank, out, lambda share: os.kill(os.getpid(), signal.SIGKILL) if rank == 5 else None
        )

    monkeypatch.setattr(run, "write_rank", dying)
    others = set(multiprocessing.active_children())  # of other tests
    with pytest.raises(NpuPluginError, match="a writing process was killed") as found:
        invoke("--ranks", "8", "--tp", "8", "--steps", "1", "--jobs", "2", "--out", str(tmp_path))
    left = sorted(tmp_path.glob("*_ascend_pt"))
    assert len(left) < 8 and not list(tmp_path.glob("*_31810_*_ascend_pt"))
    assert found.value.hint.startswith(f"{len(left)} of 8 ranks are complete" if left else "Nothing of it is left")
    assert all((folder / "profiler_metadata.json").exists() for folder in left)
    assert not (tmp_path / "truth.json").exists() and set(multiprocessing.active_children()) <= others


@pytest.mark.parametrize(
    ("ranks", "export", "begun"),
    [
        pytest.param("4", "text", "*_ascend_pt/*", marks=pytest.mark.full),
        ("1", "text,db", "*_ascend_pt/*/*.host.part*"),
    ],
)
def test_sigkill_leaves_no_process_and_no_partial_result(tmp_path: Path, ranks: str, export: str, begun: str) -> None:
    """SIGKILL, which it cannot see. Its processes share its output, which ends with the last of them. begun: what one of
    these has made when it is killed."""
    arguments = ["--ranks", ranks, "--steps", "1000", "--jobs", "2", "--export-type", export, "--out", str(tmp_path)]
    command_line = [sys.executable, "-m", "tb_npu_plugin.cli", "mock", "--model", "linear", *arguments]
    with subprocess.Popen(command_line, stdout=subprocess.PIPE) as process:
        while not list(tmp_path.glob(begun)):
            assert process.poll() is None
            time.sleep(0.01)
        process.kill()
        assert process.communicate(timeout=60)[0] == b""  # which expires while one of its processes stays
    left = list(tmp_path.glob("*_ascend_pt"))
    assert len(left) < 4 and all(list(folder.glob("profiler_info_*.json")) for folder in left)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--out", ""], "the name is empty"),  # as of --out "$UNSET"
        (["--out", ".", "--only-ranks", "0,x"], "is not a list of numbers"),
        (["--out", ".", "--level", "Level0", "--aic-metrics", "Memory"], "--level Level0 records no --aic-metrics"),
        (["--out", ".", "--export-type", "csv"], "is not text, db or text,db"),
    ],
)
def test_wrong_usage(options: list[str], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    result = CliRunner().invoke(cli, ["mock", "--model", "tiny", "--steps", "1", *options])
    assert result.exit_code == 2 and message in result.output
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("jobs", "export"),
    [
        ("1", "text"),
        ("2", "text,db"),
        pytest.param("1", "db", marks=pytest.mark.full),
        pytest.param("2", "text", marks=pytest.mark.full),
        pytest.param("2", "db", marks=pytest.mark.full),
    ],
)
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
    assert found.returncode == 1 and "Traceback" not in found.stderr, found.stderr
    assert found.stderr.startswith("tb-npu: cannot write out: ")
    assert list((tmp_path / "out").iterdir()) == []


def test_help_names_every_fault_and_every_option() -> None:
    text = CliRunner().invoke(mock, ["--help"]).output
    assert [word for word in FAULTS if word not in text] == []
    assert [option for param in mock.params for option in param.opts if f"  {option} " not in text] == []
    assert text.count("  --help ") == 1


def test_the_examples_of_the_help_work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Cluster] = []

    def ask(recipe: Recipe, *_: object) -> dict[str, Any]:
        asked.append(recipe.cluster())
        return {"ranks": {"0": {"reserved": [0]}}}

    monkeypatch.setattr(command, "write_run", ask)
    monkeypatch.setattr(command, "events_of_a_step", lambda recipe: 1000)
    lines = [line.split() for line in CliRunner().invoke(mock, ["--help"]).output.splitlines()]
    for line in lines:
        if line[:2] == ["tb-npu", "mock"]:
            CliRunner().invoke(mock, line[2:], catch_exceptions=False)
    assert len(asked) == 3


def test_more_memory_than_the_device_has_is_reported(tmp_path: Path) -> None:
    assert "lack of memory" not in invoke("--steps", "1", "--out", str(tmp_path / "small"))
    text = invoke("--steps", "1", "--hidden", "65536", "--layers", "1", "--out", str(tmp_path / "large"))
    assert "GiB of a device with 64 GiB" in text and "lack of memory" in text
