"""Strips and clocks of recorded ranks against the profiler's own figures (docs/facts/analysis.md)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tb_npu_plugin.analysis.run.communication import RunCommunication
from tests.http.conftest import serving
from tests.support.real_data import recording
from tests.support.span import found_spans
from tests.support.trace import decode
from tests.unit.discovery.test_watch import until

#: Computing, overlapped, exposed communication and free of each rank from step_trace_time.csv or STEP_TRACE_TIME, us.
EXPECTED = {
    "ascend_pt_text_level1": {
        "parts": [(8873.756, 4028.675, 101963.203, 25744.050), (8878.295, 4016.239, 96359.047, 26675.274)],
        "offset": -8136,
    },
    "ascend_pt_db_level1": {
        "parts": [(8903.431, 4036.153, 98071.947, 25258.144), (8915.634, 4034.140, 94556.050, 25840.499)],
        "offset": 14516,
    },
}


@pytest.mark.parametrize("name", EXPECTED)
def test_strips_sum_to_the_recorded_step_and_clocks_agree(name: str, tmp_path: Path) -> None:
    logdir = recording(name)
    with serving(tmp_path, str(logdir)) as browser:
        first, second = browser.spans()
        (run,) = browser.json("/api/catalog")["runs"]
        query = {"run": run["id"], "span": first}

        def found() -> Any:
            view = browser.view("trace_ranks", **query)
            return all(line["is_traced"] for line in view["data"]["lines"]) and len(view["data"]["lines"]) == 2 and view

        assert until(lambda: bool(found()))
        view = found()
        sources = [{"span": span, "zero": view["base_ns"]} for span in (first, second)]
        response = browser.timeline("strips", sources, t0=-(10**9), t1=10**9, bins=1)
    header, columns = decode(response.data)
    for span, expected in zip((first, second), EXPECTED[name]["parts"]):  # type: ignore[call-overload]
        part = dict(zip(header["parts"], (columns[span] * header["unit"] / 1000).tolist()))
        shown = part["computing"] + part["overlapped"], part["overlapped"], part["waiting"] + part["communication"]
        assert (*shown, part["free"]) == pytest.approx(expected, abs=0.03)
    assert view["data"]["lines"][1]["clock"]["offset"] == EXPECTED[name]["offset"]


@pytest.mark.parametrize("name", EXPECTED)
def test_clocks_of_tables_alone_agree_with_those_of_the_traces(name: str) -> None:
    clock = RunCommunication(found_spans(recording(name))).clocks[1]
    assert abs(clock.offset - EXPECTED[name]["offset"]) <= 10  # type: ignore[operator]
