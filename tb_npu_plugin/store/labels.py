"""Names of spans for people."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from tb_npu_plugin.discovery.model import FoundSpan

#: Earlier times, ns since 1970, are those of a clock that counts from when the device was switched on.
_DATED_NS = 946_684_800 * 10**9


def span_label(span: FoundSpan, meta: Mapping[str, Any] | None) -> str:
    """Local time of the capture and its steps as far as they are known ("15:48:04 · step 50"), else its name.

    meta: of the tables stage, None while it is not read. The time in the folder's name is local to the host that
    recorded; without one, the first event is given in the local time of this host.
    """
    time = span.identity.time
    if time is None and meta is not None and (meta.get("start_ns") or 0) >= _DATED_NS:
        time = datetime.fromtimestamp(int(meta["start_ns"]) / 1e9)
    steps = _steps(meta["steps"]) if meta is not None else ""
    if time is None:
        return " · ".join(filter(None, (span.label, steps)))
    return " · ".join(filter(None, (time.strftime("%Y-%m-%d %H:%M:%S"), steps)))


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
