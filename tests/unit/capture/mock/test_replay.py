"""The replay of a capture without PyTorch: what is shown of the host beside what the device does."""

from __future__ import annotations

from tb_npu_plugin.capture.backend import Settings
from tb_npu_plugin.capture.mock.host import HostData
from tb_npu_plugin.capture.mock.kineto import Call, Recorded, Signature
from tb_npu_plugin.capture.mock.replay import STEP, Replay
from tb_npu_plugin.capture.simulation.chips import CHIPS, DEFAULT_CHIP

MAIN = 7
US = 1000
ADD = Signature("aten::add", (((1024, 1024), "float"),) * 2)
ALL_REDUCE = Signature("c10d::allreduce_", (((1024, 1024), "float"),))


def operator(start: int) -> Call:
    """20 us of the host."""
    return Call(start * US, (start + 20) * US, MAIN, ADD)


def test_what_runs_behind_the_last_step_is_launched_while_it_runs() -> None:
    """Cause: an operator of a finalizer between the end of the last step and that of the capture was later by the time
    that the host waits for the device at the end of the step, and its launch was not."""
    step = Call(0, 100 * US, MAIN, Signature(f"{STEP}1"))
    calls = [step, operator(10), operator(75), operator(110), operator(140)]
    data = HostData(Settings(level="Level1"), 1, 0, 0, MAIN, end=200 * US)
    (segment,) = Replay(data, Recorded(calls), CHIPS[DEFAULT_CHIP]).segments()
    ops = [op for op in segment.ops if op.info.name == ADD.name]
    assert [item.op for item in segment.queue] == ops and len(ops) == 4
    assert all(item.op.start <= item.start < item.end <= item.op.end for item in segment.queue)
    assert segment.step is not None
    rest = max(task.start + task.dur for task in segment.tasks[:2])
    assert ops[2].start - 10 * US == segment.step.end > rest, "the step ends when the device is at rest"


def test_a_step_with_communication_ends_at_its_end_with_the_device_at_rest() -> None:
    """Cause: the end of the launch of a collective was taken for that of the step: the host waited in the middle of the
    step, and not at its end."""
    step = Call(0, 100 * US, MAIN, Signature(f"{STEP}1"))
    calls = [step, operator(10), Call(40 * US, 50 * US, MAIN, ALL_REDUCE), operator(75)]
    data = HostData(Settings(level="Level1", rank=0, world=2), 1, 0, 0, MAIN, end=200 * US)
    (segment,) = Replay(data, Recorded(calls), CHIPS[DEFAULT_CHIP]).segments()
    assert len(segment.comm) == 1
    assert [op.start for op in segment.ops if op.info.name == ADD.name] == [10 * US, 75 * US]
    assert segment.step is not None
    assert segment.step.end > max(task.start + task.dur for task in segment.tasks)
