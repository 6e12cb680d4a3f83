"""How many threads scan a file."""

from __future__ import annotations

import os

from tb_npu_plugin.errors import BadSetting
from tb_npu_plugin.messages import Message

THREADS_VARIABLE = "TB_NPU_SCAN_THREADS"
_MOST_THREADS = 4  # beyond, putting the blocks together is what takes the time
_LARGE = 64 << 20  # below, threads are not worth their start


def requested_threads() -> int | None:
    """TB_NPU_SCAN_THREADS; None where it is not set. Raises BadSetting when it is no positive number."""
    wanted = os.environ.get(THREADS_VARIABLE, "")
    if not wanted:
        return None
    if not wanted.isdecimal() or not int(wanted):
        raise BadSetting(
            Message("error.setting", name=THREADS_VARIABLE, value=repr(wanted)),
            Message("hint.positive_setting", name=THREADS_VARIABLE),
        )
    return int(wanted)


def thread_count(size: int) -> int:
    """Threads for a file of so many bytes. Raises BadSetting."""
    asked = requested_threads()
    if asked is not None:
        return asked
    return min(available_cores(), _MOST_THREADS) if size >= _LARGE else 1


def available_cores() -> int:
    """The cores that this process may use; of the machine, where the system does not say (macOS, Windows)."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
