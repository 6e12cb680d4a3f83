"""tb-npu: what it prints and how it ends."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any, get_args, get_type_hints

import pytest
from click.testing import CliRunner

from tb_npu_plugin import __version__
from tb_npu_plugin.cli import cli
from tb_npu_plugin.cli_print import STATES, _problems, _size
from tb_npu_plugin.installation import describe_scanner
from tb_npu_plugin.store import stages
from tb_npu_plugin.store.library import Library
from tb_npu_plugin.views.doctor import DoctorFileJson
from tests.conftest import FIXTURES, ROOT
from tests.unit.store.results import NAME, settle, write_result


def run(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "tb_npu_plugin.cli", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def shown(*arguments: str | Path) -> Any:
    done = run("show", *arguments, "--json")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    """Two ranks of one run, without traces."""
    for rank in (0, 1):
        write_result(tmp_path / "logs" / "run" / NAME.replace("4242", str(rank)), rank=rank, trace=None)
    return tmp_path / "logs"


def test_overview_has_the_steps_at_the_top_in_integer_ns(logs: Path) -> None:
    found = shown("overview", logs)
    expected = {
        "step": "7",
        "device_id": None,
        "computing": 13750,
        "communication_not_overlapped": 0,
        "overlapped": 0,
        "communication": 0,
        "copying": None,
        "free": 1500,
        "stage": 15250,
        "bubble": 0,
        "preparing": 2000,
        "exposed_preparing": 2000,
    }
    assert found["steps"] == [expected] == found["data"]["steps"]
    assert found["state"] == "ready"


@pytest.mark.parametrize("below", ["", "run", f"run/{NAME.replace('4242', '1')}/ASCEND_PROFILER_OUTPUT"])
def test_any_folder_on_the_way_is_a_path(logs: Path, below: str) -> None:
    found = shown("kernel", logs / below)
    assert found["tables"]["all"]["data"]["dur_ns"] == [10250, 3500] or found["tables"]["all"]["total"] == 2


def test_a_file_stands_for_its_result(logs: Path, tmp_path: Path) -> None:
    file = logs / "run" / NAME.replace("4242", "1") / "ASCEND_PROFILER_OUTPUT" / "kernel_details.csv"
    assert shown("overview", file)["capture"]["rank"] == 1
    (tmp_path / "copied").mkdir()
    for name in ("a.csv", "kernel_details.csv"):
        (tmp_path / "copied" / name).write_bytes(file.read_bytes())
    assert shown("kernel", tmp_path / "copied" / "kernel_details.csv")["state"] == "ready"
    assert (
        "kernel_details.csv" in shown("doctor", tmp_path / "copied" / "kernel_details.csv")["data"]["files"][0]["file"]
    )
    assert [shown("diff", logs, file)[side]["rank"] for side in ("baseline", "experimental")] == [0, 1]
    refused = run("show", "kernel", tmp_path / "copied" / "a.csv")
    assert (refused.returncode, "a.csv" in refused.stderr) == (1, True)


def test_tables_are_whole(tmp_path: Path) -> None:
    rows = "".join(f"7,k{i},T,AI_CORE,1736408883{i:06d}.000,1,0,8\r\n" for i in range(25_000))
    head = "Step Id,Name,Type,Accelerator Core,Start Time(us),Duration(us),Wait Time(us),Block Dim\r\n"
    write_result(tmp_path / NAME, files={"kernel_details.csv": head + rows}, trace=None)
    table = shown("kernel", tmp_path)["tables"]["all"]
    assert table["rows"] == table["total"] == len(table["data"]["name"]) == 25_000


@pytest.mark.parametrize("worker", ["1", "rank 1", "rank1", "host1_1", "rank 1 · host1_1"])
def test_a_worker_is_chosen_by_any_of_its_names(logs: Path, worker: str) -> None:
    assert shown("overview", logs, "--worker", worker)["capture"]["rank"] == 1


def test_diff_of_two_workers_and_of_two_paths(logs: Path, tmp_path: Path) -> None:
    ranks = shown("diff", logs, "--baseline", "1", "--experimental", "0")
    assert [ranks[side]["rank"] for side in ("baseline", "experimental")] == [1, 0]
    assert [shown("diff", logs)[side]["rank"] for side in ("baseline", "experimental")] == [0, 1]
    write_result(tmp_path / "other" / NAME, rank=5, trace=None)
    paths = shown("diff", logs, tmp_path / "other")
    assert [paths[side]["rank"] for side in ("baseline", "experimental")] == [0, 5]


def test_distributed_waits_for_all_ranks(logs: Path) -> None:
    assert [item["state"] for item in shown("distributed", logs)["ranks"]] == ["ready", "ready"]


def test_a_view_that_reads_without_a_job_is_asked_for_again(logs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A job that ends between the look at the cache and the look at the jobs leaves "reading" and no progress."""
    from tb_npu_plugin import cli_show
    from tb_npu_plugin.service.answers import Service

    real, asked = Service.answer, []

    def answer(service: Service, view: str, params: dict[str, str]) -> Any:
        found, result = real(service, view, params)
        asked.append(found["state"])
        if found["state"] == "ready" and asked.count("ready") == 1:
            return {**found, "state": "reading", "data": None, "tables": {}}, None
        return found, result

    monkeypatch.setattr(Service, "answer", answer)
    with cli_show._library((logs,)) as library:
        span = library.scan().places()[0].span.token
        found = cli_show._view(Service(library, read_ahead=False), "kernel", {"span": span})
    assert found["state"] == "ready" and found["tables"]["all"]["total"] == 2
    assert asked.count("ready") == 2  # and the whole tables are of the same answer


