"""Kernel and Overview: rows, the statistic by name, types and step budgets are those of the files, to the digit."""

from __future__ import annotations

from collections import Counter, defaultdict
from pathlib import Path

import pytest

from tb_npu_plugin.errors import BadRequest
from tests.oracle.raw import COMMUNICATION, Row, every_result, folded, mean, ns, raw, us
from tests.oracle.shown import show, show_extra

FOLDERS = every_result("kernel_details.csv")


def _known(cell: str) -> str | None:
    return None if cell == "N/A" else cell.removeprefix('"').removesuffix('"')


def _total(rows: list[Row]) -> int:
    return sum(us(row["Duration(us)"]) or 0 for row in rows)


def _groups(rows: list[Row], header: str) -> dict[tuple[str | None, str | None], list[int]]:
    groups: dict[tuple[str | None, str | None], list[int]] = defaultdict(list)
    for row in rows:
        groups[_known(row[header]), _known(row["Accelerator Core"])].append(us(row["Duration(us)"]) or 0)
    return groups


@pytest.mark.parametrize("folder", FOLDERS)
def test_rows_and_their_sums(folder: Path) -> None:
    r, rows, shown = raw(folder), raw(folder).kernels, show("kernel", folder)
    assert [
        (one["name"], one["start_ns"], one["dur_ns"], one["wait_ns"], one["core"]) for one in shown.tables["all"]
    ] == [
        (
            row["Name"],
            ns(row["Start Time(us)"]),
            us(row["Duration(us)"]),
            us(row["Wait Time(us)"]),
            _known(row["Accelerator Core"]),
        )
        for row in rows
    ]
    if "Input Shapes" in rows[0]:
        found = [(one["input_shapes"], one["task_id"]) for one in shown.tables["all"]]
        ids = [_known(row["Task ID"]) for row in rows]
        assert found == [(_known(row["Input Shapes"]), id_ and int(id_)) for row, id_ in zip(rows, ids)]
    assert shown.data["communication_calls"] == len(r.communicating)
    assert (shown.data["computing_ns"], shown.data["communication_ns"]) == (
        _total(r.computing),
        _total(r.communicating),
    )
    cores = {core["core"]: core for core in shown.data["cores"]}
    assert len(cores) == len(shown.data["cores"]) and set(cores) == {_known(row["Accelerator Core"]) for row in rows}
    for name, core in cores.items():
        own = [row for row in rows if _known(row["Accelerator Core"]) == name]
        assert (core["communication"], core["calls"], core["total_ns"]) == (
            name in COMMUNICATION,
            len(own),
            _total(own),
        )


@pytest.mark.parametrize("folder", FOLDERS)
def test_statistic_groups_by_name(folder: Path) -> None:
    """Shares are of computing; communication has none. Calls of a collective and operators of graphs have one name."""
    rows = [{**row, "Name": " ".join(folded(row["Name"]))} for row in raw(folder).kernels]
    found = show("kernel", folder).tables["statistic"]
    shown = {(" ".join(filter(None, (row["name"], row.get("group")))), row["core"]): row for row in found}
    groups, whole = _groups(rows, "Name"), _total(raw(folder).computing)
    assert shown.keys() == groups.keys() and len(shown) == len(found)
    for key, durs in groups.items():
        figures = [shown[key][column] for column in ("calls", "total_ns", "min_ns", "max_ns", "avg_ns")]
        assert figures == [len(durs), sum(durs), min(durs), max(durs), mean(sum(durs), len(durs))]
        share = None if key[1] in COMMUNICATION else pytest.approx(sum(durs) / whole)
        assert (shown[key]["communication"], shown[key]["share"]) == (share is None, share)


@pytest.mark.parametrize("folder", every_result("op_statistic.csv"))
def test_types_equal_op_statistic(folder: Path) -> None:
    shown = show("kernel", folder)
    assert shown.data["types_source"] == "op_statistic.csv"
    headers = ("Total Time(us)", "Min Time(us)", "Avg Time(us)", "Max Time(us)")
    keys = ("type", "core", "calls", "ratio", "total_ns", "min_ns", "avg_ns", "max_ns")
    assert [tuple(row[key] for key in keys) for row in shown.tables["types"]] == [
        (row["OP Type"], row["Core Type"], int(row["Count"]), float(row["Ratio(%)"]), *(us(row[h]) for h in headers))
        for row in raw(folder).csv("op_statistic.csv")
    ]


