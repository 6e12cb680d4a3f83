"""Kernel: where the device's time went, by kernel name, by type and core, and every row of kernel_details.csv."""

from __future__ import annotations

from tb_npu_plugin.analysis import kernels as analysis
from tb_npu_plugin.schema.formats import FORMATS
from tb_npu_plugin.tables import Table
from tb_npu_plugin.views.base import Param, View, ViewInput, ViewResult, ViewTable
from tb_npu_plugin.views.contract import CoreShareJson, KernelJson

#: Value of the parameter `step` for the rows that belong to no step.
NO_STEP = "null"


def build(source: ViewInput) -> ViewResult:
    """See KernelJson."""
    span = source.spans[0]
    everything = span.table("kernels")
    assert everything is not None, "the view needs kernels"
    step = source.params.get("step", "")
    kernels = analysis.of_step(everything, None if step == NO_STEP else step) if step else everything
    cores = analysis.by_core(kernels)
    statistic = None if step else span.table("op_statistic")
    types = analysis.by_type(kernels) if statistic is None else statistic
    data: KernelJson = {
        "steps": analysis.steps_of(everything),
        "cores": [_core_json(core) for core in cores],
        "kernels": len(kernels),
        "computing_ns": sum(core.total_ns for core in cores if not core.communication),
        "communication_calls": sum(core.calls for core in cores if core.communication),
        "communication_ns": sum(core.total_ns for core in cores if core.communication),
        "source": span.source("kernels"),
        "types_source": span.source("kernels" if statistic is None else "op_statistic"),
        "device_kind": FORMATS[span.format].device,
    }
    return ViewResult(data, _tables(kernels, types), span.base_ns)


def _tables(kernels: Table, types: Table) -> dict[str, ViewTable]:
    return {
        "statistic": ViewTable(analysis.by_name(kernels), "total_ns"),
        "types": ViewTable(types, "total_ns"),
        "all": ViewTable(kernels, "start_ns", desc=False),
    }


def _core_json(core: analysis.CoreTime) -> CoreShareJson:
    return {
        "core": core.core,
        "calls": core.calls,
        "total_ns": core.total_ns,
        "communication": core.communication,
    }


VIEW = View(
    id="kernel",
    title="Kernel",
    scope="span",
    needs=(("kernels",),),
    build=build,
    params=(Param("step", doc='Only the kernels of this step; "null": of no step; empty: all.'),),
    count="kernels",
)
