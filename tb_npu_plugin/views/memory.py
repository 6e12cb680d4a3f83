"""Memory: curves and peaks by component, allocations, live allocations at a time, memory of CANN modules."""

from __future__ import annotations

from typing import Optional, TypedDict

from tb_npu_plugin.analysis import memory as analysis
from tb_npu_plugin.errors import BadRequest
from tb_npu_plugin.messages import Message
from tb_npu_plugin.schema.registry import TABLES
from tb_npu_plugin.tables import Table, empty, nullable
from tb_npu_plugin.views.base import Param, View, ViewInput, ViewResult, ViewTable, fields_of
from tb_npu_plugin.views.time_range import STEP, WITHIN, chosen_range


class CurveJson(TypedDict):
    """Memory of one component on one device over time. A value holds until the next point."""

    component: str
    """Component of the memory record, or CANN module."""
    device: Optional[str]
    """Device; null where the file does not name it."""
    points: int
    """Points in the file; `time` holds some or all of them, with the extremes."""
    time: list[int]
    """ns after `base_ns`."""
    allocated: list[Optional[int]]
    """Bytes, by point."""
    reserved: list[Optional[int]]
    """Bytes, by point."""
    active: list[Optional[int]]
    """Bytes, by point."""


class MemoryPeakJson(TypedDict):
    """Largest values of a component, and when each was first reached."""

    component: str
    """Component of the memory record."""
    device: Optional[str]
    """Device; null where the file does not name it."""
    allocated_bytes: Optional[int]
    """Largest allocated memory."""
    allocated_at: Optional[int]
    """ns after `base_ns`."""
    reserved_bytes: Optional[int]
    """Largest reserved memory."""
    reserved_at: Optional[int]
    """ns after `base_ns`."""
    active_bytes: Optional[int]
    """Largest active memory."""
    active_at: Optional[int]
    """ns after `base_ns`."""


class MemoryJson(TypedDict):
    """Memory over time.

    Parameters: `device`, `t0`, `t1` (ns after base_ns: curves of that range in full detail), `points` (default 2000).
    Tables: "allocations" (columns of op_memory; with `live_at`, ns after base_ns: what is allocated at that moment; else
    with `within` or `step`: what is allocated at some time in `chosen_ns`),
    "modules" (component, device, peak_bytes, peak_at, last_bytes).
    """

    devices: list[str]
    """Names of all devices."""
    curves: list[CurveJson]
    """One for each component and device."""
    module_curves: list[CurveJson]
    """Modules that held memory at any time; the table "modules" lists all."""
    peaks: list[MemoryPeakJson]
    """One for each component and device."""
    range_ns: Optional[list[int]]
    """First and last time of all records, ns after `base_ns`."""
    chosen_ns: Optional[list[int]]
    """Start and end of the time range or step of the parameters, ns after `base_ns`."""
    size_range: Optional[list[int]]
    """Smallest and largest allocation in bytes."""
    fragmentation_at_peak: Optional[float]
    """Share of reserved memory that is not allocated at the peak of allocated memory, 0 to 1."""


DEFAULT_POINTS = 2000
MAX_POINTS = 100_000


def build(source: ViewInput) -> ViewResult:
    """See MemoryJson."""
    span = source.spans[0]
    base = span.base_ns
    records, modules, allocations = (
        span.table(name) or empty(TABLES[name]) for name in ("memory_record", "module_memory", "op_memory")
    )
    names = analysis.devices([records, modules, allocations])
    device = source.params.get("device", "")
    if device and device not in names:
        raise BadRequest(Message("error.device", device=repr(device[:80])), Message("hint.device_all"))
    records, modules, allocations = (analysis.of_device(part, device) for part in (records, modules, allocations))
    start, end = (_time_param(source, name, base) for name in ("t0", "t1"))
    if start is not None and end is not None and start > end:
        raise BadRequest(Message("error.times", t0=start - base, t1=end - base), Message("hint.times"))
    points = min(_int_param(source, "points") or DEFAULT_POINTS, MAX_POINTS)
    sizes = analysis.bounds([allocations.ints("size_bytes")])
    range_ns = chosen_range(span, source.params)
    data: MemoryJson = {
        "devices": names,
        "curves": [_curve_json(curve, base) for curve in analysis.curves(records, points, start, end)],
        "module_curves": [
            _curve_json(curve, base) for curve in analysis.curves(_modules_in_use(modules), points, start, end)
        ],
        "peaks": [_peak_json(peak, base) for peak in analysis.peaks(records)],
        "range_ns": _range(records, modules, allocations, base),
        "chosen_ns": None if range_ns is None else [moment - base for moment in range_ns],
        "size_range": sizes,
        "fragmentation_at_peak": analysis.fragmentation(records),
    }
    live = _time_param(source, "live_at", base)
    held = allocations
    if live is not None:
        held = analysis.live_at(allocations, live)
    elif range_ns is not None:
        held = analysis.live_within(allocations, *range_ns)
    tables = {
        "allocations": ViewTable(held, "size_bytes"),
        "modules": ViewTable(analysis.modules(modules), "peak_bytes"),
    }
    return ViewResult(data, tables, base)


def _modules_in_use(modules: Table) -> Table:
    """Samples of modules that held memory at any time: most of the 77 or so never do, and only appear in the table."""
    used = modules.text("component").take(modules.ints("reserved_bytes") > 0).tolist()
    return modules.take(modules.text("component").isin(name for name in used if name is not None))


def _range(records: Table, modules: Table, allocations: Table, base: int) -> list[int] | None:
    columns = [records.ints("time_ns"), modules.ints("time_ns")]
    columns += [allocations.ints(key) for key in ("alloc_ns", "release_ns", "active_release_ns")]
    found = analysis.bounds(columns)
    return None if found is None else [moment - base for moment in found]


def _curve_json(curve: analysis.Curve, base: int) -> CurveJson:
    values = {name: nullable(getattr(curve, name)) for name in ("allocated", "reserved", "active")}
    return fields_of(CurveJson, curve, time=(curve.time - base).tolist(), **values)


def _peak_json(peaks: analysis.ComponentPeaks, base: int) -> MemoryPeakJson:
    found: dict[str, int | None] = {}
    for name in ("allocated", "reserved", "active"):
        peak = getattr(peaks, name)
        found |= {f"{name}_bytes": peak.value, f"{name}_at": None if peak.at is None else peak.at - base}
    return fields_of(MemoryPeakJson, peaks, **found)


def _time_param(source: ViewInput, name: str, base: int) -> int | None:
    offset = _int_param(source, name)
    return None if offset is None else base + offset


def _int_param(source: ViewInput, name: str) -> int | None:
    text = source.params.get(name, "")
    if not text:
        return None
    digits = text[1:] if text.startswith("-") else text
    if not (digits.isascii() and digits.isdigit() and len(digits) < 18):
        raise BadRequest(Message("error.no_integer", name=name, value=repr(text[:40])), Message("hint.ns"))
    return int(text)


VIEW = View(
    id="memory",
    scope="span",
    needs=(("memory_record", "op_memory", "module_memory"),),
    build=build,
    contract=MemoryJson,
    params=(
        Param("device", doc="Only this device; empty: all."),
        Param("t0", doc="Curves from here, ns after base_ns."),
        Param("t1", doc="Curves up to here, ns after base_ns."),
        Param("points", doc="Most points of a curve before it is thinned; default 2000, at most 100000."),
        WITHIN,
        STEP,
        Param("live_at", doc='Table "allocations": only what is held at this moment, ns after base_ns.'),
    ),
    count="op_memory",
)
