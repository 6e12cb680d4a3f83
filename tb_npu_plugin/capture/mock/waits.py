"""When the compute stream of the device waits for which communication."""

from __future__ import annotations

from collections.abc import Iterable
from math import prod

from tb_npu_plugin.capture.mock.host import Wait
from tb_npu_plugin.capture.mock.kineto import Call
from tb_npu_plugin.capture.simulation.recorded_device import RecordedDevice

_WAIT_TENSOR = "_c10d_functional::wait_tensor"


class Waits:
    """When the compute stream waits for which communication."""

    def __init__(self, waits: Iterable[Wait], calls: Iterable[Call]) -> None:
        noted = [(at, True, started) for at, _, started in waits]
        self.told = bool(noted)  #: which it waits for; what it does not wait for is never waited for
        awaited = [
            (call.start, False, prod(call.signature.tensors[0][0]))
            for call in calls
            if call.signature.name == _WAIT_TENSOR and call.signature.tensors
        ]
        self._moments = sorted([*noted, *awaited], reverse=True)
        self._noted: dict[int, int] = {}
        self._functional: list[tuple[list[int], int]] = []
        self._later = 0

    def noted(self, started: int, done: int) -> None:
        """The note that begins at `started` is of communication that is done then."""
        self._noted[started] = max(done, self._noted.get(started, 0))

    def functional(self, outputs: list[int], done: int) -> None:
        """A functional collective is done then. outputs: elements of each of its results."""
        self._functional.append((outputs, done))

    def later(self, done: int) -> None:
        """Communication of the backward pass is done then."""
        self._later = max(self._later, done)

    def backward_is_over(self, device: RecordedDevice) -> None:
        """Wait for the communication of the backward pass."""
        if self._later:
            device.wait_until(self._later)
            self._later = 0

    def until(self, device: RecordedDevice, at: int) -> None:
        """Wait for what the script waited for until then, recorded time."""
        while self._moments and self._moments[-1][0] <= at:
            _, noted, which = self._moments.pop()
            done = self._noted.pop(which, 0) if noted else self._take(which)
            if done:
                device.wait_until(done)

    def _take(self, elements: int) -> int:
        """The first functional collective that has such a result."""
        for place, (outputs, done) in enumerate(self._functional):
            if elements in outputs:
                outputs.remove(elements)
                if not outputs:
                    del self._functional[place]
                return done
        return 0
