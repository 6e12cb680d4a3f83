"""The parameter `within` of views that can show a time range only."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Optional

from tb_npu_plugin.errors import BadRequest
from tb_npu_plugin.messages import Message
from tb_npu_plugin.views.base import Param

WITHIN = Param("within", doc='Only what overlaps this range: "start,end", ns since the epoch; empty: all.')
_RANGE = re.compile(r"(\d{1,19}),(\d{1,19})")


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


def check_no_range(params: Mapping[str, str]) -> None:
    """Raise BadRequest if a range is given for rows without times."""
    if params.get(WITHIN.name):
        raise BadRequest(Message("error.within_no_times"), Message("hint.within_none"))
