"""Memory: allocations, peaks and what is live are those of the files."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.oracle.figures import us, whole
from tests.oracle.raw import every_result, ns, raw
from tests.oracle.shown import show

SERIES = {"allocated": "Total Allocated(MB)", "reserved": "Total Reserved(MB)", "active": "Total Active(MB)"}
MB = 1 << 20


@pytest.mark.parametrize("folder", every_result("memory_record.csv"))
def test_peaks_are_the_maxima_and_their_first_moment(folder: Path) -> None:
    rows, shown = raw(folder).csv("memory_record.csv"), show("memory", folder)
    components = {row["Component"] for row in rows}
    assert {peak["component"] for peak in shown.data["peaks"]} == components
    for peak in shown.data["peaks"]:
        own = [row for row in rows if row["Component"] == peak["component"]]
        for series, header in SERIES.items():
            values = [(whole(row.get(header), MB), ns(row["Timestamp(us)"])) for row in own]
            known = [(value, at) for value, at in values if value is not None]
            top = max((value for value, _ in known), default=None)
            first = min((at for value, at in known if value == top), default=None)
            assert peak[f"{series}_bytes"] == top, (peak["component"], series)
            assert peak[f"{series}_at"] == (None if first is None else first - shown.base_ns)


@pytest.mark.parametrize("folder", every_result("memory_record.csv"))
def test_curves_hold_every_record(folder: Path) -> None:
    """No fixture has more points than the curve shows: nothing is thinned."""
    rows, shown = raw(folder).csv("memory_record.csv"), show("memory", folder, points="100000")
    for curve in shown.data["curves"]:
        own = sorted(
            (ns(row["Timestamp(us)"]), n, row) for n, row in enumerate(rows) if row["Component"] == curve["component"]
        )
        assert [at + shown.base_ns for at in curve["time"]] == [at for at, _, _ in own]
        assert curve["points"] == len(own)
        for series, header in SERIES.items():
            assert curve[series] == [whole(row.get(header), MB) for _, _, row in own], (curve["component"], series)


@pytest.mark.parametrize("folder", every_result("operator_memory.csv"))
def test_allocations_equal_the_file(folder: Path) -> None:
    rows = raw(folder).csv("operator_memory.csv")
    shown = show("memory", folder).tables["allocations"]
    assert [
        (
            r["name"],
            r["size_bytes"],
            r["alloc_ns"],
            r["release_ns"],
            r["dur_ns"],
            r.get("active_release_ns"),
            r.get("active_dur_ns"),
            r["alloc_allocated_bytes"],
            r["release_reserved_bytes"],
        )
        for r in shown
    ] == [
        (
            r["Name"],
            whole(r["Size(KB)"], 1024),
            us(r["Allocation Time(us)"]),
            us(r["Release Time(us)"]),
            us(r["Duration(us)"]),
            us(r.get("Active Release Time(us)")),
            us(r.get("Active Duration(us)")),
            whole(r["Allocation Total Allocated(MB)"], MB),
            whole(r["Release Total Reserved(MB)"], MB),
        )
        for r in rows
    ]


@pytest.mark.parametrize("folder", every_result("operator_memory.csv"))
def test_live_blocks_are_those_not_yet_released(folder: Path) -> None:
    rows, base = raw(folder).csv("operator_memory.csv"), show("memory", folder).base_ns
    moments = sorted(ns(row["Allocation Time(us)"]) for row in rows)
    releases = [ns(row["Release Time(us)"]) for row in rows if row["Release Time(us)"]]
    for at in (moments[0], moments[len(moments) // 2], moments[-1], releases[0], releases[0] - 1):
        expected = sorted(
            (row["Name"], ns(row["Allocation Time(us)"]))
            for row in rows
            if ns(row["Allocation Time(us)"]) <= at
            and (us(row["Release Time(us)"]) is None or ns(row["Release Time(us)"]) > at)
        )
        shown = show("memory", folder, live_at=str(at - base)).tables["allocations"]
        assert sorted((row["name"], row["alloc_ns"]) for row in shown) == expected


@pytest.mark.parametrize("folder", every_result("npu_module_mem.csv"))
def test_module_peaks(folder: Path) -> None:
    peaks: dict[str, int] = {}
    for row in raw(folder).csv("npu_module_mem.csv"):
        size = whole(row["Total Reserved(MB)"], MB) or 0
        peaks[row["Component"]] = max(peaks.get(row["Component"], size), size)
    shown = show("memory", folder).tables["modules"]
    assert {row["component"]: row["peak_bytes"] for row in shown} == peaks


@pytest.mark.parametrize("folder", every_result("memory_record.csv"))
def test_fragmentation_at_the_peak(folder: Path) -> None:
    rows = [row for row in raw(folder).csv("memory_record.csv") if row["Component"] == "PTA+GE"]
    top = max(rows, key=lambda row: (float(row["Total Allocated(MB)"]), -float(row["Timestamp(us)"])))
    reserved, allocated = float(top["Total Reserved(MB)"]), float(top["Total Allocated(MB)"])
    shown = show("memory", folder).data["fragmentation_at_peak"]
    assert shown == pytest.approx((reserved - allocated) / reserved)
