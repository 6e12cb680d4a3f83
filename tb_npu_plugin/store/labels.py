"""Display names of spans."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timezone
from typing import Any

from tb_npu_plugin.discovery.model import FoundSpan

#: Earlier times, in ns since 1970, come from a clock that counts from device start.
_DATED_NS = 946_684_800 * 10**9


def utc_offset_minutes(local: datetime | None, start_ns: int | None) -> int:
    """UTC offset of the recording host in minutes, rounded to 15; 0 (UTC) where it cannot be derived.

    It is the difference between `local`, the time in the result's name, taken about when the capture starts, and
    `start_ns`, the start itself.
    """
    if local is None or start_ns is None or start_ns < _DATED_NS:
        return 0
    ahead = local.replace(tzinfo=timezone.utc).timestamp() - start_ns / 1e9
    minutes = 15 * round(ahead / 900)
    return minutes if -12 * 60 <= minutes <= 14 * 60 else 0


def span_label(span: FoundSpan, meta: Mapping[str, Any] | None) -> str:
    """Local time of the capture and its steps, where known ("15:48:04 · step 50"); else the span's name.

    A window of dynamic profiling adds the window ("15:48:04 · window 2-5 · steps 0-3"): its numbers count training
    steps, while step numbers count the profiler's marks and restart in each window.

    Args:
        meta: meta.json of the tables stage; None until it is read.

    The time in the folder's name is local to the recording host (see utc_offset_minutes). Without it, the label shows
    the time of the first event in UTC.
    """
    time, zone = span.identity.time, ""
    if time is None and meta is not None and (meta.get("start_ns") or 0) >= _DATED_NS:
        zone = " UTC"
        time = datetime.fromtimestamp(int(meta["start_ns"]) / 1e9, timezone.utc)
    steps = _steps(meta["steps"]) if meta is not None else ""
    name = span.label if time is None else f"{time:%Y-%m-%d %H:%M:%S}{zone}"
    training = f"training step {span.identity.role_step}" if span.identity.role_step else ""
    return " · ".join(filter(None, (name, training, _window(span), steps)))


def _window(span: FoundSpan) -> str:
    window = span.identity.window
    return "" if window is None else "window " + "-".join(str(step) for step in window if step is not None)


def _steps(steps: Sequence[str]) -> str:
    """ "step 50", "steps 2-5", "steps 2, 7, 9"."""
    if not steps:
        return ""
    if len(steps) == 1:
        return f"step {steps[0]}"
    if all(step.isdecimal() for step in steps):
        numbers = sorted(map(int, steps))
        if numbers == list(range(numbers[0], numbers[-1] + 1)):
            return f"steps {numbers[0]}-{numbers[-1]}"
    return f"steps {', '.join(steps[:4])}" + (", …" if len(steps) > 4 else "")
