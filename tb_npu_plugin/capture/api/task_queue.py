"""TASK_QUEUE_ENABLE of the recorded process, as torch_npu reads it.
Source: docs/facts/torch_npu_api.md, Environment variables."""

from __future__ import annotations

import os

from tb_npu_plugin.capture.api.messages import warn

TASK_QUEUE_VARIABLE, BLOCKING_VARIABLE = "TASK_QUEUE_ENABLE", "ASCEND_LAUNCH_BLOCKING"
_LEVELS = {"0": 0, "1": 1, "2": 2}
_DEFAULT = "1"


def level() -> int:
    """0: operators launch by themselves; 1: through the task queue; 2: its thread prepares kernels, too."""
    if os.environ.get(BLOCKING_VARIABLE) == "1":  # torch_npu closes the queue
        return _LEVELS["0"]
    text = os.environ.get(TASK_QUEUE_VARIABLE, _DEFAULT).strip()
    if text not in _LEVELS:
        warn(f"Invalid {TASK_QUEUE_VARIABLE} {text!r}, which should be 0, 1 or 2. Reset it to {_DEFAULT}.")
        return _LEVELS[_DEFAULT]
    return _LEVELS[text]
