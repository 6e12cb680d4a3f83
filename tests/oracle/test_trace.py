"""Trace: every event of the file, its time exact to the nanosecond."""

from __future__ import annotations

import gzip
import io
import json
from decimal import Decimal
from pathlib import Path

import pytest

from tb_npu_plugin.problems import ProblemLog
from tb_npu_plugin.scan import ScanSink, scan_trace, source
from tb_npu_plugin.tables import NULL_INT
from tests.oracle.raw import every_result, raw, us
from tests.support.fixtures import FIXTURES
from tests.support.scanners import both_scanners

pytestmark = both_scanners

FOLDERS = every_result("trace_view.json")
NAMES = ("trace_view.json*", "*.pt.trace.json*", "baseline.json", "msprof_*.json")
FILES = [path for name in NAMES for path in sorted(FIXTURES.rglob(name)) if "demo" not in path.parts]


@pytest.mark.parametrize("folder", FOLDERS)
def test_scanned_events_equal_the_file(folder: Path) -> None:
    expected, path = raw(folder).events, raw(folder).path("trace_view.json")
    log, unpacked = ProblemLog(), io.BytesIO()
    found = scan_trace(path, log, lambda _: None, ScanSink(unpacked))
    assert (log.list(), found.complete, len(found)) == ([], True, len(expected))
    assert [chr(phase) for phase in found.phase.tolist()] == [event["ph"] for event in expected]
    for key, codes, texts in (
        ("name", found.name, found.names),
        ("cat", found.category, found.categories),
        ("pid", found.pid, found.pids),
        ("tid", found.tid, found.tids),
        ("id", found.flow, found.flows),
    ):
        shown = [texts[code] if code >= 0 else None for code in codes.tolist()]
        assert shown == [str(event[key]) if key in event else None for event in expected], key
    for key, values in (("ts", found.ts.tolist()), ("dur", found.dur.tolist())):
        assert values == [NULL_INT if key not in event else us(event[key]) for event in expected], key
    content = unpacked.getvalue() if path.suffix == ".gz" else path.read_bytes()
    for event, offset, length in zip(expected, found.args_offset.tolist(), found.args_length.tolist()):
        args = None if offset < 0 else json.loads(content[offset : offset + length], parse_float=Decimal)
        assert args == event.get("args")


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(FIXTURES)))
def test_every_element_of_the_list_is_counted(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(source, "CHUNK", 5_000)
    log = ProblemLog()
    scan_trace(path, log, lambda _: None)
    try:
        with (gzip.open if path.suffix == ".gz" else open)(path, "rt", encoding="utf-8") as stream:
            content = json.load(stream)
    except ValueError:
        pytest.skip("json cannot read it")
    (found,) = log.seen.of(path.name).values()
    assert found.seen == len(content["traceEvents"] if isinstance(content, dict) else content)
