"""Operator: the aggregates and call stacks are those of operator_details.csv; rows rebuilt from the trace are its rows."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

import pytest

from tests.oracle.operator_tree import operators
from tests.oracle.raw import REAL_RUN, Row, every_result, raw, us
from tests.oracle.shown import rows_of, show, show_extra, span
from tests.oracle.timelines import timeline

FOLDERS = every_result("operator_details.csv", "trace_view.json")
TIMES = {
    "device_self_ns": "Device Self Duration(us)",
    "device_total_ns": "Device Total Duration(us)",
    "host_self_ns": "Host Self Duration(us)",
    "host_total_ns": "Host Total Duration(us)",
}
AICORE = {
    "device_self_aicore_ns": "Device Self Duration With AICore(us)",
    "device_total_aicore_ns": "Device Total Duration With AICore(us)",
}
#: A row of the file, and whether the trace has it within a call of the same operator: see operator_tree.Operator.
Call = tuple[Row, int]


def _sum(calls: list[Call], header: str, inner: int = 1) -> int:
    """A total time counts only the calls that are in no call of the same group."""
    return sum(us(row[header]) or 0 for row, nested in calls if "Self" in header or nested < inner)


def _sums(calls: list[Call], inner: int = 1) -> tuple[int, ...]:
    return (len(calls), *(_sum(calls, header, inner) for header in TIMES.values()))


def _groups(folder: Path, *headers: str) -> dict[tuple[str | None, ...], list[Call]]:
    groups: dict[tuple[str | None, ...], list[Call]] = defaultdict(list)
    for row, operator in zip(raw(folder).csv("operator_details.csv"), operators(raw(folder))):
        groups[tuple(row[header] or None for header in headers)].append((row, operator.nested))
    return groups


@pytest.mark.parametrize("folder", FOLDERS)
def test_aggregates(folder: Path) -> None:
    shown, (calls,) = show("operator", folder), _groups(folder).values()
    assert (shown.data["calls"], *(shown.data[key] for key in TIMES)) == _sums(calls)
    assert shown.data["has_stacks"] == any(row["Call Stack"] for row, _ in calls)
    assert shown.data["has_shapes"] == any(row["Input Shapes"] for row, _ in calls)
    assert shown.data["source"] == "operator_details.csv"
    for table, keys in (("by_name", {"name": "Name"}), ("by_shape", {"name": "Name", "input_shapes": "Input Shapes"})):
        rows = {tuple(row[key] for key in keys): row for row in shown.tables[table]}
        groups = _groups(folder, *keys.values())
        assert len(shown.tables[table]) == len(groups) and rows.keys() == groups.keys()
        for key, own in groups.items():
            assert (rows[key]["calls"], *(rows[key][name] for name in TIMES)) == _sums(own, len(keys))


@pytest.mark.parametrize("folder", FOLDERS)
def test_aicore_shares_and_call_stacks(folder: Path) -> None:
    groups = _groups(folder, "Name")
    for row in show("operator", folder).tables["by_name"]:
        calls = groups[(row["name"],)]
        for side in ("Self", "Total"):
            own, part = (_sum(calls, f"Device {side} Duration{core}(us)") for core in ("", " With AICore"))
            assert row[f"aicore_{side.lower()}_share"] == (pytest.approx(part / own) if own else None)
        assert row["stacks"] == len({call["Call Stack"] for call, _ in calls if call["Call Stack"]})
        stacks: dict[tuple[str, ...], list[Call]] = defaultdict(list)
        for call, _ in calls:
            stacks[_frames(call["Call Stack"])].append((call, 0))
        shown = show_extra("operator", "stacks", folder, name=row["name"] or "")
        found = {_frames(one["call_stack"] or ""): (one["calls"], *(one[key] for key in TIMES)) for one in shown}
        assert found == {stack: _sums(own) for stack, own in stacks.items()}


def _frames(stack: str) -> tuple[str, ...]:
    return tuple(line.rstrip(";") for line in stack.splitlines())


@pytest.mark.parametrize("folder", FOLDERS)
def test_rows_rebuilt_from_the_trace_equal_the_file(folder: Path) -> None:
    """To the ns. Rows of the file name no parent: nesting follows from their host times."""
    rebuilt, rows = rows_of(timeline(folder).operators()), raw(folder).csv("operator_details.csv")
    assert len(rebuilt) == len(rows) > 0
    for found, row in zip(rebuilt, rows):
        assert found["name"] == row["Name"]
        for key, header in (TIMES | AICORE).items():
            # the file adds floats: 425.0685 us reads 425.06850000000003, which rounds the other way
            slack = 1 if folder.parent == REAL_RUN and key.startswith("device") else 0
            assert abs(found[key] - (us(row[header]) or 0)) <= slack, (row["Name"], key)
        for key, header in (("input_shapes", "Input Shapes"), ("call_stack", "Call Stack")):
            assert (found[key] or "").splitlines() == row[header].splitlines()
    nested = [one.nested for one in operators(raw(folder))]
    assert span(folder).tables["operators"].ints("nested").tolist() == nested
    assert timeline(folder).operators().ints("nested").tolist() == nested


@pytest.mark.parametrize("folder", FOLDERS)
def test_operators_of_a_range(folder: Path) -> None:
    """Those of the trace whose call overlaps the range."""
    calls = [
        event for event in raw(folder).slices if event.get("cat") == "cpu_op" and "ProfilerStep#" not in event["name"]
    ]
    times = sorted((us(event["ts"]) or 0, us(event["dur"]) or 0, event["name"]) for event in calls)
    for start, end in ((times[len(times) // 3][0] + 1, times[2 * len(times) // 3][0] + 1), (1, 2)):
        own = [one for one in times if one[0] < end and (one[0] + one[1] > start or one[0] >= start)]
        found = rows_of(timeline(folder).operators_between(start, end))
        assert sorted((row["host_total_ns"], row["name"]) for row in found) == sorted(one[1:] for one in own)
