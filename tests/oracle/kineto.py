"""GPU traces of Kineto: events by the standard library alone, tables by the product. Both once in a test run."""

from __future__ import annotations

import gzip
import json
from decimal import Decimal
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from tb_npu_plugin.problems import ProblemLog
from tb_npu_plugin.tables import Table
from tests.oracle.raw import FULL
from tests.support.fixtures import FIXTURES
from tests.support.real_data import REAL_DATA
from tests.support.span import tables_of_trace

Event = dict[str, Any]
WRITTEN = sorted(path for path in (FIXTURES / "results").glob("kineto_*/*") if path.is_file())
RECORDED = sorted((FIXTURES / "recorded").glob("kineto_*/*"))
REAL = sorted((REAL_DATA / "gpu_kineto").glob("*/*.json.gz"))
#: Traces of training, whose steps end where the next ones begin. Iterations of serving: tests/unit/readers/test_iterations.py.
TRAINING = [path for path in REAL if path.parent.name != "sglang_decode"]


def params(*paths: Path) -> list[Any]:
    """Test parameters; large recordings are `full`."""
    names = {path: f"{path.parent.name}/{path.name[:10]}" for path in paths}
    return [pytest.param(path, id=name, marks=FULL if path in REAL else ()) for path, name in names.items()]


@cache
def events_of(path: Path) -> list[Event]:
    """All events; `start`, `end` and `ns` (the duration) in ns."""
    data = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    whole = json.loads(data, parse_float=Decimal)
    events: list[Event] = whole["traceEvents"]
    for event in events:
        event["start"] = int(Decimal(event["ts"]) * 1000) + whole.get("baseTimeNanoseconds", 0)
        event["ns"] = int(Decimal(event.get("dur", 0)) * 1000)
        event["end"] = event["start"] + event["ns"]
        event.setdefault("args", {})
    return events


def slices(events: list[Event], *categories: str) -> list[Event]:
    """Complete events of some categories by start, the enclosing first."""
    found = [event for event in events if event["ph"] == "X" and event.get("cat") in categories]
    return sorted(found, key=lambda event: (event["start"], -event["ns"]))


@cache
def tables_of(path: Path) -> dict[str, Table]:
    """Tables of the trace, read without a warning."""
    log = ProblemLog()
    tables = tables_of_trace(path, log)
    assert not [problem for problem in log.list() if problem.severity != "info"]
    return tables
