"""Number of threads that scan a file."""

from __future__ import annotations

import os

from tb_npu_plugin.errors import BadSetting
from tb_npu_plugin.messages import Message

THREADS_VARIABLE = "TB_NPU_SCAN_THREADS"
_MAX_THREADS = 4  # beyond, merging the blocks takes most of the time
_MIN_THREADED_BYTES = 64 << 20  # below, starting threads takes longer than it saves


def requested_threads() -> int | None:
    """TB_NPU_SCAN_THREADS; None if unset. Raises BadSetting if it is not a positive integer."""
    setting = os.environ.get(THREADS_VARIABLE, "")
    if not setting:
        return None
    if not setting.isdecimal() or not int(setting):
        raise BadSetting(
            Message("error.setting", name=THREADS_VARIABLE, value=repr(setting)),
            Message("hint.positive_setting", name=THREADS_VARIABLE),
        )
    return int(setting)


def thread_count(size: int) -> int:
    """Number of threads for a file of `size` bytes. Raises BadSetting."""
    threads = requested_threads()
    if threads is not None:
        return threads
    return min(available_cores(), _MAX_THREADS) if size >= _MIN_THREADED_BYTES else 1


def available_cores() -> int:
    """Number of cores that this process may use; on macOS and Windows, that of the machine."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
