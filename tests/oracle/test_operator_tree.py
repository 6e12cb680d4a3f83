"""The operators rebuilt from the trace are the rows of operator_details.csv (docs/facts/ascend_pt.md, Invariants), to
the ns."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.oracle.figures import us
from tests.oracle.operator_tree import operators
from tests.oracle.raw import REAL_RUN, every_result, raw
from tests.oracle.shown import rows_of, span
from tests.oracle.timelines import timeline

TIMES = {
    "host_self_ns": "Host Self Duration(us)",
    "host_total_ns": "Host Total Duration(us)",
    "device_self_ns": "Device Self Duration(us)",
    "device_total_ns": "Device Total Duration(us)",
    "device_self_aicore_ns": "Device Self Duration With AICore(us)",
    "device_total_aicore_ns": "Device Total Duration With AICore(us)",
}


@pytest.mark.parametrize("folder", every_result("operator_details.csv", "trace_view.json"))
def test_rebuilt_rows_equal_the_file(folder: Path) -> None:
    rebuilt, rows = rows_of(timeline(folder).operators()), raw(folder).csv("operator_details.csv")
    assert len(rebuilt) == len(rows) > 0
    for found, row in zip(rebuilt, rows):
        assert found["name"] == row["Name"]
        for key, header in TIMES.items():
            # the file adds floats: 425.0685 us reads 425.06850000000003, which rounds the other way
            slack = 1 if folder.parent == REAL_RUN and key.startswith("device") else 0
            assert abs(found[key] - (us(row[header]) or 0)) <= slack, (row["Name"], key)
        for key, header in (("input_shapes", "Input Shapes"), ("call_stack", "Call Stack")):
            assert (found[key] or "").splitlines() == row[header].splitlines()


@pytest.mark.parametrize("folder", every_result("operator_details.csv", "trace_view.json"))
def test_nesting_of_the_file_is_that_of_the_trace(folder: Path) -> None:
    """Rows of the file name no parent: it follows from their host times."""
    wanted = [one.nested for one in operators(raw(folder))]
    assert span(folder).tables["operators"].ints("nested").tolist() == wanted
    assert timeline(folder).operators().ints("nested").tolist() == wanted
