"""Purpose of each result file."""

from __future__ import annotations

from dataclasses import dataclass

from tb_npu_plugin.messages import Message
from tb_npu_plugin.schema.link_files import LINK_TABLES


@dataclass(frozen=True)
class Use:
    """Purpose of a result file: the views that show it, and what they cannot show without it. missed: report it if it
    is missing; if_set: only where the settings that record it were on."""

    views: tuple[str, ...]
    cost: Message
    missed: bool = True
    if_set: bool = False


#: By id of the result file. Files that no view shows are not listed and never reported as missing.
USES: dict[str, Use] = {
    "trace": Use(("trace", "idle"), Message("cost.trace")),
    "step_trace": Use(("overview", "step_trace", "distributed", "diff", "idle"), Message("cost.step_trace")),
    "kernels": Use(("kernel", "overview", "step_trace", "diff", "idle"), Message("cost.kernels")),
    "op_statistic": Use(("kernel",), Message("cost.op_statistic")),
    "operators": Use(("operator", "overview", "diff", "data_pipeline"), Message("cost.operators")),
    "api_statistic": Use(("operator",), Message("cost.api_statistic"), if_set=True),
    "l2_cache": Use(("kernel",), Message("cost.l2_cache"), if_set=True),
    "task_time": Use(("kernel",), Message("cost.task_time"), missed=False),
    "communication_statistic": Use(("kernel",), Message("cost.communication_statistic"), missed=False),
    "fusion_op": Use(("kernel",), Message("cost.fusion_op"), missed=False),
    "operator_shapes": Use(("operator",), Message("cost.operator_shapes")),
    "op_memory": Use(("memory",), Message("cost.op_memory")),
    "memory_record": Use(("memory",), Message("cost.memory_record")),
    "module_memory": Use(("memory",), Message("cost.module_memory")),
    "minddata_ops": Use(("data_pipeline",), Message("cost.minddata_ops")),
    "minddata_batches": Use(("data_pipeline",), Message("cost.minddata_batches")),
    "dataset": Use(("data_pipeline",), Message("cost.dataset")),
    "communication": Use(("distributed",), Message("cost.communication")),
    "comm_links": Use(("distributed",), Message("cost.comm_links")),
    "iterations": Use(("step_trace", "distributed"), Message("cost.iterations")),
    "msprof_iterations": Use(("step_trace",), Message("cost.iterations"), missed=False),
    "parallel_times": Use(("distributed",), Message("cost.parallel_times")),
    "hccl_raw": Use(("distributed",), Message("cost.hccl_raw")),
    "aicore_ops": Use(("kernel",), Message("cost.aicore_ops")),
    "aicore_types": Use(("kernel",), Message("cost.aicore_types")),
    **dict.fromkeys(LINK_TABLES, Use(("distributed",), Message("cost.links"), missed=False)),
    "memory_summary": Use(("distributed",), Message("cost.memory_summary")),
}
