"""The parameters `within` and `step` of views that can show a part of the capture."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Optional

from tb_npu_plugin.analysis.steps.of_span import marks_of_timeline, timed_steps
from tb_npu_plugin.errors import BadRequest
from tb_npu_plugin.messages import Message
from tb_npu_plugin.model import SpanData
from tb_npu_plugin.views.base import Param

WITHIN = Param("within", doc='Only what overlaps this range: "start,end", ns since the epoch; empty: all.')
STEP = Param("step", doc="Only what overlaps this step; empty: all.")
_RANGE = re.compile(r"(\d{1,19}),(\d{1,19})", re.ASCII)


def time_range(params: Mapping[str, str]) -> Optional[tuple[int, int]]:
    """(start, end) in ns since the epoch; None without the parameter. Raises BadRequest."""
    text = params.get(WITHIN.name, "")
    if not text:
        return None
    found = _RANGE.fullmatch(text)
    start, end = (int(found.group(1)), int(found.group(2))) if found else (0, 0)
    if not start < end < 2**63:
        raise BadRequest(Message("error.within", value=repr(text[:80])), Message("hint.within"))
    return start, end


def chosen_range(span: SpanData, params: Mapping[str, str], on_host: bool = False) -> Optional[tuple[int, int]]:
    """(start, end) of `within`, else of `step`, in ns since the epoch; None without both. Raises BadRequest.

    on_host: of the mark of the step where the trace holds it, else of the device.
    """
    step = params.get(STEP.name, "")
    if params.get(WITHIN.name) or not step:
        return time_range(params)
    marks = marks_of_timeline(span) if on_host else {}
    if step in marks:
        return marks[step]
    found = [(start, end) for one, start, end in timed_steps(span) if one.step == step]
    if not found:
        raise unknown_step(step)
    return min(start for start, _ in found), max(end for _, end in found)


def unknown_step(step: str) -> BadRequest:
    """The error for a step that the capture does not have, or whose times are unknown."""
    return BadRequest(Message("error.kernel_step", step=repr(step[:80])), Message("hint.step_all"))


def check_no_range(params: Mapping[str, str]) -> None:
    """Raise BadRequest if a range is given for rows without times."""
    if params.get(WITHIN.name):
        raise BadRequest(Message("error.within_no_times"), Message("hint.within_none"))
