"""Trace: every event of the file, its time exact to the nanosecond."""

from __future__ import annotations

import io
import json
from decimal import Decimal
from pathlib import Path

import pytest

from tb_npu_plugin.problems import ProblemLog
from tb_npu_plugin.scan import ScanSink, scan_trace
from tb_npu_plugin.tables import NULL_INT
from tests.oracle.figures import us
from tests.oracle.raw import every_result, raw
from tests.support.scanners import both_scanners

pytestmark = both_scanners

FOLDERS = every_result("trace_view.json")


@pytest.mark.parametrize("folder", FOLDERS)
def test_scanned_events_equal_the_file(folder: Path) -> None:
    expected = raw(folder).events
    log = ProblemLog()
    found = scan_trace(raw(folder).path("trace_view.json"), log, lambda _: None)
    assert (log.list(), found.complete, len(found)) == ([], True, len(expected))
    texts = [
        (
            chr(phase),
            found.names[name],
            found.categories[category] if category >= 0 else None,
            found.pids[pid],
            found.tids[tid],
        )
        for phase, name, category, pid, tid in zip(
            found.phase.tolist(), found.name.tolist(), found.category.tolist(), found.pid.tolist(), found.tid.tolist()
        )
    ]
    assert texts == [(e["ph"], e["name"], e.get("cat"), str(e["pid"]), str(e["tid"])) for e in expected]
    for key, values in (("ts", found.ts.tolist()), ("dur", found.dur.tolist())):
        assert values == [NULL_INT if key not in e else us(e[key]) for e in expected], key


@pytest.mark.parametrize("folder", FOLDERS)
def test_flow_ids_keep_all_digits(folder: Path) -> None:
    found = scan_trace(raw(folder).path("trace_view.json"), ProblemLog(), lambda _: None)
    flows = [found.flows[flow] if flow >= 0 else None for flow in found.flow.tolist()]
    assert flows == [str(e["id"]) if "id" in e else None for e in raw(folder).events]


@pytest.mark.parametrize("folder", FOLDERS)
def test_args_are_where_the_scan_says(folder: Path) -> None:
    path = raw(folder).path("trace_view.json")
    unpacked = io.BytesIO()
    found = scan_trace(path, ProblemLog(), lambda _: None, ScanSink(unpacked))
    content = unpacked.getvalue() if path.suffix == ".gz" else path.read_bytes()
    for event, offset, length in zip(raw(folder).events, found.args_offset.tolist(), found.args_length.tolist()):
        args = None if offset < 0 else json.loads(content[offset : offset + length], parse_float=Decimal)
        assert args == event.get("args")
