"""Exports of msprof and of msprof-analyze cluster: figures against the files, read with the standard library alone."""

from __future__ import annotations

import csv
import json
import re
import sqlite3
from contextlib import closing
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from tb_npu_plugin.discovery.scan import scan
from tb_npu_plugin.model import Capture
from tb_npu_plugin.problems import ProblemLog
from tb_npu_plugin.readers.formats import READERS
from tb_npu_plugin.readers.shared.reading import Reading
from tb_npu_plugin.schema.formats import FORMATS
from tb_npu_plugin.schema.torch_npu_json import ROLLUP_TRANSPORTS
from tb_npu_plugin.store.timeline.build import build_timeline
from tb_npu_plugin.store.timeline.open import Timeline
from tb_npu_plugin.tables import Kind, Table
from tests.support.fixtures import FIXTURES

MSPROF = FIXTURES / "results" / "msprof"
PIECES = FIXTURES / "results" / "msprof_pieces"
TEXT = FIXTURES / "recorded" / "cluster_text"
DATABASE = FIXTURES / "recorded" / "cluster_db"
MSPROF_DATABASE = FIXTURES / "results" / "msprof_db"
#: The text of this fixture has the older word for communication, databases of the mock have the newer one.
NEWER = {"HCCL": "COMMUNICATION", "hccl": "communication"}


def read(logdir: Path, worker: int = 0) -> dict[str, Table]:
    """All tables of a span, as the worker process reads them."""
    (run,) = scan({"": logdir}).runs
    span = run.workers[worker].spans[0]
    reader, log = READERS[span.format], ProblemLog()
    tables: dict[str, Table] = {}
    for file in span.table_files:
        spec = FORMATS[span.format].file(file.name)
        if spec is None or spec.settings:
            continue
        tables.update(reader.tables(Reading(span.folder / file.relative, file.relative, log, before=tables)))
    tables = reader.finish(tables, Capture(), log)
    assert not [problem for problem in log.list() if problem.severity != "info"]
    return reader.select(tables, span.part) if reader.select is not None else tables


def csv_rows(folder: Path, pattern: str) -> list[dict[str, str]]:
    """Rows of the only file of that name."""
    (path,) = folder.rglob(pattern)
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def ns(text: object, factor: int = 1000) -> int:
    return int((Decimal(str(text).strip()) * factor).to_integral_value())


def test_op_summary() -> None:
    rows, kernels = csv_rows(MSPROF, "op_summary_20250615070512.csv"), read(MSPROF)["kernels"]
    assert kernels.text("name").tolist() == [row["Op Name"] for row in rows]
    assert kernels.ints("dur_ns").tolist() == [ns(row["Task Duration(us)"]) for row in rows]
    assert kernels.ints("start_ns").tolist() == [ns(row["Task Start Time(us)"]) for row in rows]
    assert kernels.text("core").tolist() == [row["Task Type"] for row in rows]


def test_pieces_are_the_whole() -> None:
    kernels, whole = read(PIECES)["kernels"], read(MSPROF)["kernels"]
    columns = [column for column in whole.columns if not column.key.startswith("l2_")]  # their file is missing
    assert list(kernels.columns) == columns
    for column, mine, other in zip(
        columns, *([table.data[c.key].tolist() for c in columns] for table in (kernels, whole))
    ):
        assert mine == (other if column.kind is Kind.TEXT else pytest.approx(other, nan_ok=True)), column.key


