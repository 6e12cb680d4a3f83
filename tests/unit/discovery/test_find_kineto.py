"""Traces of GPUs in a logdir: which files are taken, as whose."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from tb_npu_plugin.discovery.kineto_head import MAX_HEAD, kineto_head
from tb_npu_plugin.discovery.model import Scan
from tb_npu_plugin.discovery.scan import scan

HEAD = {"schemaVersion": 1, "deviceProperties": []}


def write(path: Path, head: object = HEAD, **more: object) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    content = {**head, **more, "traceEvents": []} if isinstance(head, dict) else head
    data = json.dumps(content).encode()
    path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)


@pytest.mark.parametrize(
    ("place", "run", "worker", "rank"),
    [
        ("exp/host1_42.1795264098085000123.pt.trace.json", "exp", "host1_42", None),
        ("exp/host1_42.1795264098085.pt.trace.json.gz", "exp", "host1_42", None),
        ("exp/rank3.1795264098085.pt.trace.json", "exp", "rank 3", 3),
        ("exp/rank_2/host1_42.1795264098085.pt.trace.json", "exp", "rank 2 · host1_42", 2),
        ("exp/trace_rank_1.json", "exp", "rank 1", 1),
        ("exp/my.pt.trace.json", "exp", "my", None),
        ("exp/anything.json.gz", "exp", "worker", None),
        ("host1_42.1795264098085.pt.trace.json", "logs", "host1_42", None),
    ],
)
def test_run_and_worker_of_every_name(tmp_path: Path, place: str, run: str, worker: str, rank: int | None) -> None:
    write(tmp_path / "logs" / place)
    (found,) = scan({"": tmp_path / "logs"}).runs
    assert (found.label, [one.label for one in found.workers]) == (run, [worker])
    assert found.workers[0].rank == rank
    assert found.workers[0].spans[0].format == "kineto"


def test_the_rank_of_the_file_comes_first(tmp_path: Path) -> None:
    write(tmp_path / "rank9" / "host1_42.1795264098085.pt.trace.json", distributedInfo={"rank": 5, "world_size": 8})
    (run,) = scan({"": tmp_path}).runs
    assert (run.workers[0].rank, run.workers[0].rank_source) == (5, "distributedInfo")


@pytest.mark.parametrize("content", [[], {"a": 1}, "text", {"schemaVersion": 1}], ids=lambda content: str(content))
def test_other_json_files_are_left_alone(tmp_path: Path, content: object) -> None:
    (tmp_path / "config.json").write_text(json.dumps(content))
    assert scan({"": tmp_path}) == Scan()


def test_a_trace_of_another_program_is_listed(tmp_path: Path) -> None:
    (tmp_path / "x").mkdir()
    (tmp_path / "x" / "profile.json").write_text('{"displayTimeUnit": "ms", "traceEvents": []}')
    found = scan({"": tmp_path})
    assert found.runs == ()
    assert [(item.path, "another program" in item.reason) for item in found.skipped] == [("x/profile.json", True)]


def test_a_named_trace_is_taken_whatever_it_holds(tmp_path: Path) -> None:
    (tmp_path / "host1_42.pt.trace.json").write_text("[")
    assert len(scan({"": tmp_path}).runs) == 1


def test_a_head_without_end_is_not_read_for_ever(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_bytes(b'{"schemaVersion": 1, "x": "' + b"x" * (3 * MAX_HEAD))
    assert kineto_head(str(path), 0, 0) is None
    broken = tmp_path / "b.json.gz"
    broken.write_bytes(b"\x1f\x8b nothing")
    assert kineto_head(str(broken), 0, 0) is None