@pytest.mark.parametrize("program", ["doctor", "ingest", "api"])
def test_what_settles_between_reading_and_showing_is_shown(
    logs: Path, monkeypatch: pytest.MonkeyPatch, program: str
) -> None:
    # It was to be read anew then, and nothing of it was shown.
    import tb_npu_plugin.api as npu

    real = Library.read

    def read(*arguments: Any) -> Any:
        found = real(*arguments)
        monkeypatch.setattr(stages, "SETTLED_AFTER", 0)
        return found

    monkeypatch.setattr(Library, "read", read)
    monkeypatch.setattr(stages, "SETTLED_AFTER", 3600 * 10**9)
    if program == "api":
        assert [len(span.kernels()) for span in npu.open(logs)] == [2, 2]
        return
    done = CliRunner().invoke(cli, [program, str(logs), *["--json"] * (program == "doctor")])
    assert done.exit_code == 0
    if program == "doctor":
        states = [file["state"] for span in json.loads(done.stdout)["spans"] for file in span["files"]]
        assert states and set(states) <= {"read", "settings"}
    else:
        assert done.stdout.count("step 7") == 2


def test_without_json_it_prints_for_people(logs: Path) -> None:
    done = run("show", "overview", logs)
    assert done.returncode == 0 and "13.750" in done.stdout and "Computing (µs)" in done.stdout
    assert "…" not in done.stdout, "figures are cut"
    ranks = run("show", "distributed", logs).stdout.splitlines()
    head = next(line for line in ranks if "Worker" in line and "Span" in line)
    assert head.index("Worker") < head.index("Span"), "ids come after names"


def test_the_version_says_which_scanner_reads_and_imports_no_library() -> None:
    code = (
        "import runpy, sys; sys.argv = ['tb-npu', '--version']\n"
        "try: runpy.run_module('tb_npu_plugin', run_name='__main__')\n"
        "except SystemExit: print(*sorted({'numpy', 'duckdb', 'rich', 'tensorboard'} & set(sys.modules)))"
    )
    for scanner, says in (("", f"Trace scanner: {describe_scanner()}"), ("python", "Python (TB_NPU_SCANNER=python)")):
        environment = {**os.environ, "TB_NPU_SCANNER": scanner}
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment)
        version, scanner_line, imported = done.stdout.splitlines()
        assert (version, says in scanner_line, imported) == (f"tb-npu, version {__version__}", True, "")