@pytest.mark.parametrize("folder", FOLDERS)
def test_a_step_shows_its_kernels_and_groups_their_types(folder: Path) -> None:
    steps = {row["Step Id"] for row in raw(folder).kernels if "Step Id" in row}
    assert {step for step in show("kernel", folder).data["steps"] if step is not None} == steps
    for step in steps:
        rows = [row for row in raw(folder).kernels if row["Step Id"] == step]
        shown = show("kernel", folder, step=step)
        assert [row["name"] for row in shown.tables["all"]] == [row["Name"] for row in rows]
        computing = [row for row in rows if row["Accelerator Core"] not in COMMUNICATION]
        if "Type" in rows[0]:
            assert shown.data["types_source"] == "kernel_details.csv"
            assert {(row["type"], row["core"]): (row["calls"], row["total_ns"]) for row in shown.tables["types"]} == {
                key: (len(durs), sum(durs)) for key, durs in _groups(computing, "Type").items()
            }
            shares = [100 * row["total_ns"] / _total(computing) for row in shown.tables["types"]]
            assert [row["ratio"] for row in shown.tables["types"]] == pytest.approx(shares)


HEADERS = {
    "computing": "Computing",
    "communication_not_overlapped": "Communication(Not Overlapped)",
    "overlapped": "Overlapped",
    "communication": "Communication",
    "free": "Free",
    "stage": "Stage",
    "bubble": "Bubble",
    "preparing": "Preparing",
}


@pytest.mark.parametrize("folder", every_result("step_trace_time.csv"))
def test_steps_equal_the_file(folder: Path) -> None:
    rows, steps = raw(folder).csv("step_trace_time.csv"), show("overview", folder).data["steps"]
    assert [step["step"] for step in steps] == [row["Step"] or None for row in rows]
    for key, header in HEADERS.items():
        assert [step[key] for step in steps] == [us(row.get(header)) for row in rows], key


@pytest.mark.parametrize("folder", every_result("operator_details.csv"))
def test_top_operators_come_first(folder: Path) -> None:
    totals: Counter[str] = Counter()
    for row in raw(folder).csv("operator_details.csv"):
        totals[row["Name"]] += us(row["Device Self Duration(us)"]) or 0
    best = [total for _, total in totals.most_common(10)]
    if best[0] > 0:  # a CPU-only capture has no device time to order by
        assert [row["device_self_ns"] for row in show("overview", folder).tables["operators"]] == best


@pytest.mark.parametrize("folder", FOLDERS)
def test_kernels_of_a_range(folder: Path) -> None:
    rows = sorted((ns(row["Start Time(us)"]), us(row["Duration(us)"]) or 0, row["Name"]) for row in raw(folder).kernels)
    first, last = rows[len(rows) // 3], rows[2 * len(rows) // 3]
    for start, end in ((first[0] + 1, last[0] + 1), (first[0], last[0]), (1, 2)):
        own = [one for one in rows if one[0] < end and (one[0] + one[1] > start or one[0] >= start)]
        shown = show("kernel", folder, within=f"{start},{end}")
        assert sorted((one["start_ns"], one["dur_ns"], one["name"]) for one in shown.tables["all"]) == own
        assert shown.data["kernels"] == sum(one["calls"] for one in shown.tables["statistic"]) == len(own)
        computing = sum(one["calls"] for one in shown.tables["types"])
        assert computing == len(own) - shown.data["communication_calls"]
        total = sum(one["total_ns"] for one in shown.tables["statistic"])
        assert total == sum(core["total_ns"] for core in shown.data["cores"]) == sum(one[1] for one in own)
        assert shown.data["roofline"] is None or not any(one["mfu"] for one in shown.data["roofline"]["steps"])
    for text in ("1", "2,1", "1,1", "a,b", "1,2,3", f"0,{2**63}"):
        with pytest.raises(BadRequest):
            show("kernel", folder, within=text)


@pytest.mark.parametrize(
    ("above", "below", "keys"),
    [
        ("types", "kinds_of_types", ("type", "core")),
        ("statistic", "kinds_of_names", ("name", "group", "core", "meaning")),
    ],
)
@pytest.mark.parametrize("folder", FOLDERS)
def test_the_rows_below_a_row_sum_to_it(folder: Path, above: str, below: str, keys: tuple[str, ...]) -> None:
    parts = show_extra("kernel", below, folder)
    assert len({tuple(sorted(row.items(), key=str)) for row in parts}) == len(parts)
    sums: Counter[tuple[object, ...]] = Counter()
    calls: Counter[tuple[object, ...]] = Counter()
    for row in parts:
        key = tuple(row.get(key) for key in keys)
        sums[key] += row["total_ns"] or 0
        calls[key] += row["calls"]
        assert row["min_ns"] is None or row["min_ns"] * row["calls"] <= row["total_ns"] <= row["max_ns"] * row["calls"]
    whole = show("kernel", folder, **({} if above == "statistic" else {"within": f"0,{2**62}"})).tables[above]
    assert {tuple(row.get(key) for key in keys): (row["total_ns"] or 0, row["calls"]) for row in whole} == {
        key: (sums[key], calls[key]) for key in sums
    }
