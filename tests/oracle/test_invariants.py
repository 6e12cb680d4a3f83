"""What must hold between the files of one result, and between ranks.
Source: docs/facts/ascend_pt.md, Invariants."""

from __future__ import annotations

import statistics
from collections import defaultdict
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from tests.oracle.operator_tree import operators
from tests.oracle.raw import Raw, every_result, number, raw
from tests.support.fixtures import folders
from tests.support.mock import at_rest, mock_results, queued
from tests.support.mock_mindspore import results as mindspore_results


def results(*needs: str) -> list[Any]:
    """Fixtures, real ranks, and what the mock writes."""
    return [*every_result(*needs), *mock_results(*needs)]


def all_results(*needs: str) -> list[Any]:
    """The same, and what the mock writes for MindSpore: where both hold to the same rule."""
    return [*results(*needs), *mindspore_results(*needs)]


NAMES = ("Computing", "Communication", "Communication(Not Overlapped)", "Free")
STEPS = at_rest(results("step_trace_time.csv", "trace_view.json"))
KERNELS = all_results("kernel_details.csv", "trace_view.json")


def _span(raw_: Raw, step: str) -> tuple[Decimal, Decimal]:
    rows = [event for events in raw_.overlap(step).values() for event in events]
    return min(e["ts"] for e in rows), max(e["ts"] + e["dur"] for e in rows)


def _union(intervals: list[tuple[Decimal, Decimal]]) -> Decimal:
    total, reached = Decimal(0), Decimal("-Infinity")
    for start, end in sorted(intervals):
        if end > reached:
            total += end - max(start, reached)
            reached = end
    return total


@pytest.mark.parametrize("folder", STEPS)
def test_01_communication_is_overlapped_and_not(folder: Path) -> None:
    for row in raw(folder).csv("step_trace_time.csv"):
        alone, bubble = float(row["Communication(Not Overlapped)"]), float(row["Bubble"])
        assert float(row["Communication"]) == pytest.approx(alone + float(row["Overlapped"]), abs=1e-9)
        assert float(row["Communication(Not Overlapped and Exclude Receive)"]) == max(alone - bubble, 0)


@pytest.mark.parametrize("folder", STEPS)
def test_02_overlap_rows_sum_to_the_step_trace(folder: Path) -> None:
    r = raw(folder)
    assert len(r.csv("step_trace_time.csv")) == max(len(r.steps), 1)
    for row in r.csv("step_trace_time.csv"):
        found = r.overlap(row["Step"])
        for name in NAMES:
            assert sum((float(event["dur"]) for event in found[name]), 0.0) == float(row[name]), (row["Step"], name)


@pytest.mark.parametrize("folder", STEPS)
def test_03_computing_alone_and_free_tile_the_stage(folder: Path) -> None:
    r = raw(folder)
    for row in r.csv("step_trace_time.csv"):
        found, (first, last) = r.overlap(row["Step"]), _span(r, row["Step"])
        tiles = [event["dur"] for name in NAMES if name != "Communication" for event in found[name]]
        if r.exact_ts:
            assert sum(tiles) == last - first
        assert float(row["Stage"]) + float(row["Bubble"]) == pytest.approx(float(sum(tiles)), abs=0.5)


@pytest.mark.parametrize("folder", STEPS)
def test_04_stage_and_preparing_lie_on_the_float_grid(folder: Path) -> None:
    r = raw(folder)
    starts = {name: start for name, start, _ in r.steps}
    for row in r.csv("step_trace_time.csv"):
        assert (float(row["Stage"]) + float(row["Bubble"])) * 4 == pytest.approx(
            round((float(row["Stage"]) + float(row["Bubble"])) * 4), abs=1e-6
        )
        if "Preparing" in row and r.steps:
            busy = min(e["ts"] for name in NAMES[:2] for e in r.overlap(row["Step"])[name])
            assert float(row["Preparing"]) * 4 % 1 == 0
            assert float(row["Preparing"]) == pytest.approx(float(busy - starts[row["Step"]]), abs=0.25)


@pytest.mark.parametrize("folder", all_results("step_trace_time.csv", "trace_view.json"))
def test_05_computing_is_the_union_of_the_kernels(folder: Path) -> None:
    r = raw(folder)
    for kind, rows in (("Computing", r.computing), ("Communication", r.communicating)):
        spans = [(Decimal(row["Start Time(us)"]), Decimal(row["Duration(us)"])) for row in rows]
        shown = sum((event["dur"] for event in r.process("Overlap Analysis") if event["name"] == kind), Decimal(0))
        whole = _union([(start, start + dur) for start, dur in spans])
        assert abs(shown - whole) <= Decimal("0.001") * (len(rows) + 1), kind


