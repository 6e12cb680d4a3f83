"""Kernel: device time by kernel name, by type and core, and every row of kernel_details.csv."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Optional, TypedDict

from tb_npu_plugin.analysis.kernels import statistics as analysis
from tb_npu_plugin.analysis.kernels.kinds import is_computing
from tb_npu_plugin.analysis.kernels.meaning import with_meaning
from tb_npu_plugin.analysis.kernels.roofline import Device, Roofline, device, roofline, with_group_figures, with_mfu
from tb_npu_plugin.analysis.kernels.statistics import CoreTime
from tb_npu_plugin.analysis.operators import totals as op_totals
from tb_npu_plugin.errors import BadRequest
from tb_npu_plugin.intervals import overlaps
from tb_npu_plugin.messages import Message, Period
from tb_npu_plugin.model import SpanData
from tb_npu_plugin.tables import Table
from tb_npu_plugin.views.base import Param, View, ViewInput, ViewResult, ViewTable, device_kind
from tb_npu_plugin.views.recorded import recorded_tables
from tb_npu_plugin.views.steps import period_of
from tb_npu_plugin.views.time_range import WITHIN, check_no_range, time_range, unknown_step


class KernelJson(TypedDict):
    """Device time by kernel.

    Tables: "statistic" (name, without what differs by call; group of collectives, core, meaning, calls, total_ns, min_ns, max_ns,
    avg_ns, share, communication), "types" (type, core, calls, total_ns, min_ns, avg_ns, max_ns, ratio; op_statistic.csv while no
    step and no range is chosen), "all" (all columns of kernel_details.csv; meaning, group, and "folded", the name of "statistic"). All three have bound, gflops and mfu where known, "all" also least_bytes. Where the recorder wrote
    sums only (MindSpore up to 2.2): "types", and "statistic" (columns of op_totals) and "all" where known. /api/table also has
    "kinds_of_types" and "kinds_of_names": the rows of "types" by name and shapes, those of "statistic" by call and shapes. Parameters:
    `step` ("null": kernels outside steps), `within` (a time range: whole kernels that overlap it; no
    MFU of steps, no other recorded tables),
    `peak` and `bandwidth` for the roofline; `usual_peak`, `usual_bandwidth`: where they are unknown.
    """

    steps: list[Optional[str]]
    """Steps of the kernels; null: outside steps."""
    period: Period
    """What the steps are; "capture" without marks."""
    cores: list[CoreTime]
    """Device time by accelerator core."""
    kernels: int
    """Number of kernel calls."""
    computing_ns: int
    """Sum of all kernels except communication."""
    communication_calls: Optional[int]
    """Number of communication kernels; null if only sums are known, which exclude communication."""
    communication_ns: Optional[int]
    """Sum of communication kernels; null as for `communication_calls`."""
    source: str
    """File of the kernels."""
    types_source: str
    """File of the table "types"."""
    device_kind: str
    """ "NPU" or "GPU"."""
    roofline: Optional[Roofline]
    """Work of the kernels by what the device could do; null if no kernel has known FLOPs."""


#: Columns of kernels by those of the tables about several.
_OF_NAME = {"name": "folded", "group": "group", "core": "core", "meaning": "meaning"}
_OF_TYPE = {"type": "type", "core": "core"}
_SHAPES = {"input_shapes": "input_shapes"}
#: Value of the parameter `step` for kernels outside steps.
NO_STEP = "null"
#: Parameters of the device, and their units.
_FIGURES = (("peak", 1e12), ("bandwidth", 1e9), ("usual_peak", 1e12), ("usual_bandwidth", 1e9))
#: Peaks and bandwidths from here on are refused, in the unit of the parameter.
_MOST_FIGURE = 1e9


def build(source: ViewInput) -> ViewResult:
    """See KernelJson."""
    span = source.spans[0]
    found = _chosen(source)
    if found is None:
        return _summed_up(span, span.table("op_totals"))
    kernels, steps = found
    step, range_ns = source.params.get("step", ""), time_range(source.params)
    kinds = analysis.kinds_of(kernels)
    by_name, cores = analysis.by_name(kinds), analysis.by_core(kinds)
    statistic = None if step or range_ns else span.table("op_statistic")
    if statistic is not None and not is_computing(with_meaning(statistic)).all():
        statistic = None  # it lists what CANN itself does not count as computing
    types = analysis.by_type(kinds) if statistic is None else statistic
    chip = _device(source, kernels)
    data: KernelJson = {
        "steps": steps,
        "period": period_of(span, steps),
        "cores": cores,
        "kernels": len(kernels),
        "computing_ns": sum(core.total_ns for core in cores if not core.communication),
        "communication_calls": sum(core.calls for core in cores if core.communication),
        "communication_ns": sum(core.total_ns for core in cores if core.communication),
        "source": span.source("kernels"),
        "types_source": span.source("kernels" if statistic is None else "op_statistic"),
        "device_kind": device_kind(span),
        "roofline": roofline(kernels, chip, {} if range_ns else _step_times(span)),
    }
    recorded = {} if range_ns else recorded_tables("kernel", span)
    return ViewResult(data, {**_tables(kernels, by_name, types, chip.peak_flops), **recorded}, span.base_ns)


def _chosen(source: ViewInput) -> Optional[tuple[Table, list[Optional[str]]]]:
    """The kernels of the chosen step and range, and all steps; None if only sums are known."""
    span, step, range_ns = source.spans[0], source.params.get("step", ""), time_range(source.params)
    everything = span.table("kernels")
    if everything is None or span.table("op_totals") is not None:
        _check(step, [])
        check_no_range(source.params)
        return None
    steps = analysis.steps_of(everything)
    _check(step, steps)
    kernels = analysis.of_step(everything, None if step == NO_STEP else step) if step else everything
    if range_ns is not None:
        kernels = kernels.take(overlaps(kernels.ints("start_ns"), kernels.ints("dur_ns"), *range_ns))
    return kernels, steps


def _device(source: ViewInput, kernels: Table) -> Device:
    """The device with the peaks that the user gave."""
    peaks = (_figure(source, name, unit) for name, unit in _FIGURES)
    return device(kernels, source.spans[0].capture.device_name, *peaks)


def _kinds(source: ViewInput, of: Callable[[Table], Table], keys: Mapping[str, str]) -> ViewTable:
    """What the rows of a table are made of; empty if only sums are known."""
    found = _chosen(source)
    if found is None:
        return ViewTable(Table((), {}))
    kernels = found[0]
    return ViewTable(with_group_figures(of(kernels), keys, kernels, _device(source, kernels).peak_flops), "total_ns")


def _check(step: str, steps: Sequence[str | None]) -> None:
    """Raise BadRequest for an unknown step."""
    if step and (None if step == NO_STEP else step) not in steps:
        raise unknown_step(step)


def _summed_up(span: SpanData, totals: Table | None) -> ViewResult:
    """For results with operators summed up by the recorder (MindSpore up to 2.2); they may also have single device
    tasks, without types."""
    statistic, kernels = span.table("op_statistic"), span.table("kernels")
    types = statistic if statistic is not None or totals is None else op_totals.by_type(totals)
    assert types is not None, "the view needs kernels, op_totals or op_statistic"
    cores = op_totals.by_core(types)
    there = {"kernels": kernels, "op_totals": totals, "op_statistic": statistic}
    data: KernelJson = {
        "steps": [],
        "period": "capture",
        "cores": cores,
        "kernels": sum(core.calls for core in cores),
        "computing_ns": sum(core.total_ns for core in cores),
        "communication_calls": None,
        "communication_ns": None,
        "source": span.source(next(name for name, table in there.items() if table is not None)),
        "types_source": span.source("op_statistic" if statistic is not None else "op_totals"),
        "device_kind": device_kind(span),
        "roofline": None,
    }
    tables = {"types": ViewTable(types, "total_ns")}
    if totals is not None:
        tables["statistic"] = ViewTable(totals, "total_ns")
    if kernels is not None:
        tables["all"] = ViewTable(kernels, "start_ns", desc=False)
    return ViewResult(data, {**tables, **recorded_tables("kernel", span)}, span.base_ns)


def _tables(kernels: Table, by_name: Table, types: Table, peak_flops: Optional[float]) -> dict[str, ViewTable]:
    return {
        "statistic": ViewTable(with_group_figures(by_name, _OF_NAME, kernels, peak_flops), "total_ns"),
        "types": ViewTable(with_group_figures(types, _OF_TYPE, kernels, peak_flops), "total_ns"),
        "all": ViewTable(with_mfu(kernels, peak_flops), "start_ns", desc=False),
    }


def _step_times(span: SpanData) -> dict[Optional[str], int]:
    """Step time by step, ns."""
    steps = span.table("step_trace")
    if steps is None:
        return {}
    times = zip(steps.text("step").tolist(), steps.ints("stage").tolist())
    return {step: time for step, time in times if time > 0}


def _figure(source: ViewInput, name: str, unit: float) -> Optional[float]:
    """A positive parameter in base units; None if it is not given."""
    text = source.params.get(name, "")
    if not text:
        return None
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0 < value < _MOST_FIGURE:
        raise BadRequest(Message("error.no_figure", name=name, value=repr(text[:40])), Message("hint.figure"))
    return value * unit


VIEW = View(
    id="kernel",
    scope="span",
    needs=(("kernels", "op_totals", "op_statistic"),),
    build=build,
    contract=KernelJson,
    params=(
        Param("step", doc='Only the kernels of this step; "null": of no step; empty: all.'),
        WITHIN,
        Param("peak", doc="Peak of the matrix units with FP16, TFLOP/s; empty: that of the device."),
        Param("bandwidth", doc="Bandwidth of the device memory, GB/s; empty: that of the chip."),
        Param("usual_peak", doc="The peak where none is known."),
        Param("usual_bandwidth", doc="The bandwidth where none is known."),
    ),
    count="kernels",
    extra_tables={
        "kinds_of_types": partial(_kinds, of=analysis.kinds_of_types, keys={**_OF_TYPE, "name": "folded", **_SHAPES}),
        "kinds_of_names": partial(_kinds, of=analysis.kinds_of_names, keys={**_OF_NAME, "call": "name", **_SHAPES}),
    },
)
