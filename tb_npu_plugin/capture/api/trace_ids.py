"""Ids of captures: the user's own, or random ones."""

from __future__ import annotations

import uuid
from typing import Any, Callable

from tb_npu_plugin.capture.api.messages import reason, warn

_LONGEST = 1024


class TraceIds:
    """Gives an id for each capture."""

    def __init__(self, callback: Any) -> None:
        self.set_callback(callback)

    def set_callback(self, callback: Any) -> None:
        """What gives the ids of the next captures; None: the default."""
        if callback is not None and not callable(callback):
            warn("Parameter custom_trace_id_callback is not callable, reset it to default.")
            callback = None
        self._callback: Callable[[], Any] | None = callback

    def new(self) -> str:
        """The id of a capture that begins."""
        default = uuid.uuid4().hex.upper()
        if self._callback is None:
            return default
        try:
            found = self._callback()
        except Exception as problem:  # the user's function
            warn(f"custom_trace_id_callback failed: {reason(problem)}. Use the default trace id.")
            return default
        if not isinstance(found, str) or len(found) > _LONGEST:
            limit = f"a str of at most {_LONGEST} characters"
            warn(f"custom_trace_id_callback must return {limit}. Use the default trace id.")
            return default
        return found
