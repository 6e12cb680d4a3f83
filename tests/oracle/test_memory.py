"""Memory: allocations, peaks and live blocks are those of the files."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from tests.oracle.raw import REAL_RUN, Row, every_result, ns, raw, us, whole
from tests.oracle.shown import show
from tests.support.real_data import REAL_DATA, marks_of

SERIES = {"allocated": "Total Allocated(MB)", "reserved": "Total Reserved(MB)", "active": "Total Active(MB)"}
MB = 1 << 20
#: Bytes by which the rounding of MB and KB in the files may differ.
SLACK = 16 << 10


@pytest.mark.parametrize("folder", every_result("memory_record.csv"))
def test_curves_and_their_peaks(folder: Path) -> None:
    """No fixture has more points than a curve shows: nothing is thinned."""
    rows, shown = raw(folder).csv("memory_record.csv"), show("memory", folder, points="100000")
    components = {row["Component"] for row in rows}
    curves = {curve["component"]: curve for curve in shown.data["curves"]}
    peaks = {peak["component"]: peak for peak in shown.data["peaks"]}
    assert peaks.keys() == components >= curves.keys()
    for component, peak in peaks.items():
        own = [row for row in rows if row["Component"] == component]
        own.sort(key=lambda row: ns(row["Timestamp(us)"]))
        times = [ns(row["Timestamp(us)"]) - shown.base_ns for row in own]
        for series, header in SERIES.items():
            values = [whole(row.get(header), MB) for row in own]
            top = max((value for value in values if value is not None), default=None)
            first = None if top is None else times[values.index(top)]
            assert (peak[f"{series}_bytes"], peak[f"{series}_at"]) == (top, first), (component, series)
            if component in curves:
                assert curves[component][series] == values, (component, series)
        if component in curves:
            assert (curves[component]["time"], curves[component]["points"]) == (times, len(times))
    both = [row for row in rows if row["Component"] == "PTA+GE"]
    top = max(both, key=lambda row: (float(row["Total Allocated(MB)"]), -float(row["Timestamp(us)"])))
    reserved, allocated = float(top["Total Reserved(MB)"]), float(top["Total Allocated(MB)"])
    assert shown.data["fragmentation_at_peak"] == pytest.approx((reserved - allocated) / reserved)


#: Column of the table -> header, its unit in ns or bytes.
ALLOCATIONS = {
    "size_bytes": ("Size(KB)", 1024),
    "alloc_ns": ("Allocation Time(us)", 1000),
    "release_ns": ("Release Time(us)", 1000),
    "dur_ns": ("Duration(us)", 1000),
    "active_release_ns": ("Active Release Time(us)", 1000),
    "active_dur_ns": ("Active Duration(us)", 1000),
    "alloc_allocated_bytes": ("Allocation Total Allocated(MB)", MB),
    "release_reserved_bytes": ("Release Total Reserved(MB)", MB),
}


@pytest.mark.parametrize("folder", every_result("operator_memory.csv"))
def test_allocations_and_live_blocks(folder: Path) -> None:
    rows, shown = raw(folder).csv("operator_memory.csv"), show("memory", folder)
    assert [row["name"] for row in shown.tables["allocations"]] == [row["Name"] for row in rows]
    for key, (header, unit) in ALLOCATIONS.items():
        expected = [whole(row.get(header), unit) for row in rows]
        assert [row.get(key) for row in shown.tables["allocations"]] == expected, key
    blocks = [(row["Name"], ns(row["Allocation Time(us)"]), end_of(row)) for row in rows]
    moments = sorted(start for _, start, _ in blocks)
    release = next(end for *_, end in blocks if end is not None)
    for at in (moments[0], moments[len(moments) // 2], moments[-1], release, release - 1):
        live = show("memory", folder, live_at=str(at - shown.base_ns)).tables["allocations"]
        expected_live = [(name, start) for name, start, end in blocks if start <= at and (end is None or end > at)]
        assert sorted((row["name"], row["alloc_ns"]) for row in live) == sorted(expected_live)
    for begin, stop in ((moments[0], release), (release, release + 1), (release - 1, moments[-1] + 1)):
        if begin < stop:
            held = show("memory", folder, within=f"{begin},{stop}").tables["allocations"]
            expected_held = [(name, at) for name, at, end in blocks if at < stop and (end is None or end > begin)]
            assert sorted((row["name"], row["alloc_ns"]) for row in held) == sorted(expected_held)


def end_of(row: Row) -> int | None:
    """When the allocated memory falls: the earlier of both releases."""
    ends = [us(row.get(name)) for name in ("Release Time(us)", "Active Release Time(us)")]
    return min((end for end in ends if end is not None), default=None)


RECORDED = [
    REAL_RUN / "rank0_ascend_pt",
    *(REAL_DATA / f"ascend_pt_llm_4ranks/rank_{rank}_ascend_pt" for rank in (0, 2)),
]


@pytest.mark.parametrize("folder", [pytest.param(path, marks=marks_of(path), id=path.name) for path in RECORDED])
def test_what_is_not_live_was_allocated_before_the_capture_and_only_falls(folder: Path) -> None:
    """Total Allocated of the caching allocator minus the live blocks, but for the rounding of KB and MB."""
    blocks = [row for row in raw(folder).csv("operator_memory.csv") if not row["Name"].startswith("cann::")]
    changes = Counter[int]()
    for row in blocks:
        size, start, end = whole(row["Size(KB)"], 1024) or 0, ns(row["Allocation Time(us)"]), end_of(row)
        if size > 0:
            changes[start] += size
        if end is not None and size > 0:
            changes[end] -= size
    records = [row for row in raw(folder).csv("memory_record.csv") if row["Component"] == "PTA"]
    totals = {ns(row["Timestamp(us)"]): whole(row["Total Allocated(MB)"], MB) or 0 for row in records}
    assert changes.keys() <= totals.keys()
    live, before = 0, float("inf")
    for at in sorted({*totals, *changes}):
        live += changes[at]
        rest = totals.get(at, live + before) - live
        assert -SLACK <= rest <= before + SLACK, at
        before = min(before, rest)


@pytest.mark.parametrize("folder", every_result("npu_module_mem.csv"))
def test_module_peaks(folder: Path) -> None:
    peaks: dict[str, int] = {}
    for row in raw(folder).csv("npu_module_mem.csv"):
        size = whole(row["Total Reserved(MB)"], MB) or 0
        peaks[row["Component"]] = max(peaks.get(row["Component"], size), size)
    shown = show("memory", folder).tables["modules"]
    assert {row["component"]: row["peak_bytes"] for row in shown} == peaks
