"""What people have: one small result for each way in which profiles are cut, renamed, converted or damaged, and its right answer."""

from __future__ import annotations

import csv
import io
import json
import re
import shutil
import sqlite3
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from tb_npu_plugin.capture.models.catalog import Sizes
from tb_npu_plugin.capture.models.run import Recipe
from tb_npu_plugin.capture.writers.options import Options
from tests.support import mock
from tests.support.cli import run
from tests.unit.store.results import settle

OUTPUT = "ASCEND_PROFILER_OUTPUT"
Change = Callable[[Path], None]


@cache
def _job() -> Path:
    recipe = Recipe("tiny", ranks=2, tp=2, steps=2, sizes=Sizes(layers=1), options=Options(export=("text", "db")))
    return mock.written(recipe)[0]


def rank(target: Path, number: int = 0, name: str = "", database: bool = False) -> Path:
    """A copy of the text files of a rank, its database beside them if asked for. Returns the folder of its tables."""
    source = sorted(_job().glob("*_ascend_pt"))[number]
    without = shutil.ignore_patterns() if database else shutil.ignore_patterns("*.db")
    return Path(shutil.copytree(source, target / (name or source.name), ignore=without)) / OUTPUT


def both(target: Path) -> list[Path]:
    return [rank(target), rank(target, 1)]


def edit_rows(file: Path, change: Callable[[list[str], dict[str, int]], list[str] | None]) -> None:
    """Change each row of a CSV file: the header too; None drops it. change: row, place of each column."""
    rows = list(csv.reader(file.open(newline="")))
    places = {name: at for at, name in enumerate(rows[0])}
    out = io.StringIO()
    csv.writer(out).writerows(row for row in (change(row, places) for row in rows) if row is not None)
    file.write_text(out.getvalue())


def remove(output: Path, *names: str) -> None:
    for name in names:
        (output / name).unlink()


DEVICE_FILES = ("kernel_details.csv", "op_statistic.csv", "communication.json", "communication_matrix.json")


def exported_traces(target: Path) -> None:
    trace = rank(target / "source") / "trace_view.json"
    shutil.copy(trace, target / "TP0-DECODE.trace.json")
    shutil.copy(trace, target / "npu_profile_rank0.json")
    shutil.rmtree(target / "source")


def header_only(target: Path) -> None:
    file = rank(target) / "kernel_details.csv"
    file.write_text(file.read_text().splitlines()[0] + "\n")


def no_steps(target: Path) -> None:
    output = rank(target)
    edit_rows(output / "kernel_details.csv", lambda row, at: [one for i, one in enumerate(row) if i != at["Step Id"]])
    edit_rows(
        output / "step_trace_time.csv",
        lambda row, at: None if row[at["Step"]] == "12" else ["" if one == "11" else one for one in row],
    )
    events = json.loads((output / "trace_view.json").read_text())
    (output / "trace_view.json").write_text(json.dumps([one for one in events if "ProfilerStep" not in one["name"]]))


def saved_by_a_spreadsheet(target: Path) -> None:
    output = rank(target, name="训练_node0_31780_20250615070000123_ascend_pt")
    file = output / "operator_details.csv"
    file.write_bytes(file.read_text().replace("aten::mm", "算子::乘").replace("\n", "\r\n").encode("gbk"))
    file = output / "kernel_details.csv"
    file.write_bytes(b"\xef\xbb\xbf" + file.read_text().replace("\n", "\r\n").encode())
    file = output / "step_trace_time.csv"
    file.write_text(file.read_text().replace(",", ";"))


def odd_name(target: Path) -> None:
    output = rank(target, name="wan2_2_t2v_profile_67889_20260725180104147_ascend_pt")
    (output / "analyse.done").touch()


def level_none(target: Path) -> None:
    remove(rank(target), *DEVICE_FILES, "api_statistic.csv")


def output_alone(target: Path) -> None:
    for number in (0, 1):
        shutil.copytree(rank(target / "source", number), target / f"rank{number}" / OUTPUT)
    shutil.rmtree(target / "source")


def one_rank_unnamed(target: Path) -> None:
    output_alone(target)
    (target / "rank0").rename(target / "copied")


def two_sessions(target: Path) -> None:
    rank(target, 0, "dp0_pp0_tp0_rank0_111_20250615070000123_ascend_pt")
    rank(target, 0, "dp0_pp0_tp0_rank0_111_20250615080000123_ascend_pt")
    rank(target, 1, "dp0_pp0_tp1_rank1_112_20250615070000123_ascend_pt")


def host_only_database(target: Path) -> None:
    (database,) = rank(target, database=True).glob("ascend_pytorch_profiler_*.db")
    with sqlite3.connect(database) as connection:
        for table in ("TASK", "COMPUTE_TASK_INFO", "COMMUNICATION_OP", "COMMUNICATION_TASK_INFO", "NPU_MEM"):
            connection.execute(f"DROP TABLE {table}")
    connection.close()


def some_text_files(target: Path) -> None:
    remove(rank(target, database=True), *DEVICE_FILES, "step_trace_time.csv")


