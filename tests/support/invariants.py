"""All invariants of section 8 of specs/ascend_pt.md on one result of torch_npu's form, text and database."""

from __future__ import annotations

from pathlib import Path

from tests.oracle import test_databases as databases
from tests.oracle import test_invariants as text
from tests.oracle import test_invariants_communication as communication

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
