"""tb-npu: output and exit codes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from decimal import Decimal
from pathlib import Path
from typing import get_args, get_type_hints

import pytest

import tb_npu_plugin.api as npu
from tb_npu_plugin import __version__
from tb_npu_plugin.cli.output import STATES, _problems, _size
from tb_npu_plugin.errors import NotFound
from tb_npu_plugin.installation import describe_scanner
from tb_npu_plugin.tables import Column, Kind, from_lists
from tb_npu_plugin.views.doctor import DoctorFileJson
from tests.conftest import FIXTURES, ROOT
from tests.support.cli import run, shown
from tests.unit.store.results import NAME, settle, write_result


@pytest.fixture(scope="module")
def logs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two ranks of one run, without traces. Tests leave it as it is."""
    return write_logs(tmp_path_factory.mktemp("logs") / "logs")


def write_logs(folder: Path) -> Path:
    for rank in (0, 1):
        write_result(folder / "run" / NAME.replace("4242", str(rank)), rank=rank, trace=None)
    return folder


def test_overview_has_the_steps_at_the_top_in_integer_ns(logs: Path) -> None:
    found = shown("overview", logs)
    (step,) = found["steps"]
    assert found["steps"] == found["data"]["steps"] and (step["step"], step["copying"]) == ("7", None)
    assert (step["computing"], step["free"], step["stage"], step["preparing"]) == (13750, 1500, 15250, 2000)
    assert found["state"] == "ready"
    assert [item["state"] for item in shown("distributed", logs)["ranks"]] == ["ready", "ready"]


def test_a_rank_without_tables_lacks_them_and_not_its_trace(tmp_path: Path) -> None:
    """The command leaves the traces unread, so that they say nothing about a rank."""
    write_logs(tmp_path)
    without = write_result(tmp_path / "run" / NAME, rank=2)
    for table in without.rglob("*.csv"):
        table.unlink()
    settle(tmp_path)
    ranks = {one["rank"]: one for one in shown("distributed", tmp_path, "--no-trace")["data"]["ranks"]}
    assert (ranks[2]["state"], ranks[2]["reason"]) == ("missing", "It has no tables for this view.")


def test_show_accepts_a_folder_of_any_level_and_a_file_of_a_result(logs: Path, tmp_path: Path) -> None:
    file = logs / "run" / NAME.replace("4242", "1") / "ASCEND_PROFILER_OUTPUT" / "kernel_details.csv"
    for folder in (logs, logs / "run", file.parent):
        assert shown("kernel", folder)["tables"]["all"]["data"]["dur_ns"] == [3500, 10250]
    assert shown("overview", file)["capture"]["rank"] == 1
    (tmp_path / "copied").mkdir()
    for name in ("a.csv", "kernel_details.csv"):
        (tmp_path / "copied" / name).write_bytes(file.read_bytes())
    assert shown("kernel", tmp_path / "copied" / "kernel_details.csv")["state"] == "ready"
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


def test_diff_of_workers_and_of_paths(logs: Path, tmp_path: Path) -> None:
    file = logs / "run" / NAME.replace("4242", "1") / "ASCEND_PROFILER_OUTPUT" / "kernel_details.csv"
    write_result(tmp_path / NAME, rank=5, trace=None)
    for arguments, ranks in (
        ([logs], [0, 1]),
        ([logs, "--baseline", "1", "--experimental", "0"], [1, 0]),
        ([logs, tmp_path], [0, 5]),
        ([logs, file], [0, 1]),
    ):
        found = shown("diff", *arguments)
        assert [found[side]["rank"] for side in ("baseline", "experimental")] == ranks


def test_without_json_it_prints_for_people(logs: Path) -> None:
    done = run("show", "overview", logs)
    assert done.returncode == 0 and "13.750" in done.stdout and "Computing (µs)" in done.stdout
    assert "…" not in done.stdout, "figures are cut"
    assert "profile_memory" in run("show", "memory", logs).stdout
    ranks = run("show", "distributed", logs).stdout.splitlines()
    head = next(line for line in ranks if "Worker" in line and "Span" in line)
    assert head.index("Worker") < head.index("Span"), "ids come after names"


