"""What each result file is for."""

from __future__ import annotations

from dataclasses import dataclass

from tb_npu_plugin.schema.link_files import LINK_TABLES


@dataclass(frozen=True)
class Use:
    """What a result file is for: the views that show it and what they cannot show without it. missed: people are told
    where it is not there."""

    views: tuple[str, ...]
    cost: str
    missed: bool = True


#: By id of the result file. Files that no view shows are not here: they are not missed.
USES: dict[str, Use] = {
    "trace": Use(("trace",), "No timeline."),
    "step_trace": Use(
        ("overview", "step_trace", "distributed", "diff"),
        "Step budgets are computed from the kernels; bubble and preparing are unknown.",
    ),
    "kernels": Use(("kernel", "overview", "step_trace", "diff"), "No device time by kernel, type and core."),
    "op_statistic": Use(("kernel",), "Time by type and core is computed from the kernels."),
    "operators": Use(
        ("operator", "overview", "diff", "data_pipeline"),
        "Times by operator are rebuilt from the trace, where that is there.",
    ),
    "api_statistic": Use(("operator",), "No times of CANN's calls.", missed=False),
    "l2_cache": Use(("kernel",), "No L2 rates of the kernels.", missed=False),
    "task_time": Use(("kernel",), "No list of all device tasks.", missed=False),
    "communication_statistic": Use(("kernel",), "No times of communication by type.", missed=False),
    "fusion_op": Use(("kernel",), "No operators before fusion.", missed=False),
    "operator_shapes": Use(("operator",), "No shapes of the operators."),
    "op_memory": Use(("memory",), "No table of allocations."),
    "memory_record": Use(("memory",), "No memory curves and peaks."),
    "module_memory": Use(("memory",), "No memory by CANN module."),
    "minddata_ops": Use(("data_pipeline",), "No operators of the data pipeline, and no bottleneck among them."),
    "minddata_batches": Use(("data_pipeline",), "It is not known whether the data keep up with the device."),
    "dataset": Use(("data_pipeline",), "No times of the dataset's operations."),
    "communication": Use(("distributed",), "No split of the communication time, no communication operators."),
    "comm_links": Use(("distributed",), "No matrix of links."),
    "iterations": Use(("step_trace", "distributed"), "No step gap, forward and backward, tail."),
    "msprof_iterations": Use(("step_trace",), "No step gap, forward and backward, tail.", missed=False),
    "parallel_times": Use(("distributed",), "No computation and communication of each rank, no mode of parallelism."),
    "hccl_raw": Use(("distributed",), "No communication operators, no links."),
    "aicore_ops": Use(("kernel",), "No time by operator."),
    "aicore_types": Use(("kernel",), "No time by operator type."),
    **dict.fromkeys(LINK_TABLES, Use(("distributed",), "No use of the links.", missed=False)),
    "memory_summary": Use(("distributed",), "No peak of the memory."),
}
