from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from tb_npu_plugin.capture import command
from tb_npu_plugin.capture.command import mock
from tb_npu_plugin.capture.models.run import Recipe, Report, write_run
from tb_npu_plugin.capture.simulation.faults import FAULTS
from tb_npu_plugin.cli import cli
from tb_npu_plugin.errors import BadRequest, NpuPluginError


def invoke(*arguments: str) -> str:
    result = CliRunner().invoke(cli, ["mock", "--model", "tiny", *arguments], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.output


def test_writes_the_ranks_that_were_asked_for(tmp_path: Path) -> None:
    output = invoke(
        "--ranks", "8", "--tp", "2", "--pp", "2", "--steps", "1", "--only-ranks", "1,5", "--out", str(tmp_path)
    )
    assert "2 of 8 ranks, 1 steps" in output
    assert sorted(path.name for path in tmp_path.glob("*/profiler_info_*.json")) == [
        "profiler_info_1.json", "profiler_info_5.json"
    ]  # fmt: skip
    assert set(json.loads((tmp_path / "truth.json").read_text())["ranks"]) == {str(rank) for rank in range(8)}


def test_settings_are_those_of_the_result(tmp_path: Path) -> None:
    invoke("--level", "Level2", "--aic-metrics", "MemoryUB", "--no-stack", "--no-shapes", "--l2-cache", "--steps", "1",
           "--out", str(tmp_path))  # fmt: skip
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
    ],
)
def test_what_does_not_go_is_refused(tmp_path: Path, arguments: list[str], message: str) -> None:
    with pytest.raises(BadRequest, match=message):
        CliRunner().invoke(cli, ["mock", "--model", "tiny", *arguments, "--out", str(tmp_path)], catch_exceptions=False)
    assert list(tmp_path.iterdir()) == []


def test_more_memory_than_the_device_has_is_told(tmp_path: Path) -> None:
    assert "lack of memory" not in invoke("--steps", "1", "--out", str(tmp_path / "small"))
    text = invoke("--steps", "1", "--hidden", "65536", "--layers", "1", "--out", str(tmp_path / "large"))
    assert "GiB of a device with 64 GiB" in text and "lack of memory" in text


def test_a_rank_is_written_once(tmp_path: Path) -> None:
    assert "1 of 2 ranks" in invoke("--ranks", "2", "--only-ranks", "1,1", "--steps", "1", "--out", str(tmp_path))


def test_metrics_need_a_level_that_records_them(tmp_path: Path) -> None:
    arguments = ["mock", "--model", "tiny", "--level", "Level0", "--aic-metrics", "Memory", "--out", str(tmp_path)]
    result = CliRunner().invoke(cli, arguments)
    assert result.exit_code == 2 and "--level Level0 records no --aic-metrics" in result.output


def test_results_that_are_there_are_not_mixed_with_others(tmp_path: Path) -> None:
    invoke("--ranks", "2", "--only-ranks", "0", "--steps", "1", "--out", str(tmp_path))
    invoke("--ranks", "2", "--only-ranks", "1", "--steps", "1", "--out", str(tmp_path))  # another rank may join it
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    with pytest.raises(BadRequest, match="is there already"):
        invoke("--level", "Level0", "--no-memory", "--steps", "1", "--out", str(tmp_path))
    assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == before


def test_ctrl_c_leaves_complete_results_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def stopping(recipe: Recipe, out: Path, jobs: int, progress: Report) -> None:
        def stop(what: str, share: float) -> None:
            if what == "ranks" and share > 0.5:  # in the middle of the second rank of two
                raise KeyboardInterrupt

        write_run(recipe, out, jobs, stop)

    monkeypatch.setattr(command, "write_run", stopping)
    result = CliRunner().invoke(
        cli, ["mock", "--model", "tiny", "--ranks", "2", "--steps", "2", "--jobs", "1", "--out", str(tmp_path)]
    )
    assert result.exit_code == 130 and "not complete have been removed" in result.output
    assert [path.name for path in tmp_path.glob("*/profiler_info_*.json")] == ["profiler_info_0.json"]
    assert len(list(tmp_path.iterdir())) == 1


@pytest.mark.parametrize("export", ["text", "db", "text,db"])
@pytest.mark.parametrize("jobs", ["1", "2"])
def test_a_full_disk_is_told_and_half_a_result_is_removed(tmp_path: Path, jobs: str, export: str) -> None:
    """A limit on the size of files stands for the disk; it is set in a process of its own."""
    arguments = ["mock", "--model", "tiny", "--steps", "3", "--jobs", jobs, "--export-type", export, "--out", "out"]
    code = (
        "import resource, signal, sys; resource.setrlimit(resource.RLIMIT_FSIZE, (40_000, 40_000));"
        f"signal.signal(signal.SIGXFSZ, signal.SIG_IGN); sys.argv[1:] = {arguments};"
        "from tb_npu_plugin.cli import main; main()"
    )
    found = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert found.returncode == 1 and "Traceback" not in found.stderr, found.stderr
    assert found.stderr.startswith("tb-npu: cannot write out: ")
    assert list((tmp_path / "out").iterdir()) == []


def test_a_folder_that_cannot_be_made_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(NpuPluginError, match="cannot write"):
        invoke("--steps", "1", "--out", str(tmp_path / "file" / "out"))


def test_help_names_every_fault() -> None:
    text = CliRunner().invoke(mock, ["--help"]).output
    assert [word for word in FAULTS if word not in text] == []
