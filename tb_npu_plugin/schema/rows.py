"""What holds for the rows of a table. Seen in all recorded results; docs/facts/ascend_pt.md has the files."""

from __future__ import annotations

#: Tables with rows that may be equal: calls have no time there, or counts begin anew in each epoch.
REPEATABLE = frozenset(
    ("operators", "operator_shapes", "_launches", "_host_batches", "_device_batches", "minddata_cpu", "comm_packets")
)
#: Table -> the columns that identify a row. Elsewhere rows are the same if all columns are equal.
KEYS: dict[str, tuple[str, ...]] = {
    "step_trace": ("rank", "row_type", "index", "device_id", "step"),
    "op_statistic": ("device_id", "model_name", "type", "core"),
    "api_statistic": ("device_id", "level", "name"),
    "parallel_times": ("step", "average"),
}
#: Table -> (column whose values each have an order, or "", column that increases: times, or texts of whole numbers).
IN_ORDER: dict[str, tuple[str, str]] = {
    "kernels": ("", "start_ns"),
    "task_time": ("", "start_ns"),
    "data_preprocess": ("", "time_ns"),
    "memory_record": ("component", "time_ns"),
    "module_memory": ("component", "time_ns"),
    "step_trace": ("device_id", "step"),
}
