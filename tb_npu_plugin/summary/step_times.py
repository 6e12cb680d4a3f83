"""Step times of a profile as events of TensorBoard: beside the loss curve, with a link to the profile."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tensorboard.compat.proto import event_pb2

from tb_npu_plugin.summary.values import scalar, text

#: Tags of the events.
TIME_TAG, LINK_TAG = "profile/step_time_ms", "profile/link"


@dataclass(frozen=True)
class ProfileSteps:
    """The steps of one profile.

    run     name of the run of TensorBoard
    start   start of the capture in seconds since the epoch; 0 if unknown
    link    the page of the profile: what follows TensorBoard's address, without the step
    steps   number and time in ns of each step
    """

    run: str
    start: float
    link: str
    steps: tuple[tuple[int, int], ...]


def step_events(profile: ProfileSteps) -> list[Any]:
    """An event for each step."""
    out = []
    for number, ns in profile.steps:
        ms = ns / 1e6
        event = event_pb2.Event(wall_time=profile.start, step=number)
        link = f"[Step {number}: {ms:.2f} ms]({profile.link}{number})"
        event.summary.value.extend([scalar(TIME_TAG, ms), text(LINK_TAG, link)])
        out.append(event)
    return out
