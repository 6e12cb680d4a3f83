"""The simulated host: its times with and without records, and a host whose times were recorded."""

from __future__ import annotations

import pytest

from tb_npu_plugin.capture.models.run import Recipe
from tb_npu_plugin.capture.recording.recorded_host import HostClock, RecordedHost
from tb_npu_plugin.capture.simulation.kernels import KernelFactory
from tb_npu_plugin.capture.simulation.records import HostOp, OpInfo, Process
from tb_npu_plugin.intervals import EMPTY
from tb_npu_plugin.schema.chips import CHIPS

CHIP = CHIPS["910B2"]
ADD = KernelFactory(CHIP).launches("aten::add", ((64, 64), (64, 64)), ("float", "float"))
START = 1_000_000


@pytest.mark.parametrize("task_queue", [0, 1, 2])
def test_a_recorded_rank_has_the_figures_that_were_worked_out_without_records(task_queue: int) -> None:
    faults = ("gc-pause", "memory-leak", "fragmentation", "slow-rank:1")
    cluster = Recipe("tiny", ranks=2, tp=2, steps=2, faults=faults, task_queue=task_queue).cluster()
    table, truths = cluster.times()
    for rank, truth in enumerate(truths):
        _, segments, recorded = cluster.record(rank, table)
        assert len(list(segments)) == 2
        assert recorded == truth and min(map(len, vars(recorded).values())) == 2
    assert sum(map(sum, (truth.waited for truth in truths))) > 0


@pytest.fixture
def host() -> RecordedHost:
    host = RecordedHost(Process(7, 0, 0, 1, START, dequeue_tid=8, chip=CHIP), "seed", HostClock(EMPTY))
    host.clock.begin(START)
    host.use(7, 0)
    return host


def begin(host: RecordedHost) -> HostOp:
    return host.begin_operator(OpInfo("aten::add"), 7)


def test_tasks_of_a_stream_are_numbered_in_their_order_and_marks_with_them(host: RecordedHost) -> None:
    begin(host)
    host.launch_all(ADD)
    at, task, _ = host.mark("mark")
    host.launch_all(ADD)
    tasks = [(one.start, one.task) for one in host.take().tasks]
    numbers = [number for _, number in sorted([*tasks, (at, task)])]
    assert numbers == [301, 302, 303] and task == 302


def test_a_recorded_host_keeps_its_times_and_is_shown_later_only_after_it_has_waited(host: RecordedHost) -> None:
    op = begin(host)
    host.clock.move_to(START + 1_000, START + 1_100)
    host.launch_all(ADD)  # ends before the limit, but for 10 ns for each thing that takes time
    assert START + 1_100 <= host.now == host.clock.recorded < START + 1_200
    host.synchronize()
    waited = host.now - host.clock.recorded
    assert host.now > host.device.busy_until() and waited > 10_000
    host.clock.move_to(START + 5_000, START + 6_000)
    host.end_operator(op)
    assert (host.clock.recorded, host.now, op.end) == (START + 5_000, START + 5_000 + waited, host.now)
    assert [host.clock.shown(at) - at for at in (START - 1, START + 500, START + 5_000)] == [0, 0, waited]
    host.clock.begin(START + 9_000)
    assert host.clock.shown(START + 9_000) == START + 9_000 + waited