def test_version_names_the_scanner_and_imports_no_library() -> None:
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


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        (["show", "overview", "EMPTY"], 1, "no NPU result"),
        (["doctor", "EMPTY"], 1, "no NPU result"),
        (["doctor", "LOGS"], 0, ""),
        (["doctor", "RAW"], 1, ""),
        (["doctor", "/nowhere"], 2, "nowhere"),
        (["ingest", "EMPTY"], 1, "no NPU result"),
        (["show", "overview", "RAW"], 1, "never parsed"),
        (["show", "memory", "LOGS"], 1, ""),
        (["show", "nonsense", "LOGS"], 2, "nonsense"),
        (["show", "overview", "/nowhere"], 2, "nowhere"),
        (["show", "overview", "LOGS", "LOGS"], 2, "one PATH"),
        (["show", "overview", "LOGS", "--worker", "99"], 2, "Workers: rank 0"),
        (["show", "overview", "LOGS", "--span", "99"], 2, "Spans:"),
        (["show", "overview", "LOGS", "--run", "99"], 2, "Runs: run"),
        (["show", "overview", "LOGS", "--param", "x"], 2, "KEY=VALUE"),
        (
            ["show", "kernel", "LOGS", "--param", "stp=7"],
            2,
            "kernel has no parameter 'stp'. It has: step, within, peak, bandwidth, usual_peak, usual_bandwidth.",
        ),
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


def test_characters_that_the_terminal_lacks_are_replaced(logs: Path) -> None:
    command = [sys.executable, "-m", "tb_npu_plugin", "doctor", str(logs)]
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
    command = [sys.executable, "-m", "tb_npu_plugin", "show", "overview", str(logs), *options]
    done = subprocess.run(command, stdout=target, stderr=subprocess.PIPE, text=True, check=False)
    os.close(target)
    assert done.returncode == 1 and "Traceback" not in done.stderr, done.stderr
    assert says in done.stderr if says else not done.stderr


def test_data_frames(logs: Path, tmp_path: Path) -> None:
    first, second = npu.open(logs)
    assert (first.worker, second.worker) == ("rank 0 · host1_0", "rank 1 · host1_1")
    kernels = first.kernels()
    assert kernels["dur_ns"].tolist() == [3500, 10250] and str(kernels["dur_ns"].dtype) == "Int64"
    assert kernels["name"].tolist() == ["aclnnAdd_Add", "aclnnMm_MatMul"]
    assert first.steps()["step"].tolist() == ["7"]
    assert first.capture.rank == 0 and first.problems == [] and "kernels" in first.tables
    with pytest.raises(NotFound):
        first.memory()
    with pytest.raises(NotFound, match=r"There are: .*kernels"):
        first.table("nonsense")
    for path, says in ((tmp_path / "nowhere", "does not exist"), (tmp_path, "What opens")):
        with pytest.raises(NotFound, match=says):
            npu.open(path)


def test_data_frames_of_a_trace_alone_do_not_depend_on_what_was_read_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TB_NPU_CACHE_DIR", str(tmp_path))
    cold, warm = (npu.open(FIXTURES / "results" / "kineto_gpu")[0].kernels() for _ in range(2))
    assert len(cold) > 0 and cold.equals(warm)


def test_unknown_is_missing_in_data_frames() -> None:
    columns = (Column("name", Kind.TEXT), Column("dur_ns", Kind.DURATION), Column("share", Kind.RATIO))
    data = npu.frame(from_lists(columns, {"name": ["a", None], "dur_ns": [2**62 + 1, None], "share": [0.5, None]}))
    assert data["dur_ns"][0] == 2**62 + 1 and data.isna().iloc[1].all() and not data.isna().iloc[0].any()


def test_doctor_lists_results_with_their_files_and_skipped_folders(tmp_path: Path) -> None:
    logs = write_logs(tmp_path)
    output = logs / "run" / NAME.replace("4242", "0") / "ASCEND_PROFILER_OUTPUT"
    kernels = output / "kernel_details.csv"
    kernels.write_text(kernels.read_text() + "short,row\n")
    (output / "hbm.csv").write_text("12345")
    (output / "[red]\x1b[2J.csv").write_text("")
    (logs / "raw_ascend_pt" / "FRAMEWORK").mkdir(parents=True)
    settle(logs)
    found = json.loads(run("doctor", logs, "--json").stdout)
    assert [item["path"] for item in found["skipped"]] == ["raw_ascend_pt"]
    broken, good = found["spans"]
    assert [broken["worker"], good["worker"]] == ["rank 0 · host1_0", "rank 1 · host1_1"]
    assert {problem["file"] for problem in broken["problems"]} == {"ASCEND_PROFILER_OUTPUT/kernel_details.csv"}
    assert broken["count"] >= 1 and good["count"] == 0
    unread = ["ASCEND_PROFILER_OUTPUT/[red]\ufffd[2J.csv", "ASCEND_PROFILER_OUTPUT/hbm.csv"]
    assert [file["file"] for file in broken["files"] if file["state"] == "unread"] == unread
    states = {file["file"].rpartition("/")[2]: file["state"] for file in good["files"]}
    assert states["kernel_details.csv"] == "read" and set(states.values()) <= {"read", "settings"}
    assert good["capture"]["producer"] == "Ascend PyTorch Profiler"
    assert "memory_record.csv" in {item["file"] for item in good["missing"]}
    done = run("doctor", logs)
    assert done.returncode == 1 and "raw_ascend_pt" in done.stdout and "2 taken, 1 not taken" in done.stdout
    assert "missing memory_record.csv" in done.stdout and "profile_memory=True" in done.stdout
    assert "read         ASCEND" in done.stdout and "[red]" in done.stdout and "\x1b" not in done.stdout
    assert "not read     ASCEND_PROFILER_OUTPUT/hbm.csv  5 bytes  Statistic of a curve" in done.stdout


