"""Damaged GPU traces, exports of msprof and clusters: what is left opens, and what is lost is told."""

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
    """What the worker process tells of each stage of each span."""
    told = []
    for place in scan({"": logdir}).places():
        for stage in stages_of(place.span):
            folder = out / f"{place.span.token}-{stage}"
            folder.mkdir(parents=True)
            span = place.span
            request = Request(stage, span.folder, files_of(span, stage), folder, span.format, span.part)
            told.append(run(request, lambda message: None))
    return told


def codes(told: list[dict[str, Any]]) -> set[str]:
    return {problem["code"] for meta in told for problem in meta["problems"]}


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


DAMAGED: dict[str, tuple[bytes, set[str]]] = {
    "empty": (b"", {"bad_file", "no_events"}),
    "cut": (TRACE.read_bytes()[:20_000], {"truncated_json", "truncated_trace", "bad_json", "truncated"}),
    "cut in the head": (TRACE.read_bytes()[:200], {"bad_file"}),
    "a list": (b"[]", {"bad_file"}),
    "text": (b"hello", {"bad_file"}),
    "no args": (changed(drop("args")), set()),
    "no ids": (changed(drop("External id", "correlation")), set()),
    "no durations": (changed(drop("dur")), set()),
    "args are texts": (changed(set_args("x")), set()),
    "args are null": (changed(set_args(None)), set()),
    "args are lists": (changed(set_args([[1, [2]]])), set()),
    "args are huge": (changed(set_args(10**30)), set()),
    "args are negative": (changed(set_args(-1)), set()),
    "no categories": (changed(drop("cat")), set()),
    "no names": (changed(drop("name")), set()),
}


@pytest.mark.parametrize("name", DAMAGED)
@pytest.mark.parametrize("pack", [bytes, gzip.compress], ids=["plain", "packed"])
def test_a_damaged_trace(tmp_path: Path, name: str, pack: Callable[[bytes], bytes]) -> None:
    content, _ = DAMAGED[name]
    (tmp_path / "log").mkdir()
    (tmp_path / "log" / ("host_1.pt.trace.json" + (".gz" if pack is gzip.compress else ""))).write_bytes(pack(content))
    tables, trace = read_all(tmp_path / "log", tmp_path / "out")
    assert "reader_defect" not in codes([tables, trace])
    if DAMAGED[name][1]:
        assert any(problem["severity"] == "error" for problem in trace["problems"])
    else:
        assert trace["timeline"] or trace["problems"]


def test_a_cut_trace_keeps_what_is_there(tmp_path: Path) -> None:
    (tmp_path / "log").mkdir()
    (tmp_path / "log" / "host_1.pt.trace.json").write_bytes(DAMAGED["cut"][0])
    _, trace = read_all(tmp_path / "log", tmp_path / "out")
    assert trace["timeline"]
    assert 0 < trace["rows"]["kernels"] < 24


@pytest.mark.parametrize("fixture", ["results/msprof", "recorded/cluster_text", "recorded/cluster_db"])
@pytest.mark.parametrize("size", [0, 0.3, 0.9])
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
    told = read_all(logdir, tmp_path / "out")
    assert "reader_defect" not in codes(told)
    for table in ("comm_ops", "comm_packets", "step_trace"):
        assert any(meta["rows"].get(table) for meta in told), table
