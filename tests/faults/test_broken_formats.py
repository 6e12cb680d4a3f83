"""Damaged GPU traces, exports of msprof and clusters: the rest opens, and losses are reported."""

from __future__ import annotations

import gzip
import json
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from tb_npu_plugin.discovery.scan import scan
from tb_npu_plugin.store.pool.worker import run
from tb_npu_plugin.store.stages import Request, files_of, stages_of
from tests.support.fixtures import FIXTURES

TRACE = next((FIXTURES / "results" / "kineto_gpu").glob("*.json"))


def read_all(logdir: Path, out: Path) -> list[dict[str, Any]]:
    """The meta.json of each stage of each span, as the worker returns it."""
    metas = []
    for place in scan({"": logdir}).places():
        for stage in stages_of(place.span):
            folder = out / f"{place.span.token}-{stage}"
            folder.mkdir(parents=True)
            span = place.span
            request = Request(stage, span.folder, files_of(span, stage), folder, span.format, span.part)
            metas.append(run(request, lambda message: None))
    return metas


def codes(metas: list[dict[str, Any]]) -> set[str]:
    return {problem["code"] for meta in metas for problem in meta["problems"]}


def changed(change: Callable[[dict[str, Any]], None]) -> bytes:
    """The trace with each event changed."""
    content = json.loads(TRACE.read_bytes())
    for event in content["traceEvents"]:
        change(event)
    return json.dumps(content).encode()


def drop(*keys: str) -> Callable[[dict[str, Any]], None]:
    def change(event: dict[str, Any]) -> None:
        for key in keys:
            event.pop(key, None)
            event.get("args", {}).pop(key, None)

    return change


def set_args(value: Any) -> Callable[[dict[str, Any]], None]:
    def change(event: dict[str, Any]) -> None:
        event["args"] = dict.fromkeys(event.get("args", {}), value)

    return change


#: Damage -> the trace after it. The first five hold no whole event.
DAMAGED: dict[str, Callable[[], bytes]] = {
    "empty": lambda: b"",
    "cut in the head": lambda: TRACE.read_bytes()[:200],
    "a list": lambda: b"[]",
    "text": lambda: b"hello",
    "cut": lambda: TRACE.read_bytes()[:20_000],
    "no args": lambda: changed(drop("args")),
    "no ids": lambda: changed(drop("External id", "correlation")),
    "no durations": lambda: changed(drop("dur")),
    "no categories": lambda: changed(drop("cat")),
    "no names": lambda: changed(drop("name")),
    **{
        f"args are {value}"[:20]: lambda value=value: changed(set_args(value))
        for value in ("x", None, [[1, [2]]], 10**30, -1)
    },
}


@pytest.mark.parametrize("name", DAMAGED)
@pytest.mark.parametrize("pack", [bytes, pytest.param(gzip.compress, marks=pytest.mark.full)], ids=["plain", "packed"])
def test_a_damaged_trace(tmp_path: Path, name: str, pack: Callable[[bytes], bytes]) -> None:
    (tmp_path / "log").mkdir()
    path = tmp_path / "log" / ("host_1.pt.trace.json" + (".gz" if pack is gzip.compress else ""))
    path.write_bytes(pack(DAMAGED[name]()))
    tables, trace = read_all(tmp_path / "log", tmp_path / "out")
    assert "reader_defect" not in codes([tables, trace])
    if name in [*DAMAGED][:5]:
        assert any(problem["severity"] == "error" for problem in trace["problems"])
    else:
        assert trace["timeline"] or trace["problems"]
    if name == "cut":
        assert trace["timeline"] and 0 < trace["rows"]["kernels"] < 24


@pytest.mark.parametrize("fixture", ["results/msprof", "recorded/cluster_text", "recorded/cluster_db"])
@pytest.mark.parametrize("size", [0.3, *(pytest.param(size, marks=pytest.mark.full) for size in (0, 0.9))])
def test_each_file_cut(tmp_path: Path, fixture: str, size: float) -> None:
    source = FIXTURES / fixture
    for number, path in enumerate(sorted(path for path in source.rglob("*") if path.is_file())):
        logdir = tmp_path / str(number)
        shutil.copytree(source, logdir)
        target = logdir / path.relative_to(source)
        target.write_bytes(path.read_bytes()[: int(path.stat().st_size * size)])
        found = scan({"": logdir})
        assert found.runs or found.skipped, path.name
        assert "reader_defect" not in codes(read_all(logdir, tmp_path / f"out{number}")), path.name


def test_cells_of_a_cluster_database_that_are_no_numbers(tmp_path: Path) -> None:
    """SQLite holds any type in any column: such rows cost themselves."""
    logdir = Path(shutil.copytree(FIXTURES / "recorded" / "cluster_db", tmp_path / "log"))
    (path,) = logdir.rglob("*.db")
    with closing(sqlite3.connect(path)) as connection, connection:
        for table in ("ClusterCommunicationTime", "ClusterCommunicationBandwidth"):
            connection.execute(f"UPDATE {table} SET rank_id='x' WHERE rowid=1")
        connection.execute("UPDATE ClusterCommunicationBandwidth SET count='many' WHERE rowid=2")
    metas = read_all(logdir, tmp_path / "out")
    assert "reader_defect" not in codes(metas)
    for table in ("comm_ops", "comm_packets", "step_trace"):
        assert any(meta["rows"].get(table) for meta in metas), table
