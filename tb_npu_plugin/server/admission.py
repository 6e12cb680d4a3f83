"""Lets in as many requests at once as the process has descriptors for; the others wait. A request has ended when its body is
sent, as downloads read while they are sent."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable

from werkzeug.wrappers import Response

from tb_npu_plugin.descriptors import descriptor_limit
from tb_npu_plugin.errors import Refused
from tb_npu_plugin.messages import Message
from tb_npu_plugin.refusal import persist

#: Descriptors of the rest of the process: TensorBoard, connections that wait, workers, DuckDB files that stay open.
RESERVED = 128
#: Descriptors that one request has open at once, at most: the trace, a table, files of derived rows, DuckDB's spill file.
PER_REQUEST = 4
#: How long a request waits to be let in, in seconds.
MAX_WAIT = 30.0


class Admission:
    """A limit on the number of requests at once. limit: descriptors of the process; None: any number."""

    def __init__(self, limit: int | None) -> None:
        at_once = 1024 if limit is None else max(1, (limit - RESERVED) // PER_REQUEST)
        self._free = threading.BoundedSemaphore(min(at_once, 1024))

    @staticmethod
    def of_process() -> Admission:
        """The admission that fits this process."""
        return Admission(descriptor_limit())

    def run(self, answer: Callable[[], Response]) -> Response:
        """The answer; what the machine refuses is tried again for a while. Raises Refused if the others take too long."""
        if not self._free.acquire(timeout=MAX_WAIT):
            raise Refused(Message("error.busy"), Message("hint.refused"))
        try:
            response = persist(answer)
        except BaseException:
            self._free.release()
            raise
        if response.is_streamed:
            response.direct_passthrough = False  # else nobody is told that it is closed
            response.call_on_close(weakref.finalize(response, self._free.release))
        else:
            self._free.release()
        return response