def on_the_ai_cpu(target: Path) -> None:
    """Each collective is listed a second time, by the kernel of the AI CPU that runs it."""
    file = rank(target) / "kernel_details.csv"
    header, *rows = csv.reader(file.open(newline=""))
    name, start = header.index("Name"), header.index("Start Time(us)")
    changed = {"Name": "allreduceAicpuKernel", "Type": "allreduceAicpuKernel", "Accelerator Core": "AI_CPU"}
    extra = [
        [changed.get(key, one) for key, one in zip(header, row)]
        for row in rows
        if row[name].startswith("hcom_allReduce")
    ]
    assert extra
    with file.open("w", newline="") as opened:
        csv.writer(opened).writerows([header, *sorted([*rows, *extra], key=lambda row: float(row[start]))])


def renumbered(target: Path) -> None:
    output = both(target)[1]
    for file in (output / name for name in ("trace_view.json", *DEVICE_FILES)):
        text = re.sub(r"(hcom_\w+__\d+_)(\d+)(?=_\d)", lambda call: f"{call[1]}{int(call[2]) + 2}", file.read_text())
        file.write_text(text)


def another_clock(target: Path) -> None:
    """The times of the second rank are three minutes ahead."""
    for file in both(target)[1].glob("*.*"):
        text = re.sub(
            r"(?<![\d.])(17\d{8})(?=\d{6}(?:\.\d+)?(?!\d))", lambda time: str(int(time[1]) + 180), file.read_text()
        )
        file.write_text(text)


def a_time_of_zero(target: Path) -> None:
    output = both(target)[1]
    events = json.loads((output / "trace_view.json").read_text())
    slices = [one for one in events if one["ph"] == "X"]
    slices[len(slices) // 3]["ts"] = "0"
    (output / "trace_view.json").write_text(json.dumps(events))


ONE, TWO = "alone", "both"
#: Change; captures by run; problems that cost something; whose diagnosis it has, or what the diagnosis says.
CASES: dict[str, tuple[Change, list[int], set[str], str]] = {
    "c03 export_chrome_trace": (exported_traces, [2], set(), "13 % waiting for rank 1"),
    "c09 header of kernels alone": (header_only, [1], set(), "trace_view.json does not tell why"),
    "c10 no step ids": (no_steps, [1], set(), "neither steps nor iterations were recorded"),
    "c12 saved by spreadsheets": (saved_by_a_spreadsheet, [1], set(), ONE),
    "c16 another folder name": (odd_name, [1], set(), ONE),
    "c17 level none": (level_none, [1], set(), "Rank 0 is idle"),
    "c18 output folders alone": (output_alone, [2], set(), TWO),
    "c11 the output folder of one rank, unpacked elsewhere": (one_rank_unnamed, [2], set(), "Rank 1 is idle for"),
    "c19 two sessions": (two_sessions, [3], set(), TWO),
    "c31 text beside the host's database": (host_only_database, [1], {"lost_table"}, ONE),
    "c32 some text beside a database": (some_text_files, [1], set(), "Waiting for rank 1"),
    "c33 collectives on the AI CPU": (on_the_ai_cpu, [1], set(), ONE),
    "c35 other numbers of collectives": (renumbered, [2], set(), TWO),
    "c36 clocks minutes apart": (another_clock, [2], set(), TWO),
    "c37 a time of 0": (a_time_of_zero, [2], {"outside_recording"}, TWO),
}


def ledgers(logdir: Path) -> tuple[Any, str]:
    """Ledger of each rank, and the verdict; of several sessions those of the first."""
    output = run("diagnose", "--json", logdir).stdout
    assert "None" not in output
    found, *_ = json.loads(output)["runs"]
    return [one["entries"] for one in found["ledgers"]], found["verdict"]["message"]


@pytest.fixture(scope="module")
def untouched(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[Any, str]]:
    """Diagnosis of one rank, and of both."""
    folder = tmp_path_factory.mktemp("untouched")
    rank(folder / ONE)
    both(folder / TWO)
    settle(folder)
    return {name: ledgers(folder / name) for name in (ONE, TWO)}


@pytest.mark.parametrize("name", CASES)
def test_what_people_have(name: str, tmp_path: Path, untouched: dict[str, tuple[Any, str]]) -> None:
    change, captures, problems, diagnosis = CASES[name]
    logdir = tmp_path / "logs"
    change(logdir)
    settle(logdir)
    found = json.loads(run("doctor", "--json", logdir).stdout)
    runs = [one["run"] for one in found["spans"]]
    assert sorted(runs.count(label) for label in set(runs)) == captures and found["skipped"] == []
    told = {one["code"] for span in found["spans"] for one in span["problems"] if one["severity"] != "info"}
    assert told == problems
    entries, verdict = ledgers(logdir)
    expected = untouched.get(diagnosis)
    if expected is None:
        assert diagnosis in verdict
    else:
        assert entries == expected[0]


def test_files_of_a_serving_engine_are_named(tmp_path: Path) -> None:
    (tmp_path / "request.csv").write_text("http_rid,start_datetime,recv_token_size,reply_token_size\n1,2026,128,64\n")
    (tmp_path / "kvcache.csv").write_text("domain,rid,timestamp,name,device_kvcache_left\nKVCache,1,1,Allocate,100\n")
    event = {"ph": "X", "name": "forward", "pid": 1, "tid": "Prefill", "ts": 1.0, "dur": 5.0, "args": {}}
    (tmp_path / "chrome_tracing.json").write_text(json.dumps({"traceEvents": [event]}))
    done = run("doctor", tmp_path)
    assert done.returncode == 1 and "msServiceProfiler" in done.stdout and "chrome_tracing.json" in done.stdout
