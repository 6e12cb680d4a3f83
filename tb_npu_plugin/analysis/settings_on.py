"""Whether the settings of a capture meet the condition under which a file is written."""

from __future__ import annotations

import re
from collections.abc import Iterator

from tb_npu_plugin.model import Capture
from tb_npu_plugin.schema.core import Condition, join_settings, split_settings

_SWITCH = re.compile(r"(\w+)=True")
_ACTIVITY = re.compile(r"activities=\[ProfilerActivity\.(\w+), \.\.\.\]")
_LEVEL = re.compile(r"profiler_level=ProfilerLevel\.Level(\d)")
_EXPORT = re.compile(r"export_type=\[ExportType\.(\w+)\]")


def is_recorded(condition: Condition, capture: Capture | None) -> bool:
    """Whether the capture's settings meet the condition, so that the file was written."""
    return capture is not None and condition.always and all(_states(condition, capture))


def missing_option(condition: Condition, capture: Capture | None) -> str:
    """The condition's option without the settings that were on."""
    if capture is None:
        return condition.option
    parts = split_settings(condition.option)
    return join_settings(*(part for part, is_on in zip(parts, _states(condition, capture)) if not is_on))


def _states(condition: Condition, capture: Capture) -> Iterator[bool | None]:
    """State of each setting: on, off, or None if not recorded."""
    return (_switch_state(part, capture) for part in split_settings(condition.option))


def _switch_state(setting: str, capture: Capture) -> bool | None:
    if found := _SWITCH.fullmatch(setting):
        return capture.switches.get(found.group(1))
    if found := _ACTIVITY.fullmatch(setting):
        if capture.activities is None or (found.group(1) == "NPU" and (capture.level or "").endswith("None")):
            return None
        return found.group(1) in capture.activities
    if found := _LEVEL.fullmatch(setting):
        level = re.search(r"(\d)$|None$", capture.level or "")
        return None if level is None else int(level.group(1) or -1) >= int(found.group(1))
    if found := _EXPORT.fullmatch(setting):
        return None if capture.export_types is None else found.group(1).lower() in map(str.lower, capture.export_types)
    return None
