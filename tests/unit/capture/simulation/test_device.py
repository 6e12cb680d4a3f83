"""Task queue and streams: host-bound and device-bound phases come out."""

from __future__ import annotations

from random import Random

import pytest

from tb_npu_plugin.capture.simulation.chips import CHIPS
from tb_npu_plugin.capture.simulation.cost import COMPILE
from tb_npu_plugin.capture.simulation.device import AHEAD, QUEUE, launch_times
from tb_npu_plugin.capture.simulation.launch import Launch
from tb_npu_plugin.capture.simulation.recorded_device import RecordedDevice
from tb_npu_plugin.capture.simulation.records import HostOp, Kernel, OpInfo, Segment

KERNEL = Kernel("k", "K", "AI_CORE", "AI_CORE")
OP = HostOp(OpInfo("aten::op"), 1, 0, 1)


@pytest.fixture
def device() -> RecordedDevice:
    return RecordedDevice(CHIPS["910B2"], Random(1), 0, 77, runtime=False)


def launch(device: RecordedDevice, count: int, ns: int, every: int, compiled: bool = False) -> Segment:
    """Launch kernels of `ns` from a host that enqueues one every so often, if the queue lets it."""
    now = 0
    for _ in range(count):
        now = device.room_at(now + every)
        device.launch(Launch(KERNEL, ns, "aclnnK", compiled), OP, now, now + 100)
    return device.segment


def gaps(segment: Segment) -> list[int]:
    tasks = segment.tasks
    return [b.start - a.end for a, b in zip(tasks, tasks[1:])]


def test_short_kernels_leave_the_device_waiting_for_the_host(device: RecordedDevice) -> None:
    found = sorted(gaps(launch(device, 200, 2_000, 30_000))[1:])
    assert found[0] > 1_000 and found[len(found) // 10] > 20_000


def test_long_kernels_follow_each_other(device: RecordedDevice) -> None:
    segment = launch(device, 200, 200_000, 30_000)
    assert max(gaps(segment)[5:]) < 1_000


def test_the_host_runs_ahead_until_the_queue_is_full(device: RecordedDevice) -> None:
    launch(device, AHEAD + QUEUE + 500, 100_000, 1_000)
    assert device.room_at(0) > 0  # the oldest element has not been taken off yet: the host waits
    tasks = device.segment.tasks
    # the launching thread is at most as far ahead as a stream takes tasks
    ahead = [task.start - (task.acl or 0) for task in tasks]
    assert max(ahead) <= (AHEAD + 2) * 110_000


def test_every_launch_leaves_its_chain(device: RecordedDevice) -> None:
    segment = launch(device, 5, 10_000, 30_000)
    for item, task in zip(segment.queue, segment.tasks):
        assert item.start < item.end and item.dequeue_start >= item.start
        assert item.dequeue_start < (task.acl or 0) < item.dequeue_end
        node = next(call for call in segment.cann if call.connection == task.connection)
        assert node.level == "node" and node.start < (task.acl or 0) < node.end
        assert task.start > node.end
    assert all(a.dequeue_end <= b.dequeue_start for a, b in zip(segment.queue, segment.queue[1:]))


def test_a_compiled_operator_is_slow_once(device: RecordedDevice) -> None:
    segment = launch(device, 3, 10_000, 30_000, compiled=True)
    waits = [item.dequeue_end - item.dequeue_start for item in segment.queue]
    assert waits[0] > COMPILE * 0.7 > 100 * max(waits[1:])
    assert [call.name for call in segment.cann].count("opCompile") == 1


def test_a_slow_device_takes_longer_by_its_factor() -> None:
    durs = []
    for slow in (1.0, 1.5):
        device = RecordedDevice(CHIPS["910B2"], Random(1), 0, 77, False, slow)
        durs.append(sum(task.dur for task in launch(device, 50, 100_000, 30_000).tasks))
    assert durs[1] == pytest.approx(1.5 * durs[0], rel=1e-4)


def test_what_a_slow_device_adds_is_known() -> None:
    plain, slow = (launch_times((0.5,) * 6, 100_000, factor, int) for factor in (1.0, 1.5))
    assert (plain.dur, plain.slowed) == (100_001, 0)
    assert (slow.dur, slow.slowed) == (150_001, 50_000)


def test_the_queue_names_operators_as_torch_npu_does(device: RecordedDevice) -> None:
    """Dequeue@Conv2D for what CANN compiles, Dequeue@aclnnMm for the library, Dequeue@HcclAllreduce: the public sample."""
    conv, library = (
        Launch(Kernel("Conv2D1", "Conv2D", "AI_CORE", "AI_CORE"), 10, "aclopCompileAndExecute", True),
        Launch(KERNEL, 10, "aclnnMm"),
    )
    device.launch(conv, OP, 0, 100)
    device.launch(library, OP, 200, 300)
    device.arrive("hcom_allReduce_", 0, OP, 400, 500)
    segment = device.segment
    assert [item.name for item in segment.queue] == ["Conv2D", "aclnnMm", "HcclAllreduce"]
    modes = {(call.name, call.mode) for call in segment.cann if call.level == "acl"}
    assert modes >= {("aclopCompileAndExecute", "ACL_OP"), ("aclnnMm", "ACL_NN"), ("hcom_allReduce_", "HOST_HCCL")}
    assert conv.prepared == ("aclCreateTensorDesc", "ACL_OP") and library.prepared == (
        "aclnnMmGetWorkspaceSize",
        "ACL_NN",
    )
