"""What a derived row is made of."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Optional, Union

import numpy as np
from numpy.typing import NDArray

from tb_npu_plugin.analysis.idle.gaps import tracks_of_device
from tb_npu_plugin.analysis.idle.launches import Launches, clock_error, launches_of
from tb_npu_plugin.analysis.idle.model import DeviceIdle
from tb_npu_plugin.analysis.idle.of_span import idle_of
from tb_npu_plugin.analysis.parts import Part
from tb_npu_plugin.analysis.run.communication import RunCommunication
from tb_npu_plugin.messages import Message
from tb_npu_plugin.model import SpanData, timeline_of
from tb_npu_plugin.tables import IntArray


class DerivedInput:
    """A span with a completely read trace, and what several rows need of it. Each is computed once."""

    def __init__(self, span: SpanData) -> None:
        self.span = span
        self.timeline = timeline_of(span)

    @cached_property
    def idle(self) -> list[DeviceIdle]:
        """Idle time of each device."""
        return idle_of(self.span)

    @cached_property
    def communication(self) -> RunCommunication:
        """What this rank waits for, by its own trace alone."""
        return RunCommunication([self.span])

    @cached_property
    def launches(self) -> Launches:
        """Launches of the tasks of all devices."""
        return launches_of(self.timeline, tracks_of_device(self.timeline, None))

    @cached_property
    def clock_error_ns(self) -> Optional[int]:
        """Error of the clocks of host and device, ns, a lower bound; None if no launch is recorded."""
        return clock_error(self.launches)


@dataclass(frozen=True)
class Facts:
    """Facts about one slice of a derived row.

    Attributes:
        lines: Sentences.
        related: (role, slice of the trace).
        late_rank: The rank in the job that the slice waits for; None if it waits for none, or for an unknown one.
    """

    lines: Sequence[Message] = ()
    related: Sequence[tuple[Message, int]] = ()
    late_rank: Optional[int] = None


def no_facts(_: int) -> Facts:
    """Nothing is known beyond part and times."""
    return Facts()


@dataclass(frozen=True)
class SliceRow:
    """A row of slices, sorted by start and disjoint. Times are ns after the timeline's base.

    Attributes:
        id: Identifies the kind of the row.
        part: Index into `parts`, by slice.
        facts_of: Facts about a slice, by its index.
        view: View that has more about it; "" without one.
    """

    id: str
    title: Message
    help: Message
    start: IntArray
    end: IntArray
    part: NDArray[np.int64]
    parts: Sequence[Part]
    facts_of: Callable[[int], Facts] = no_facts
    view: str = ""


@dataclass(frozen=True)
class CounterRow:
    """A curve: a value holds until the next. Times are ns after the timeline's base, ascending."""

    id: str
    title: Message
    help: Message
    time: IntArray
    value: NDArray[np.float64]
    unit: str = ""


Row = Union[SliceRow, CounterRow]