@pytest.mark.parametrize("folder", all_results("op_statistic.csv", "kernel_details.csv"))
def test_06_op_statistic_groups_the_kernels(folder: Path) -> None:
    groups: dict[tuple[str, str], list[Decimal]] = defaultdict(list)
    for row in raw(folder).computing:
        groups[row["Type"], row["Accelerator Core"]].append(Decimal(row["Duration(us)"]))
    whole = sum(sum(durs) for durs in groups.values())
    rows = raw(folder).csv("op_statistic.csv")
    assert {(row["OP Type"], row["Core Type"]) for row in rows} == set(groups)
    for row in rows:
        durs = groups[row["OP Type"], row["Core Type"]]
        assert int(row["Count"]) == len(durs)
        assert (Decimal(row["Min Time(us)"]), Decimal(row["Max Time(us)"])) == (min(durs), max(durs))
        assert abs(Decimal(row["Total Time(us)"]) - sum(durs)) <= Decimal("0.007")
        assert abs(Decimal(row["Avg Time(us)"]) - sum(durs) / len(durs)) <= Decimal("0.001")
        assert abs(Decimal(row["Ratio(%)"]) - 100 * sum(durs) / whole) <= Decimal("0.0006")
    totals = [Decimal(row["Total Time(us)"]) for row in rows]
    assert totals == sorted(totals, reverse=True)


@pytest.mark.parametrize("folder", all_results("kernel_details.csv"))
def test_07_kernels_are_sorted_and_wait_is_the_gap(folder: Path) -> None:
    rows = raw(folder).kernels
    spans = [(Decimal(r["Start Time(us)"]), Decimal(r["Duration(us)"])) for r in rows]
    assert [start for start, _ in spans] == sorted(start for start, _ in spans)
    assert Decimal(rows[0]["Wait Time(us)"]) == 0
    for row, (start, _), (before, dur) in zip(rows[1:], spans[1:], spans):
        assert abs(Decimal(row["Wait Time(us)"]) - max(Decimal(0), start - before - dur)) <= Decimal("0.001")


@pytest.mark.parametrize("folder", KERNELS)
def test_08_every_kernel_is_in_the_trace(folder: Path) -> None:
    r = raw(folder)
    close = Decimal("0.001") if r.exact_ts else Decimal("0.25")
    shown: dict[str, list[tuple[Decimal, Decimal]]] = defaultdict(list)
    for event in r.process("Ascend Hardware", "HCCL", "Communication"):
        shown[event["name"]].append((event["ts"], event["dur"]))
    for row in r.kernels:
        start, dur = Decimal(row["Start Time(us)"]), Decimal(row["Duration(us)"])
        near = [
            e for e in shown[_kernel(row, folder)] if abs(e[0] - start) <= close and abs(e[1] - dur) <= Decimal("0.001")
        ]
        assert len(near) == 1, row["Name"]


def _kernel(row: dict[str, str], folder: Path) -> str:
    """Name of the kernel; MindSpore puts that of its launch in front."""
    return row["Name"].rpartition("/")[2] if folder.name.endswith("_ascend_ms") else row["Name"]


@pytest.mark.parametrize("folder", results("operator_details.csv", "trace_view.json"))
def test_09_operator_details_follow_from_the_trace(folder: Path) -> None:
    r = raw(folder)
    rows, rebuilt = r.csv("operator_details.csv"), operators(r)
    assert len(rows) == len(rebuilt) > 0
    for row, op in zip(rows, rebuilt):
        assert row["Name"] == op.name
        for header, value in (
            ("Host Self Duration(us)", op.host_self),
            ("Host Total Duration(us)", op.host_total),
            ("Device Self Duration(us)", op.device_self),
            ("Device Total Duration(us)", op.device_total),
            ("Device Self Duration With AICore(us)", op.aicore_self),
            ("Device Total Duration With AICore(us)", op.aicore_total),
        ):
            assert float(row[header]) == pytest.approx(float(value), abs=1e-6), (op.name, header)
        assert Decimal(row["Host Total Duration(us)"]) == op.host_total
    ends = [e for e in r.events if e.get("cat") == "async_npu" and e["ph"] == "f"]
    targets = [r.by_place[e["pid"], e["tid"], e["ts"]] for e in ends]
    whole = sum((e["dur"] for e in targets), Decimal(0))
    on_core = sum((e["dur"] for e in targets if e["args"].get("Task Type") == "AI_CORE"), Decimal(0))
    assert sum(float(row["Device Self Duration(us)"]) for row in rows) == pytest.approx(float(whole), abs=1e-6)
    assert sum(float(row["Device Self Duration With AICore(us)"]) for row in rows) == pytest.approx(float(on_core))


@pytest.mark.parametrize("folder", results("operator_memory.csv", "memory_record.csv"))
def test_10_memory_identities(folder: Path) -> None:
    for row in raw(folder).csv("operator_memory.csv"):
        start = Decimal(row["Allocation Time(us)"])
        for time, dur in (("Release Time(us)", "Duration(us)"), ("Active Release Time(us)", "Active Duration(us)")):
            if row.get(time):
                assert Decimal(row[time]) - start == Decimal(row[dur])
            elif time in row:
                assert row[dur] == ""
    last: dict[str, dict[str, str]] = {}
    both = 0
    for row in raw(folder).csv("memory_record.csv"):
        if row["Component"] == "PTA+GE":
            both += 1
            for name in ("Total Allocated(MB)", "Total Reserved(MB)", "Total Active(MB)"):
                if name in row:
                    parts = [number(found[name]) or Decimal(0) for found in last.values()]
                    assert abs(Decimal(row[name]) - sum(parts)) <= Decimal("0.000001")
        elif row["Component"] in ("PTA", "GE"):
            last[row["Component"]] = row
    assert both > 0