def test_doctor_lists_what_was_found_and_what_was_not(logs: Path) -> None:
    (logs / "raw_ascend_pt" / "FRAMEWORK").mkdir(parents=True)
    kernels = logs / "run" / NAME.replace("4242", "0") / "ASCEND_PROFILER_OUTPUT" / "kernel_details.csv"
    kernels.write_text(kernels.read_text() + "short,row\n")
    settle(logs)
    found = json.loads(run("doctor", logs, "--json").stdout)
    assert [span["worker"] for span in found["spans"]] == ["rank 0 · host1_0", "rank 1 · host1_1"]
    assert [item["path"] for item in found["skipped"]] == ["raw_ascend_pt"]
    broken, good = found["spans"]
    assert broken["count"] >= 1 and good["count"] == 0
    assert {problem["file"] for problem in broken["problems"]} == {"ASCEND_PROFILER_OUTPUT/kernel_details.csv"}
    text = run("doctor", logs)
    assert text.returncode == 0 and "raw_ascend_pt" in text.stdout and "2 taken, 1 not taken" in text.stdout


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        (["show", "overview", "EMPTY"], 1, "no NPU result"),
        (["doctor", "EMPTY"], 1, "no NPU result"),
        (["show", "overview", "RAW"], 1, "never parsed"),
        (["show", "memory", "LOGS"], 1, ""),
        (["show", "nonsense", "LOGS"], 2, "nonsense"),
        (["show", "overview", "/nowhere"], 2, "nowhere"),
        (["show", "overview", "LOGS", "LOGS"], 2, "one PATH"),
        (["show", "overview", "LOGS", "--worker", "99"], 2, "Workers: rank 0"),
        (["show", "overview", "LOGS", "--span", "99"], 2, "Spans:"),
        (["show", "overview", "LOGS", "--run", "99"], 2, "Runs: run"),
        (["show", "overview", "LOGS", "--param", "x"], 2, "KEY=VALUE"),
        (["show", "kernel", "LOGS", "--param", "stp=7"], 2, "kernel has no parameter 'stp'. It has: step."),
        (["show", "kernel", "LOGS", "--param", "step=99"], 2, "is not a step"),
        (["nonsense"], 2, "nonsense"),
    ],
)
def test_exit_codes(logs: Path, tmp_path: Path, arguments: list[str], code: int, says: str) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "raw" / "raw_ascend_pt" / "FRAMEWORK").mkdir(parents=True)
    places = {"EMPTY": tmp_path / "empty", "LOGS": logs, "RAW": tmp_path / "raw"}
    done = run(*(places.get(argument, argument) for argument in arguments))
    assert done.returncode == code, (done.stdout, done.stderr)
    assert says in done.stderr and "Traceback" not in done.stderr


def test_a_terminal_without_the_signs_gets_others(logs: Path) -> None:
    command = [sys.executable, "-m", "tb_npu_plugin.cli", "doctor", str(logs)]
    environment = {**os.environ, "PYTHONIOENCODING": "ascii"}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    assert done.returncode == 0 and "rank 0 ? host1_0" in done.stdout, done.stderr


@pytest.mark.parametrize("options", [[], ["--json"]])
@pytest.mark.parametrize("says", ["", "cannot be written"], ids=["a pipe nobody reads", "a full disk"])
def test_output_that_cannot_be_written_is_no_traceback(logs: Path, says: str, options: list[str]) -> None:
    if says:
        target = os.open("/dev/full", os.O_WRONLY)
    else:
        reader, target = os.pipe()
        os.close(reader)
    command = [sys.executable, "-m", "tb_npu_plugin.cli", "show", "overview", str(logs), *options]
    done = subprocess.run(command, stdout=target, stderr=subprocess.PIPE, text=True, check=False)
    os.close(target)
    assert done.returncode == 1 and "Traceback" not in done.stderr, done.stderr
    assert says in done.stderr if says else not done.stderr


def test_a_missing_view_says_what_would_record_it(logs: Path) -> None:
    assert "profile_memory" in run("show", "memory", logs).stdout


def test_data_frames(logs: Path) -> None:
    import tb_npu_plugin.api as npu
    from tb_npu_plugin.errors import NotFound

    first, second = npu.open(logs)
    assert (first.worker, second.worker) == ("rank 0 · host1_0", "rank 1 · host1_1")
    kernels = first.kernels()
    assert kernels["dur_ns"].tolist() == [3500, 10250] and str(kernels["dur_ns"].dtype) == "Int64"
    assert kernels["name"].tolist() == ["aclnnAdd_Add", "aclnnMm_MatMul"]
    assert first.steps()["step"].tolist() == ["7"]
    with pytest.raises(NotFound):
        first.memory()
    assert first.capture.rank == 0 and first.problems == [] and "kernels" in first.tables


