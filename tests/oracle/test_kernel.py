"""Kernel: every row, the statistic by name and the types are those of the files."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

import pytest

from tests.oracle.figures import mean, us
from tests.oracle.raw import COMMUNICATION, REAL_RUN, every_result, ns, raw
from tests.oracle.shown import show

FOLDERS = every_result("kernel_details.csv")


@pytest.mark.parametrize("rank", [0, 1])
def test_real_kernels_are_191(rank: int) -> None:
    folder = REAL_RUN / f"rank{rank}_ascend_pt"
    assert len(raw(folder).kernels) == 191
    shown = show("kernel", folder)
    assert (shown.data["kernels"], len(shown.tables["all"]), shown.data["communication_calls"]) == (191, 191, 4)


@pytest.mark.parametrize("folder", FOLDERS)
def test_all_rows_in_order_and_exact(folder: Path) -> None:
    rows, shown = raw(folder).kernels, show("kernel", folder)
    assert [(row["name"], row["start_ns"], row["dur_ns"], row["wait_ns"]) for row in shown.tables["all"]] == [
        (r["Name"], ns(r["Start Time(us)"]), us(r["Duration(us)"]), us(r["Wait Time(us)"])) for r in rows
    ]
    assert shown.data["communication_calls"] == len(raw(folder).communicating)
    assert shown.data["computing_ns"] == sum(us(row["Duration(us)"]) or 0 for row in raw(folder).computing)
    assert shown.data["communication_ns"] == sum(us(row["Duration(us)"]) or 0 for row in raw(folder).communicating)


@pytest.mark.parametrize("folder", FOLDERS)
def test_shapes_lose_their_quotes_and_na_is_unknown(folder: Path) -> None:
    for row, shown in zip(raw(folder).kernels, show("kernel", folder).tables["all"]):
        if "Input Shapes" in row:
            text = row["Input Shapes"]
            assert shown["input_shapes"] == (None if text == "N/A" else text.removeprefix('"').removesuffix('"'))
            assert shown["task_id"] == (None if row["Task ID"] == "N/A" else int(row["Task ID"]))
        assert shown["core"] == (None if row["Accelerator Core"] == "N/A" else row["Accelerator Core"])


@pytest.mark.parametrize("folder", FOLDERS)
def test_statistic_groups_by_name(folder: Path) -> None:
    groups: dict[tuple[str, str], list[int]] = defaultdict(list)
    for row in raw(folder).kernels:
        groups[row["Name"], row["Accelerator Core"]].append(us(row["Duration(us)"]) or 0)
    expected = {
        (name, None if core == "N/A" else core): (len(d), sum(d), min(d), max(d), mean(sum(d), len(d)))
        for (name, core), d in groups.items()
    }
    shown = show("kernel", folder).tables["statistic"]
    keys = ("calls", "total_ns", "min_ns", "max_ns", "avg_ns")
    assert {(row["name"], row["core"]): tuple(row[key] for key in keys) for row in shown} == expected
    assert len(shown) == len(expected)


@pytest.mark.parametrize("folder", FOLDERS)
def test_shares_are_of_computing(folder: Path) -> None:
    """One column had two denominators: rows of communication were shares of communication."""
    whole = sum(us(row["Duration(us)"]) or 0 for row in raw(folder).computing)
    for row in show("kernel", folder).tables["statistic"]:
        assert row["communication"] == (row["core"] in COMMUNICATION)
        assert row["share"] == (None if row["communication"] else pytest.approx(row["total_ns"] / whole))


@pytest.mark.parametrize("folder", FOLDERS)
def test_cores_sum_to_all_kernels_with_communication_apart(folder: Path) -> None:
    shown = show("kernel", folder)
    assert sum(core["calls"] for core in shown.data["cores"]) == len(raw(folder).kernels)
    for core in shown.data["cores"]:
        assert core["communication"] == (core["core"] in COMMUNICATION)
        rows = [row for row in raw(folder).kernels if row["Accelerator Core"] == (core["core"] or "N/A")]
        assert core["total_ns"] == sum(us(row["Duration(us)"]) or 0 for row in rows)


@pytest.mark.parametrize("folder", every_result("op_statistic.csv"))
def test_types_equal_op_statistic(folder: Path) -> None:
    shown = show("kernel", folder)
    assert shown.data["types_source"] == "op_statistic.csv"
    columns = {
        "total_ns": "Total Time(us)",
        "min_ns": "Min Time(us)",
        "avg_ns": "Avg Time(us)",
        "max_ns": "Max Time(us)",
    }
    expected = [
        (r["OP Type"], r["Core Type"], int(r["Count"]), float(r["Ratio(%)"]), *(us(r[h]) for h in columns.values()))
        for r in raw(folder).csv("op_statistic.csv")
    ]
    keys = ("type", "core", "calls", "ratio", *columns)
    assert [tuple(row[key] for key in keys) for row in shown.tables["types"]] == expected


@pytest.mark.parametrize("folder", FOLDERS)
def test_a_step_shows_its_own_kernels(folder: Path) -> None:
    rows = raw(folder).kernels
    steps = sorted({row["Step Id"] for row in rows}) if "Step Id" in rows[0] else []
    assert sorted(step for step in show("kernel", folder).data["steps"] if step is not None) == steps
    for step in steps:
        expected = [row["Name"] for row in rows if row["Step Id"] == step]
        assert [row["name"] for row in show("kernel", folder, step=step).tables["all"]] == expected


@pytest.mark.parametrize("folder", every_result("op_statistic.csv", "kernel_details.csv"))
def test_types_of_one_step_are_grouped_from_its_kernels(folder: Path) -> None:
    if "Step Id" not in raw(folder).kernels[0]:
        return  # without a schedule there is no step to choose; test_types_equal_op_statistic has the whole
    for step in {row["Step Id"] for row in raw(folder).kernels}:
        groups: dict[tuple[str, str], list[int]] = defaultdict(list)
        for row in raw(folder).computing:
            if row["Step Id"] == step:
                groups[row["Type"], row["Accelerator Core"]].append(us(row["Duration(us)"]) or 0)
        whole = sum(sum(durs) for durs in groups.values())
        shown = show("kernel", folder, step=step)
        assert shown.data["types_source"] == "kernel_details.csv"
        assert {(row["type"], row["core"]): (row["calls"], row["total_ns"]) for row in shown.tables["types"]} == {
            key: (len(durs), sum(durs)) for key, durs in groups.items()
        }
        assert sum(row["ratio"] for row in shown.tables["types"]) == pytest.approx(100)
        assert all(row["ratio"] == pytest.approx(100 * row["total_ns"] / whole) for row in shown.tables["types"])
