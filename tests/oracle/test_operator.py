"""Operator: the aggregates and call stacks are those of operator_details.csv."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

import pytest

from tests.oracle.figures import us
from tests.oracle.operator_tree import operators
from tests.oracle.raw import REAL_RUN, Row, every_result, raw
from tests.oracle.shown import show, show_extra

FOLDERS = every_result("operator_details.csv", "trace_view.json")
TIMES = {
    "device_self_ns": "Device Self Duration(us)",
    "device_total_ns": "Device Total Duration(us)",
    "host_self_ns": "Host Self Duration(us)",
    "host_total_ns": "Host Total Duration(us)",
}


#: A row of the file, and whether the trace has it within a call of the same operator: see operator_tree.Operator.
Call = tuple[Row, int]


def _sums(calls: list[Call], inner: int = 1) -> tuple[int, ...]:
    """Total times count the calls alone that are in no call of the same group."""
    return (
        len(calls),
        *(
            sum(us(row[header]) or 0 for row, nested in calls if "Self" in header or nested < inner)
            for header in TIMES.values()
        ),
    )


def _calls(folder: Path) -> list[Call]:
    rows = raw(folder).csv("operator_details.csv")
    return list(zip(rows, [one.nested for one in operators(raw(folder))]))


def _groups(folder: Path, *headers: str) -> dict[tuple[str | None, ...], list[Call]]:
    groups: dict[tuple[str | None, ...], list[Call]] = defaultdict(list)
    for row, nested in _calls(folder):
        groups[tuple(row[header] or None for header in headers)].append((row, nested))
    return groups


def test_an_operator_that_calls_itself_counts_once() -> None:
    """Four collectives, each a call within a call: they took 105.99 ms, not twice that."""
    folder = REAL_RUN / "rank0_ascend_pt"
    kernels = [
        us(row["Duration(us)"]) or 0
        for row in raw(folder).kernels
        if row["Accelerator Core"] in ("HCCL", "COMMUNICATION")
    ]
    row = next(row for row in show("operator", folder).tables["by_name"] if row["name"] == "HcclAllreduce")
    assert (row["calls"], len(kernels)) == (8, 4)
    assert row["device_total_ns"] == pytest.approx(sum(kernels), abs=2)


@pytest.mark.parametrize("folder", FOLDERS)
def test_sums_of_all_calls(folder: Path) -> None:
    rows, data = raw(folder).csv("operator_details.csv"), show("operator", folder).data
    assert (data["calls"], *(data[key] for key in TIMES)) == _sums(_calls(folder))
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
    expected = {key: _sums(calls, len(keys)) for key, calls in _groups(folder, *headers).items()}
    shown = show("operator", folder).tables[table]
    assert {tuple(row[key] for key in keys): (row["calls"], *(row[key] for key in TIMES)) for row in shown} == expected
    assert len(shown) == len(expected)


@pytest.mark.parametrize("folder", FOLDERS)
def test_aicore_shares(folder: Path) -> None:
    for row in show("operator", folder).tables["by_name"]:
        calls = _groups(folder, "Name")[(row["name"],)]
        for side in ("self", "total"):
            title = f"Device {side.title()} Duration"
            rows = [row for row, nested in calls if side == "self" or not nested]
            whole = sum(us(r[f"{title}(us)"]) or 0 for r in rows)
            part = sum(us(r[f"{title} With AICore(us)"]) or 0 for r in rows)
            share = row[f"aicore_{side}_share"]
            assert share == (pytest.approx(part / whole) if whole else None), (row["name"], side)


def _frames(stack: str) -> tuple[str, ...]:
    return tuple(line.rstrip(";") for line in stack.splitlines())


@pytest.mark.parametrize("folder", FOLDERS)
def test_call_stacks_split_an_operator(folder: Path) -> None:
    for (name,), calls in _groups(folder, "Name").items():
        stacks: dict[tuple[str, ...], list[Call]] = defaultdict(list)
        for row, _ in calls:
            stacks[_frames(row["Call Stack"])].append((row, 0))
        shown = show_extra("operator", "stacks", folder, name=name or "")
        assert {_frames(row["call_stack"] or ""): (row["calls"], *(row[key] for key in TIMES)) for row in shown} == {
            stack: _sums(calls) for stack, calls in stacks.items()
        }


@pytest.mark.parametrize("folder", FOLDERS)
def test_number_of_call_stacks(folder: Path) -> None:
    expected = {
        name: len({row["Call Stack"] for row, _ in calls if row["Call Stack"]})
        for (name,), calls in _groups(folder, "Name").items()
    }
    assert {row["name"]: row["stacks"] for row in show("operator", folder).tables["by_name"]} == expected