def test_doctor_and_page_use_the_same_words_for_states() -> None:
    file = ROOT / "frontend" / "src" / "views" / "doctor" / "terms.json"
    terms = json.loads(file.read_text(encoding="utf-8"))
    found = {state for state in STATES if terms[f"doctor.state.{state}"]["en"] == STATES[state]}
    assert found == set(get_args(get_type_hints(DoctorFileJson)["state"])) == set(STATES)


def test_doctor_prints_sizes_counts_and_each_problem_once() -> None:
    lines = run("doctor", FIXTURES / "broken" / "db_wrong_types").stdout.splitlines()
    assert "KiB" in lines[0] and "0.0" not in lines[0]
    assert lines[-1].startswith("1 taken, 0 not taken, ")
    assert [_size(size) for size in (7, 1024, 1 << 20, 5 << 30)] == ["7 B", "1.0 KiB", "1.0 MiB", "5.0 GiB"]
    assert [_problems(count) for count in (0, 1, 2000)] == ["0 problems", "1 problem", "2,000 problems"]
    (problem,) = [line for line in lines if "bad_required_cell" in line]
    assert "bad_required_cell (2×)" in problem
    assert all(place in "".join(lines) for place in ("TASK, startNs: soon", "OP_MEMORY, size: NULL"))


def test_diagnose_names_the_straggler_and_sets_the_exit_code() -> None:
    logs = FIXTURES / "demo"
    arguments = ("diagnose", str(logs), "--run", "transformer_slow_rank")
    (found,) = json.loads(run(*arguments, "--json").stdout)["runs"]
    assert (found["verdict"]["rule"], found["findings"][0]["subject"]["rank"]) == ("straggler", 5)
    reasons: dict[str, list[str]] = {}
    for one in found["unchecked"]:
        reasons.setdefault(one["reason"], []).append(one["rule"])
    assert reasons == {
        "not_applicable": ["slow_host", "cluster_outlier", "step_gap", "launch_bound"],
        "not_recorded": ["dynamic_shapes", "leak"],  # they need three steps
    }
    assert found == npu.open(logs).diagnose("transformer_slow_rank")
    printed = run(*arguments, "--md", "--fail-if", "straggler>10%")
    assert (printed.returncode, "| high | ≤ 18.91 ms | Rank 5 is the straggler" in printed.stdout) == (3, True)
    assert run(*arguments, "--fail-if", "nonsense").returncode == 2
    alone = run("diagnose", str(logs), "--run", "vision_resnet50", "--fail-if", "straggler>1%")
    assert (alone.returncode, "Not applicable: Straggler;" in alone.stdout) == (0, True)
    assert run("diagnose", str(logs), "--run", "vision_resnet50", "--fail-if", "leak").returncode == 4, "of two steps"


def test_names_in_markdown_are_no_html_and_end_no_cell(tmp_path: Path) -> None:
    write_result(tmp_path / "run<img src=x>|`" / NAME, trace=None)
    settle(tmp_path)
    heading = run("diagnose", tmp_path, "--md").stdout.splitlines()[0]
    assert heading.startswith("## run&lt;img src=x>&#124;`:")


