"""The longest time for which nothing runs."""

from __future__ import annotations

from tb_npu_plugin.analysis.steps.longest_idle import longest_idle, nth_longest_idle
from tb_npu_plugin.tables import Table
from tests.support.span import table_of


def kernels(*rows: tuple[str | None, int | None, int | None, int]) -> Table:
    """Step, start, duration and device of each."""
    keys = ("step", "start_ns", "dur_ns", "device_id")
    return table_of("kernels", [{"name": "k", **dict(zip(keys, row))} for row in rows])


def test_what_runs_on_any_stream_is_no_idle_time() -> None:
    # 0 to 50 runs meanwhile: what stands before it in the table ended at 12.
    assert longest_idle(kernels(("1", 0, 50, 0), ("1", 10, 2, 0), ("1", 55, 5, 0), ("1", 57, 10, 0))) == {"1": 5}


def test_the_time_between_two_steps_belongs_to_the_later_one_whatever_the_order_of_rows() -> None:
    assert longest_idle(kernels(("2", 130, 10, 0), ("1", 0, 30, 0), ("1", 40, 10, 0))) == {"2": 80, "1": 10}


def test_devices_are_separate_and_unknown_times_do_not_count() -> None:
    assert longest_idle(kernels(("1", 0, 10, 0), ("1", 5, 3, 1), ("1", 40, 1, 1), ("1", 14, 1, 0))) == {"1": 32}
    assert longest_idle(kernels(("1", 0, 10, 0), ("1", None, 5, 0), ("1", 90, None, 0), (None, 12, 1, 0))) == {
        "1": 0,
        None: 2,
    }
    assert longest_idle(kernels()) == {}


def test_the_second_longest_of_all_steps() -> None:
    found = kernels(("1", 0, 10, 0), ("1", 40, 10, 0), ("2", 60, 10, 0), ("2", 75, 10, 0))  # 30, 10 and 5 between them
    assert [nth_longest_idle(found, nth) for nth in (1, 2, 3, 5)] == [30, 10, 5, None]