def test_data_frames_of_nothing_say_so(logs: Path, tmp_path: Path) -> None:
    import tb_npu_plugin.api as npu
    from tb_npu_plugin.errors import NotFound

    for path, says in ((tmp_path / "nowhere", "does not exist"), (logs.parent / "empty", "What opens")):
        (logs.parent / "empty").mkdir(exist_ok=True)
        with pytest.raises(NotFound, match=says):
            npu.open(path)
    with pytest.raises(NotFound, match=r"There are: .*kernels"):
        npu.open(logs)[0].table("nonsense")


def test_unknown_is_missing_in_data_frames() -> None:
    from tb_npu_plugin.api import frame
    from tb_npu_plugin.tables import Column, Kind, from_lists

    columns = (Column("name", Kind.TEXT), Column("dur_ns", Kind.DURATION), Column("share", Kind.RATIO))
    data = frame(from_lists(columns, {"name": ["a", None], "dur_ns": [2**62 + 1, None], "share": [0.5, None]}))
    assert data["dur_ns"][0] == 2**62 + 1 and data.isna().iloc[1].all() and not data.isna().iloc[0].any()


def test_doctor_tells_of_each_file_and_of_what_is_missing(logs: Path) -> None:
    span = json.loads(run("doctor", logs, "--json").stdout)["spans"][0]
    states = {file["file"].rpartition("/")[2]: file["state"] for file in span["files"]}
    assert states["kernel_details.csv"] == "read" and set(states.values()) <= {"read", "settings"}
    assert span["capture"]["producer"] == "Ascend PyTorch Profiler"
    assert "memory_record.csv" in {item["file"] for item in span["missing"]}
    text = run("doctor", logs).stdout
    assert "missing memory_record.csv" in text and "profile_memory=True" in text and "read         ASCEND" in text


def test_doctor_tells_of_files_that_nothing_reads(logs: Path) -> None:
    output = logs / "run" / NAME.replace("4242", "0") / "ASCEND_PROFILER_OUTPUT"
    (output / "hbm.csv").write_text("12345")
    (output / "[red]\x1b[2J.csv").write_text("")
    first, second = json.loads(run("doctor", logs, "--json").stdout)["spans"]
    assert [file["file"] for file in first["files"] if file["state"] == "unread"] == [
        "ASCEND_PROFILER_OUTPUT/[red]\ufffd[2J.csv",
        "ASCEND_PROFILER_OUTPUT/hbm.csv",
    ]
    assert "unread" not in {file["state"] for file in second["files"]} and first["count"] == 0
    text = run("doctor", logs).stdout
    assert "not read     ASCEND_PROFILER_OUTPUT/hbm.csv  5 bytes  Statistic of a curve" in text
    assert "[red]" in text and "\x1b" not in text


def test_the_words_for_files_are_those_of_the_page() -> None:
    terms = (ROOT / "frontend" / "src" / "views" / "doctor" / "terms.ts").read_text(encoding="utf-8")
    states = get_args(get_type_hints(DoctorFileJson)["state"])
    assert {state: f'"doctor.state.{state}": "{STATES[state]}"' in terms for state in STATES} == dict.fromkeys(
        states, True
    )


def test_sizes_and_counts_are_said_as_people_say_them() -> None:
    lines = run("doctor", FIXTURES / "broken" / "db_wrong_types").stdout.splitlines()
    assert "KiB" in lines[0] and "0.0" not in lines[0]
    assert lines[-1].startswith("1 taken, 0 not taken, ")
    assert [_size(size) for size in (7, 1024, 1 << 20, 5 << 30)] == ["7 B", "1.0 KiB", "1.0 MiB", "5.0 GiB"]
    assert [_problems(count) for count in (0, 1, 2000)] == ["0 problems", "1 problem", "2,000 problems"]


def test_doctor_says_the_same_of_several_places_once() -> None:
    text = run("doctor", FIXTURES / "broken" / "db_wrong_types").stdout
    assert text.count("bad_required_cell") == 1
    assert all(line in text for line in ("bad_required_cell (2×)", "TASK, startNs: soon", "OP_MEMORY, size: NULL"))