def test_diagnose_prints_each_run_and_names_those_it_leaves_out(tmp_path: Path) -> None:
    names = [f"run{number}" for number in range(10)]
    for name in names:
        write_result(tmp_path / name / NAME, trace=None)
    (tmp_path / "empty").mkdir()
    settle(tmp_path)
    found = json.loads(run("diagnose", tmp_path, "--json").stdout)
    assert (found["schema"], [one["run"] for one in found["runs"]]) == (2, names[:8])
    assert found["left_out"] == [{"run": name, "reason": "limit"} for name in names[8:]]
    text = run("diagnose", tmp_path, "--fail-if", "leak>99%")
    assert text.stdout.splitlines()[-1].startswith("Not diagnosed: run8, run9. Choose runs with --run NAME")
    assert text.returncode == 4, "nobody knows about the runs that were left out"
    chosen = json.loads(run("diagnose", tmp_path, "--run", "run9", "--run", "run8", "--json").stdout)
    assert ([one["run"] for one in chosen["runs"]], chosen["left_out"]) == (["run9", "run8"], [])
    old = json.loads(run("diagnose", tmp_path, "--json", "--schema", "1").stdout)
    assert (old["schema"], old["run"]) == (1, "run0")
    lost = {"ledger", "ledgers", "mean_steps", "repeats"}
    assert "layout" not in found["runs"][0], "only the page and the report draw it"
    assert found["runs"][0].keys() - old.keys() == lost and "reason" not in old["unchecked"][0]
    assert "kind" in found["runs"][0]["verdict"] and "kind" not in old["verdict"]


def test_every_command_names_the_runs_that_it_leaves_out(tmp_path: Path) -> None:
    for name in ("a", "b", "c"):
        write_result(tmp_path / name / NAME, trace=None)
    settle(tmp_path)
    others = [{"run": name, "reason": "limit"} for name in ("b", "c")]
    for view in ("overview", "distributed"):
        assert shown(view, tmp_path)["left_out"] == others
        assert shown(view, tmp_path, "--run", "b")["left_out"] == [], "chosen"
    assert (
        run("show", "overview", tmp_path).stdout.splitlines()[-1].startswith("Not shown: b, c. Choose runs with --run")
    )
    found = run("diff", tmp_path, tmp_path / "b", "--json")
    assert (json.loads(found.stdout)["left_out"], "Not compared: A/b, A/c." in found.stderr) == (
        [{"run": f"A/{name}", "reason": "limit"} for name in ("b", "c")],
        True,
    )
    captures = npu.open(tmp_path)
    assert {capture.run for capture in captures} == {"a", "b", "c"}
    assert captures.diagnose()["left_out"] == others and "left_out" not in captures.diagnose("c")


DEMO = [
    str(FIXTURES / "demo" / name) for name in ("transformer_910b", "transformer_910b_tuned", "transformer_slow_rank")
]


def test_diff_says_what_changed_and_sets_the_exit_code() -> None:
    slower = run("diff", DEMO[1], DEMO[0], "--fail-if", "step>5%")
    lines = slower.stdout.splitlines()
    assert slower.returncode == 3
    assert slower.stderr.splitlines()[-1] == ("--fail-if step>5%: it holds (step 89.993 → 107.283 ms, +19.2 %)."), (
        "a failed gate says which figures failed it"
    )
    assert lines[0].startswith("A  transformer_910b_tuned · rank 0") and lines[1].endswith("107.283 ms   +19.2%")
    assert any(line.split()[:4] == ["Step", "89.993", "107.283", "+17.290"] for line in lines)
    assert max(map(len, lines)) <= 80 and not any(line.startswith(("cast_format", "idle")) for line in lines)
    assert run("diff", *DEMO[:2], "--fail-if", "step>0%").returncode == 0


def test_diff_of_several_captures_gates_on_the_first_and_the_last() -> None:
    done = run("diff", *DEMO[:2], DEMO[0], "--fail-if", "step>0%", "--json")
    found = json.loads(done.stdout)
    assert done.returncode == 0 and [one["name"] for one in found["captures"]] == ["A", "B", "C"]
    assert (found["baseline"]["name"], found["experimental"]["name"]) == ("A", "C")
    steps = found["ledger"]["steps"]
    assert steps[0] == steps[2] != steps[1]
    assert all(row["times"][0] == row["times"][2] for row in found["ledger"]["rows"])
    table = found["tables"]["kernels"]
    assert [column["title"] for column in table["columns"]][-6:] == ["A", "C", "B", "C − A", "Change", "Changed"]
    assert sum(table["data"]["b_ns"]) != sum(table["data"]["baseline_ns"]) == sum(table["data"]["experimental_ns"])


def test_diff_says_what_became_of_the_findings() -> None:
    text = run("diff", *DEMO[:2]).stdout
    assert "Findings of A, and what became of them in B\n- Optimizer that is not fused: gone\n" in text
    assert "at stake 11.987 ms, saved 11.691 ms by several findings (computing 93.818 ms → 82.126 ms)" in text


