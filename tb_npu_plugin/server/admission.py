"""Lets in as many requests at once as the process has descriptors for; the others wait."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import TypeVar

from tb_npu_plugin.descriptors import descriptor_limit
from tb_npu_plugin.errors import Refused
from tb_npu_plugin.messages import Message
from tb_npu_plugin.refusal import as_refused

#: Descriptors of the rest of the process: TensorBoard, connections that wait, workers, DuckDB files that stay open.
RESERVED = 128
#: Descriptors that one request has open at once, at most: the trace, a table, files of derived rows, DuckDB's spill file.
PER_REQUEST = 4
#: How long a request waits to be let in, and tries again what the machine refuses, in seconds.
MAX_WAIT = 30.0
MAX_RETRY = 2.0
_PAUSE = 0.05
T = TypeVar("T")


class Admission:
    """A limit on the number of requests at once. limit: descriptors of the process; None: any number."""

    def __init__(self, limit: int | None) -> None:
        at_once = 1024 if limit is None else max(1, (limit - RESERVED) // PER_REQUEST)
        self._free = threading.BoundedSemaphore(min(at_once, 1024))

    @staticmethod
    def of_process() -> Admission:
        """The admission that fits this process."""
        return Admission(descriptor_limit())

    def run(self, answer: Callable[[], T]) -> T:
        """The answer. Raises Refused if the machine does not give what it needs."""
        if not self._free.acquire(timeout=MAX_WAIT):
            raise Refused(Message("error.busy"), Message("hint.refused"))
        try:
            return _persist(answer)
        finally:
            self._free.release()


def _persist(answer: Callable[[], T]) -> T:
    """Try again what the machine refuses: other requests, or programs, may give it back."""
    deadline = time.monotonic() + MAX_RETRY
    while True:
        try:
            return answer()
        except Exception as error:
            refusal = as_refused(error)
            if refusal is None:
                raise
            if time.monotonic() >= deadline:
                raise refusal from error
        time.sleep(_PAUSE)
