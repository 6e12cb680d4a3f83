"""Damaged GPU traces, exports of msprof and clusters: the rest opens, and losses are reported."""

from __future__ import annotations

import gzip
import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from tb_npu_plugin.discovery.scan import scan
from tests.support.fixtures import FIXTURES
from tests.support.reading import read_all

TRACE = next((FIXTURES / "results" / "kineto_gpu").glob("*.json")).read_bytes()


def without(*keys: str) -> bytes:
    """The trace without these keys of its events and their args."""
    content = json.loads(TRACE)
    for event in content["traceEvents"]:
        for key in keys:
            event.pop(key, None)
            event.get("args", {}).pop(key, None)
    return json.dumps(content).encode()


def with_args(value: Any) -> bytes:
    """The trace with this value for each of its args."""
    content = json.loads(TRACE)
    for event in content["traceEvents"]:
        event["args"] = dict.fromkeys(event.get("args", {}), value)
    return json.dumps(content).encode()


#: What no whole event is left of, and the rest.
LOST = {"empty": b"", "cut in the head": TRACE[:200], "a list": b"[]", "text": b"hello"}
DAMAGED = {
    "cut": TRACE[:20_000],
    **{" ".join(keys): without(*keys) for keys in (("args",), ("External id", "correlation"), ("dur",), ("cat",))},
    "name": without("name"),
    **{f"args are {value}"[:20]: with_args(value) for value in ("x", None, [[1, [2]]], 10**30, -1)},
}


@pytest.mark.parametrize("name", [*LOST, *DAMAGED])
@pytest.mark.parametrize("pack", [False, pytest.param(True, marks=pytest.mark.full)])
def test_a_damaged_trace(tmp_path: Path, name: str, pack: bool) -> None:
    content = {**LOST, **DAMAGED}[name]
    (tmp_path / "log").mkdir()
    path = tmp_path / "log" / ("host_1.pt.trace.json" + ".gz" * pack)
    path.write_bytes(gzip.compress(content) if pack else content)
    _, trace = read_all(tmp_path / "log", tmp_path / "out")
    if name in LOST:
        assert any(problem["severity"] == "error" for problem in trace["problems"])
    else:
        assert trace["timeline"] or trace["problems"]
    if name == "cut":
        assert trace["timeline"] and 0 < trace["tables"]["kernels"]["rows"] < 24


@pytest.mark.parametrize("fixture", ["results/msprof", "recorded/cluster_text", "recorded/cluster_db"])
@pytest.mark.parametrize("size", [0.3, *(pytest.param(size, marks=pytest.mark.full) for size in (0, 0.9))])
def test_each_file_cut(tmp_path: Path, fixture: str, size: float) -> None:
    source = FIXTURES / fixture
    for number, path in enumerate(sorted(path for path in source.rglob("*") if path.is_file())):
        logdir = tmp_path / str(number)
        shutil.copytree(source, logdir)
        (logdir / path.relative_to(source)).write_bytes(path.read_bytes()[: int(path.stat().st_size * size)])
        found = scan({"": logdir})
        assert found.runs or found.skipped, path.name
        read_all(logdir, tmp_path / f"out{number}")