def test_ranks_are_exported_on_one_clock(tmp_path: Path) -> None:
    """By hand; by estimated clocks, where the ends of shared collectives agree."""
    logs, out = FIXTURES / "demo" / "transformer_slow_rank", tmp_path / "ranks.json"

    def ends(ranks: str) -> dict[str, int]:
        done = run("export-trace", logs, "--ranks", ranks, "--out", out)
        assert done.returncode == 0, done.stderr
        events = json.loads(out.read_text(), parse_float=Decimal)["traceEvents"]
        names = {one["pid"]: one["args"]["name"].split(" · ") for one in events if one["name"] == "process_name"}
        return {
            names[one["pid"]][0]: int((one["ts"] + one["dur"]) * 1000)
            for one in events
            if one["name"] == "hcom_allReduce__587_1_1" and names[one["pid"]][-1] == "Communication"
        }

    aligned, recorded, moved = ends("0,5"), ends("0,5=0"), ends("0,5=-8120")
    assert set(aligned) == {"rank 0", "rank 5"}
    gaps = [found["rank 5"] - found["rank 0"] for found in (aligned, recorded, moved)]
    assert abs(gaps[0]) < 10_000 < abs(gaps[1]) and gaps[2] == gaps[1] - 8120
    assert run("export-trace", logs, "--ranks", "0,99", "--out", out).returncode == 2


def test_a_range_of_the_trace_of_a_database_is_exported(tmp_path: Path) -> None:
    logs, out = FIXTURES / "results" / "db_only", tmp_path / "out" / "window.json"
    out.parent.mkdir()
    done = run("export-trace", logs, "--out", out)
    assert done.returncode == 0, done.stderr
    events = json.loads(out.read_text())["traceEvents"]
    data = shown("trace", logs)["data"]
    slices = [one for one in events if one["ph"] == "X"]
    assert len(slices) == data["slices"] > 20
    assert {one["args"]["name"] for one in events if one["name"] == "process_name"} == {
        process["name"] for process in data["processes"]
    }
    base = int(shown("trace", logs)["base_ns"])
    last = max(slices, key=lambda one: one["ts"])
    start = base + round(last["ts"] * 1000)
    assert run("export-trace", logs, "--out", out, "--start", str(start)).returncode == 0
    assert last["name"] in [one["name"] for one in json.loads(out.read_text())["traceEvents"] if one["ph"] == "X"]
    assert run("export-trace", logs, "--out", out, "--start", str(start), "--end", str(start)).returncode == 2


def test_each_recording_of_a_run_is_diagnosed_with_the_ranks_of_its_time(tmp_path: Path) -> None:
    """Rank 1 has no first recording: its only one must not be mixed with the first of rank 0."""
    first, second = NAME, NAME.replace("20250109154804", "20250109164804")
    for name, rank in ((first, 0), (second, 0), (second, 1)):
        write_result(tmp_path / "logs" / "run" / name.replace("4242", str(rank)), rank=rank, trace=None)
    found = json.loads(run("diagnose", tmp_path / "logs", "--json").stdout)
    assert found["left_out"] == []
    assert [one["run"] for one in found["runs"]] == ["run", "run ▸ 2025-01-09 16:48:04"]
    assert [[ledger["rank"] for ledger in one["ledgers"]] for one in found["runs"]] == [[0], [0, 1]]


def test_explain_names_part_rank_and_kernel(tmp_path: Path) -> None:
    whole = ("explain", FIXTURES / "demo", "--run", "transformer_slow_rank")
    found = run(*whole, "--step", "12")
    assert found.returncode == 0 and found.stdout.startswith("Rank 5 computes for 67.13 ms, 22.25 ms (50 %) above")
    assert "MatMulV3" in found.stdout
    part = json.loads(run(*whole, "--range", "0:70.5", "--json").stdout)
    assert part["run"] == "transformer_slow_rank" and part["parts"][part["rank"]]["name"] == "rank 5"
    assert all(sum(rank[kind] for kind in PARTS) <= 70_500_000 for rank in part["parts"])
    for wrong in ((), ("--step", "12", "--range", "0:1"), ("--range", "2:1"), ("--range", "1:x"), ("--step", "99")):
        assert run(*whole, *wrong).returncode == 2
    lost = run("explain", FIXTURES / "results" / "mindinsight_broken", "--step", "1")
    assert lost.returncode == 0 and ": not compared" in lost.stdout


PARTS = ("computing", "waiting", "transfer", "copies", "idle")