def test_iterations() -> None:
    (path,) = PIECES.rglob("step_trace_*.csv")
    with path.open(newline="") as file:
        _, *rows = csv.reader(file)
    tables = read(PIECES)
    steps, reduces = tables["iterations"], tables["iteration_reduces"]
    assert steps.text("step").tolist() == ["1", "2"]
    for place, key in ((2, "fp_ns"), (3, "bp_ns"), (4, "end_ns"), (5, "total_ns"), (6, "fp_bp_ns"), (7, "tail_ns")):
        assert steps.ints(key).tolist() == [ns(row[place]) for row in rows]
    assert steps.ints("start_ns").tolist() == [ns(row[4]) - ns(row[5]) for row in rows]
    gaps = steps.ints("interval_ns").tolist()
    assert gaps[1] == ns(rows[1][8]) == steps.ints("fp_ns")[1] - steps.ints("start_ns")[1]
    assert rows[0][8] == "N/A" and gaps[0] < 0
    assert reduces.ints("start_ns").tolist() == [ns(row[place]) for row in rows for place in (10, 12)]
    assert reduces.ints("dur_ns").tolist() == [2500, 300] * 2


def test_memory_of_cann_and_op_statistic() -> None:
    table = read(PIECES)["memory_record"]
    rows = csv_rows(PIECES, "memory_record_*.csv")
    assert table.ints("reserved_bytes").tolist() == [ns(row["Total Reserved(KB)"], 1024) for row in rows]
    assert set(table.text("device").tolist()) == {"NPU:0"} and set(table.ints("device_id").tolist()) == {0}
    rows = csv_rows(MSPROF, "op_statistic_*.csv")
    totals = read(MSPROF)["op_statistic"].ints("total_ns").tolist()
    assert totals == [ns(row["Total Time(us)"]) for row in rows]


def test_communication_by_type() -> None:
    """The file's figures are those of the rows that it sums up."""
    times: dict[str, list[int]] = {}
    for row in csv_rows(MSPROF, "op_summary_20250615070512.csv"):
        if row["Task Type"] in ("HCCL", "COMMUNICATION"):
            times.setdefault(row["OP Type"], []).append(ns(row["Task Duration(us)"]))
    table = read(PIECES)["communication_statistic"]
    keys = ("type", "calls", "total_ns", "min_ns", "max_ns")
    assert sorted(zip(*(table.data[key].tolist() for key in keys))) == sorted(
        (kind, len(found), sum(found), min(found), max(found)) for kind, found in times.items()
    )
    assert times and table.floats("ratio").sum() == pytest.approx(100, abs=0.01)


@pytest.mark.parametrize("rank", [0, 1])
def test_cluster_steps_of_text(rank: int) -> None:
    with (TEXT / "cluster_analysis_output" / "cluster_step_trace_time.csv").open(newline="") as file:
        (row,) = (row for row in csv.DictReader(file) if row["Type"] == "rank" and row["Index"] == str(rank))
    steps = read(TEXT, rank)["step_trace"]
    assert steps.text("step").tolist() == [row["Step"]]
    for header in ("Computing", "Free", "Bubble", "Preparing", "Communication(Not Overlapped)"):
        key = re.sub(r"\W+", "_", header.lower()).strip("_")
        assert abs(int(steps.ints(key)[0]) - float(row[header]) * 1000) < 1


def _operators(rank: int) -> list[tuple[str, dict[str, Any]]]:
    content = json.loads((TEXT / "cluster_analysis_output" / "cluster_communication.json").read_text())
    return [
        (name, ranks[str(rank)])
        for steps in content.values()
        for entries in steps.values()
        for name, ranks in entries.items()
        if str(rank) in ranks and not name.startswith("Total Op Info")
    ]


@pytest.mark.parametrize("rank", [0, 1])
def test_cluster_operators_of_text(rank: int) -> None:
    expected, tables = _operators(rank), read(TEXT, rank)
    ops = tables["comm_ops"]
    found = dict(zip(ops.text("name").tolist(), ops.ints("elapse_ns").tolist()))
    times = "Communication Time Info"
    assert found == {name.split("@")[0]: ns(info[times]["Elapse Time(ms)"], 10**6) for name, info in expected}
    moved = sum(
        ns(part["Transit Size(MB)"], 10**6)
        for _, info in expected
        for transport, part in info["Communication Bandwidth Info"].items()
        if transport not in ROLLUP_TRANSPORTS
    )
    bandwidth = tables["comm_bandwidth"]
    assert bandwidth.ints("size_bytes")[bandwidth.ints("rollup") == 0].sum() == moved > 0