@pytest.mark.parametrize("folder", all_results("api_statistic.csv", "trace_view.json"))
def test_11_api_statistic_groups_the_cann_calls(folder: Path) -> None:
    groups: dict[tuple[str, str], list[float]] = defaultdict(list)
    for event in raw(folder).process("CANN"):
        level = event["args"]["level"]
        name = event["args"]["item_id"] if level in ("hccl", "communication") else event["name"].split("@", 1)[1]
        groups[level, name].append(float(event["dur"]))
    rows = raw(folder).csv("api_statistic.csv")
    assert {(row["Level"], row["API Name"]) for row in rows} == set(groups)
    for row in rows:
        durs = groups[row["Level"], row["API Name"]]
        assert int(row["Count"]) == len(durs)
        assert float(row["Time(us)"]) == pytest.approx(sum(durs), abs=1e-6)
        assert float(row["Min(us)"]) == pytest.approx(min(durs), abs=1e-6)  # dur may read 8.590000000000002
        assert float(row["Max(us)"]) == pytest.approx(max(durs), abs=1e-6)
        assert float(row["Variance"]) == pytest.approx(statistics.pvariance(durs), abs=0.01)


@pytest.mark.parametrize("folder", results("trace_view.json"))
def test_13_flows_have_both_ends_on_slices(folder: Path) -> None:
    r = raw(folder)
    ids: dict[tuple[str, str], set[Any]] = defaultdict(set)
    for event in r.events:
        if event["ph"] in "sf":
            ids[event["cat"], event["ph"]].add(event["id"])
            # the start of a HostToDevice flow lies inside a call, and at level 0 that call is pruned
            if not (event["cat"] == "HostToDevice" and event["ph"] == "s"):
                assert (event["pid"], event["tid"], event["ts"]) in r.by_place, event
    kinds = {cat for cat, _ in ids}
    device = bool(r.process("Ascend Hardware", "HCCL", "Communication"))
    host = any(e.get("cat") == "cpu_op" and not e["name"].startswith("ProfilerStep#") for e in r.slices)
    if "mstx" in r.processes.values():
        assert ids["MsTx", "s"] == ids["MsTx", "f"]
        kinds.discard("MsTx")
    if device and host:
        queue = {"async_task_queue"} if queued(folder) else set()
        assert kinds == {"fwdbwd", "HostToDevice", "async_npu", *queue}
    elif host:  # Level_none still has the task queue of the framework
        assert kinds in ({"fwdbwd"}, {"fwdbwd", "async_task_queue"})
    else:
        assert kinds == ({"HostToDevice"} if device else set())
    for cat in kinds:
        assert ids[cat, "s"] == ids[cat, "f"], cat


@pytest.mark.parametrize("folder", all_results("kernel_details.csv"))
def test_14_metric_times_and_ratios_agree(folder: Path) -> None:
    for row in raw(folder).kernels:
        for core, prefix in (("aicore_time(us)", "aic"), ("aiv_time(us)", "aiv")):
            whole = number(row.get(core, ""))
            if whole is None:
                continue
            # two clocks: one real kernel in 374 counts 1.6 % more core time than its duration
            assert whole <= Decimal(row["Duration(us)"]) * Decimal("1.02")
            for header in row:
                ratio_header = header.replace("_time(us)", "_ratio")
                if header.startswith(prefix + "_") and ratio_header in row and ratio_header != header and whole > 1:
                    assert abs(Decimal(row[header]) / whole - Decimal(row[ratio_header])) < Decimal("0.001"), header


def test_every_spelling_is_among_the_fixtures() -> None:
    """The parameters above cover what section 9 lists: a lost fixture is seen here."""
    found = [Raw(folder) for folder in folders("results") if Raw(folder).has("kernel_details.csv")]
    headers = {header for result in found for header in result.kernels[0]}
    assert {
        "Block Dim",
        "Block Num",
        "Device_id",
        "OP State",
        "Step Id",
        "aic_mac_ratio",
        "aiv_ub_read_bw(GB/s)",
    } <= headers
    assert any("OP State" not in result.kernels[0] and "Type" in result.kernels[0] for result in found)
    assert any("Step Id" not in result.kernels[0] for result in found)
    cores = {row["Accelerator Core"] for result in found for row in result.kernels}
    assert cores == {
        "AI_CORE",
        "AI_VECTOR_CORE",
        "MIX_AIC",
        "MIX_AIV",
        "AI_CPU",
        "DSA_SQE",
        "HCCL",
        "COMMUNICATION",
        "N/A",
    }
