"""Databases of msprof: figures against the file, read with the standard library alone, and against the text of the run."""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from tb_npu_plugin.problems import ProblemLog
from tb_npu_plugin.readers.formats import READERS
from tb_npu_plugin.store.timeline.build import build_timeline
from tb_npu_plugin.store.timeline.open import Timeline
from tests.oracle.test_msprof import read
from tests.support.fixtures import FIXTURES

TEXT, DATABASE = FIXTURES / "results" / "msprof", FIXTURES / "results" / "msprof_db"
(PATH,) = DATABASE.rglob("msprof_*.db")
#: The text of this fixture has the older word for communication, databases of the mock have the newer one.
NEWER = {"HCCL": "COMMUNICATION", "hccl": "communication"}
NAME = "(SELECT value FROM STRING_IDS WHERE id = {0})"


@pytest.fixture
def database() -> Iterator[sqlite3.Connection]:
    with closing(sqlite3.connect(f"file:{PATH}?mode=ro&immutable=1", uri=True)) as connection:
        yield connection


def test_kernels(database: sqlite3.Connection) -> None:
    rows = database.execute(
        f"SELECT startNs, endNs - startNs, {NAME.format('i.name')} FROM COMPUTE_TASK_INFO i "
        "JOIN TASK t ON t.globalTaskId = i.globalTaskId "
        f"UNION ALL SELECT startNs, endNs - startNs, {NAME.format('opName')} FROM COMMUNICATION_OP ORDER BY 1"
    ).fetchall()
    kernels = read(DATABASE)["kernels"]
    assert list(zip(kernels.ints("start_ns").tolist(), kernels.ints("dur_ns").tolist(), kernels.text("name"))) == rows
    assert len(rows) > 5
    assert not kernels.has("step")


def test_calls(database: sqlite3.Connection) -> None:
    sql = f"SELECT {NAME.format('name')}, COUNT(*), SUM(endNs - startNs) FROM CANN_API GROUP BY 1"
    table, found = read(DATABASE)["api_statistic"], Counter[str]()
    totals: Counter[str] = Counter()
    for name, count, total in zip(table.text("name"), table.ints("calls").tolist(), table.ints("total_ns").tolist()):
        found[name] += count
        totals[name] += total
    assert {name: (found[name], totals[name]) for name in found} == {
        name: tuple(row) for name, *row in database.execute(sql)
    }


def test_the_same_tables_as_from_text() -> None:
    text, database = read(TEXT), read(DATABASE)
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


def build(path: Path, out: Path) -> Timeline:
    log = ProblemLog()
    out.mkdir()
    build_timeline(path, out, log, lambda count: None, scan=READERS["msprof"].scan)
    assert log.list() == []
    return Timeline.open(out, path)


def test_the_timeline(tmp_path: Path, database: sqlite3.Connection) -> None:
    timeline = build(PATH, tmp_path / "db")
    (trace,) = TEXT.rglob("msprof_*.json")
    text = build(trace, tmp_path / "text")
    processes = {track["process"] for track in timeline.tracks}
    assert {track["process"] for track in text.tracks} - {"HCCL"} <= processes - {"Overlap Analysis"}
    assert "Communication" in processes
    assert "Overlap Analysis" in processes and "Python" not in processes
    (calls,) = database.execute("SELECT COUNT(*) FROM CANN_API").fetchone()
    assert sum(track["slices"] for track in timeline.tracks if track["process"] == "CANN") == calls > 0