@pytest.mark.parametrize("rank", [0, 1])
def test_cluster_links_of_text(rank: int) -> None:
    content = json.loads((TEXT / "cluster_analysis_output" / "cluster_communication_matrix.json").read_text())
    expected = sorted(
        (link, ns(info["Transit Size(MB)"], 10**6))
        for steps in content.values()
        for entries in steps.values()
        for name, links in entries.items()
        for link, info in links.items()
        if "total" in name and link.startswith(f"{rank}-")
    )
    links = read(TEXT, rank)["comm_links"]
    total = links.take(links.text("stat").equals("total"))
    ends = [f"{src}-{dst}" for src, dst in zip(total.ints("src").tolist(), total.ints("dst").tolist())]
    assert sorted(zip(ends, total.ints("size_bytes").tolist())) == expected != []


@pytest.mark.parametrize("rank", [0, 1])
def test_cluster_database(rank: int) -> None:
    tables = read(DATABASE, rank)
    path = DATABASE / "cluster_analysis_output" / "cluster_analysis.db"
    with closing(sqlite3.connect(f"file:{path}?immutable=1", uri=True)) as database:
        (step,) = database.execute(
            'SELECT computing, communication, free FROM ClusterStepTraceTime WHERE type = ? AND "index" = ?',
            ("rank", str(rank)),
        )
        ops = database.execute(
            "SELECT hccl_op_name, elapsed_time FROM ClusterCommunicationTime WHERE rank_id = ? AND hccl_op_name != ?",
            (rank, "Total Op Info"),
        ).fetchall()
        (links,) = database.execute(
            "SELECT count(*) FROM ClusterCommunicationMatrix WHERE src_rank = ? AND op_name != ''", (rank,)
        )
    steps = tables["step_trace"]
    assert [int(steps.ints(key)[0]) for key in ("computing", "communication", "free")] == [ns(x) for x in step]
    found = tables["comm_ops"]
    assert list(zip(found.text("name").tolist(), found.ints("elapse_ns").tolist())) == [
        (name, ns(time, 10**6)) for name, time in ops
    ]
    total = tables["comm_links"].text("stat").equals("total")  # which name no operator
    assert (~total).sum() == links[0] > 0
    assert not path.with_name(path.name + "-wal").exists()


def test_databases_hold_the_same_tables_as_text() -> None:
    text, database = read(MSPROF), read(MSPROF_DATABASE)
    assert database.keys() == text.keys() - {"l2_cache"}
    for name, theirs in database.items():
        keys = {column.key for column in theirs.columns} & {column.key for column in text[name].columns}
        assert len(keys) >= 3
        for key in keys - {"cube_utilization"}:
            mine, other = (
                [NEWER.get(cell, cell) for cell in table.data[key].tolist()] for table in (text[name], theirs)
            )
            assert [pair for pair in zip(mine, other) if pair[0] != pair[1] and pair[0] == pair[0]] == [], (name, key)
            assert len(mine) == len(other)


def test_the_timeline_of_a_database(tmp_path: Path) -> None:
    (path,), log = MSPROF_DATABASE.rglob("msprof_*.db"), ProblemLog()
    build_timeline(path, tmp_path, log, lambda count: None, scan=READERS["msprof"].scan)
    tracks = Timeline.open(tmp_path, path).tracks
    processes = {track["process"] for track in tracks}
    assert log.list() == []
    assert processes >= {"Ascend Hardware", "CANN", "Communication", "Overlap Analysis"} and "Python" not in processes
    with closing(sqlite3.connect(f"file:{path}?immutable=1", uri=True)) as database:
        (calls,) = database.execute("SELECT COUNT(*) FROM CANN_API").fetchone()
    assert sum(track["slices"] for track in tracks if track["process"] == "CANN") == calls > 0
