"""All invariants (docs/facts/ascend_pt.md, Invariants) on one result of torch_npu's form, text and database."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from tests.oracle import test_databases as databases
from tests.oracle import test_invariants as text
from tests.oracle import test_invariants_communication as communication
from tests.oracle.raw import Raw

#: Those of memory need a capture with profile_memory.
_ALL = (
    text.test_01_communication_is_overlapped_and_not,
    text.test_02_overlap_rows_sum_to_the_step_trace,
    text.test_03_computing_alone_and_free_tile_the_stage,
    text.test_04_stage_and_preparing_lie_on_the_float_grid,
    text.test_05_computing_is_the_union_of_the_kernels,
    text.test_06_op_statistic_groups_the_kernels,
    text.test_07_kernels_are_sorted_and_wait_is_the_gap,
    text.test_08_every_kernel_is_in_the_trace,
    text.test_09_operator_details_follow_from_the_trace,
    text.test_11_api_statistic_groups_the_cann_calls,
    communication.test_12_communication_identities,
    text.test_14_metric_times_and_ratios_agree,
    databases.test_15_step_trace_follows_from_the_tasks,
    databases.test_15_communication_of_both_databases_agrees,
    databases.test_15_every_task_was_launched_by_a_call,
    databases.test_15_kernels_are_those_of_the_text,
    databases.test_operators_and_their_device_time_are_those_of_the_text,
    databases.test_queue_elements_and_backward_links_come_in_pairs,
    databases.test_16_step_trace_of_database_and_text_agree,
)


def check(folder: Path) -> None:
    """Fails with the first one that does not hold. The folder has text and databases, of a capture without memory."""
    for invariant in _ALL:
        invariant(folder)


_TRACE, _KERNELS = ("trace_view.json",), ("trace_view.json", "kernel_details.csv")
_STEPS, _HOST = ("trace_view.json", "step_trace_time.csv"), ("trace_view.json", "operator_details.csv")
#: Invariant -> the text files that it is about; those of the second also need the database.
TEXT: dict[Callable[[Path], None], tuple[str, ...]] = {
    text.test_01_communication_is_overlapped_and_not: _STEPS,
    text.test_02_overlap_rows_sum_to_the_step_trace: _STEPS,
    text.test_03_computing_alone_and_free_tile_the_stage: _STEPS,
    text.test_04_stage_and_preparing_lie_on_the_float_grid: _STEPS,
    text.test_05_computing_is_the_union_of_the_kernels: _KERNELS,
    text.test_06_op_statistic_groups_the_kernels: ("op_statistic.csv",),
    text.test_07_kernels_are_sorted_and_wait_is_the_gap: _KERNELS,
    text.test_08_every_kernel_is_in_the_trace: _KERNELS,
    text.test_09_operator_details_follow_from_the_trace: _HOST,
    text.test_10_memory_identities: ("memory_record.csv", "operator_memory.csv"),
    text.test_11_api_statistic_groups_the_cann_calls: ("api_statistic.csv",),
    communication.test_12_communication_identities: ("communication.json",),
    text.test_13_flows_have_both_ends_on_slices: _TRACE,
    text.test_14_metric_times_and_ratios_agree: _KERNELS,
}
DATABASE: dict[Callable[[Path], None], tuple[str, ...]] = {
    databases.test_tables_are_there_where_their_files_are: _TRACE,
    databases.test_15_step_trace_follows_from_the_tasks: (*_KERNELS, *_HOST),
    databases.test_15_communication_of_both_databases_agrees: ("communication.json",),
    databases.test_15_every_task_was_launched_by_a_call: _KERNELS,
    databases.test_15_kernels_are_those_of_the_text: _KERNELS,
    databases.test_counters_are_those_of_the_text_in_ns: _KERNELS,
    databases.test_operators_and_their_device_time_are_those_of_the_text: _HOST,
    databases.test_queue_elements_and_backward_links_come_in_pairs: _HOST,
    databases.test_16_step_trace_of_database_and_text_agree: _STEPS,
    databases.test_memory_is_that_of_the_text: ("memory_record.csv",),
    databases.test_strings_have_the_ranges_of_who_wrote_them: _HOST,
}


def check_all(folder: Path) -> set[str]:
    """The same for any result with text and databases: those whose files are there. Gives the numbers of the invariants that were
    held against it ("01" to "16"); the others have no file to be seen in."""
    held = [one for one, files in {**TEXT, **DATABASE}.items() if Raw(folder).has(*files)]
    for one in held:
        one(folder)
    numbers = {one.__name__.split("_")[1] for one in held}
    return {number for number in numbers if number.isdigit()}
