"""Operator: the aggregates and call stacks are those of operator_details.csv."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

import pytest

from tests.oracle.figures import us
from tests.oracle.raw import REAL_RUN, Row, every_result, raw
from tests.oracle.shown import show, show_extra

FOLDERS = every_result("operator_details.csv")
TIMES = {
    "device_self_ns": "Device Self Duration(us)", "device_total_ns": "Device Total Duration(us)",
    "host_self_ns": "Host Self Duration(us)", "host_total_ns": "Host Total Duration(us)",
}  # fmt: skip


def _sums(rows: list[Row]) -> tuple[int, ...]:
    return (len(rows), *(sum(us(row[header]) or 0 for row in rows) for header in TIMES.values()))


def _groups(folder: Path, *headers: str) -> dict[tuple[str | None, ...], list[Row]]:
    groups: dict[tuple[str | None, ...], list[Row]] = defaultdict(list)
    for row in raw(folder).csv("operator_details.csv"):
        groups[tuple(row[header] or None for header in headers)].append(row)
    return groups


@pytest.mark.parametrize("folder", FOLDERS)
def test_sums_of_all_calls(folder: Path) -> None:
    rows, data = raw(folder).csv("operator_details.csv"), show("operator", folder).data
    assert (data["calls"], *(data[key] for key in TIMES)) == _sums(rows)
    assert data["has_stacks"] == any(row["Call Stack"] for row in rows)
    assert data["has_shapes"] == any(row["Input Shapes"] for row in rows)
    assert data["source"] == "operator_details.csv"


def test_real_calls_are_859() -> None:
    folder = REAL_RUN / "rank0_ascend_pt"
    assert len(raw(folder).csv("operator_details.csv")) == 859
    assert show("operator", folder).data["calls"] == 859


@pytest.mark.parametrize("folder", FOLDERS)
@pytest.mark.parametrize(
    ("table", "headers", "keys"),
    [("by_name", ("Name",), ("name",)), ("by_shape", ("Name", "Input Shapes"), ("name", "input_shapes"))],
)
def test_aggregates(folder: Path, table: str, headers: tuple[str, ...], keys: tuple[str, ...]) -> None:
    expected = {key: _sums(rows) for key, rows in _groups(folder, *headers).items()}
    shown = show("operator", folder).tables[table]
    assert {tuple(row[key] for key in keys): (row["calls"], *(row[key] for key in TIMES)) for row in shown} == expected
    assert len(shown) == len(expected)


@pytest.mark.parametrize("folder", FOLDERS)
def test_aicore_shares(folder: Path) -> None:
    for row in show("operator", folder).tables["by_name"]:
        rows = _groups(folder, "Name")[(row["name"],)]
        for side in ("self", "total"):
            title = f"Device {side.title()} Duration"
            whole = sum(us(r[f"{title}(us)"]) or 0 for r in rows)
            part = sum(us(r[f"{title} With AICore(us)"]) or 0 for r in rows)
            share = row[f"aicore_{side}_share"]
            assert share == (pytest.approx(part / whole) if whole else None), (row["name"], side)


def _frames(stack: str) -> tuple[str, ...]:
    return tuple(line.rstrip(";") for line in stack.splitlines())


@pytest.mark.parametrize("folder", FOLDERS)
def test_call_stacks_split_an_operator(folder: Path) -> None:
    for (name,), rows in _groups(folder, "Name").items():
        stacks: dict[tuple[str, ...], list[Row]] = defaultdict(list)
        for row in rows:
            stacks[_frames(row["Call Stack"])].append(row)
        shown = show_extra("operator", "stacks", folder, name=name or "")
        assert {_frames(row["call_stack"] or ""): (row["calls"], *(row[key] for key in TIMES)) for row in shown} == {
            stack: _sums(calls) for stack, calls in stacks.items()
        }


@pytest.mark.parametrize("folder", FOLDERS)
def test_number_of_call_stacks(folder: Path) -> None:
    expected = {
        name: len({row["Call Stack"] for row in rows if row["Call Stack"]})
        for (name,), rows in _groups(folder, "Name").items()
    }
    assert {row["name"]: row["stacks"] for row in show("operator", folder).tables["by_name"]} == expected
