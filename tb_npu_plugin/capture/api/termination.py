"""A process that is told to end while a capture runs keeps what was recorded.

SIGTERM (timeout, torchrun when another rank fails, Slurm, Kubernetes) and SIGHUP (the terminal is closed) end a process at
once, without the end of `with` and without atexit, and PyTorch hands out what it recorded only when it stops. So while a
capture runs, and only where the script has no handler of its own, they first stop the capture and write its raw data.
Nothing is parsed: whoever sent the signal does not wait for long. Then the process ends by the same signal.

Ctrl-C is an exception that `with` sees, but for the moments in which the capture is stopped and written: there it waits, once.

A process whose main thread is in native code (a collective whose other members are gone, say) gets to it only when that
comes back: those who sent the signal end such a process with SIGKILL a little later.
"""

from __future__ import annotations

import os
import signal
import threading
from types import FrameType
from typing import Any, Callable

from tb_npu_plugin.capture.api.messages import error, reason

_SIGNALS = tuple(getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name))


class Termination:
    """Between start(keep) and stop(), `keep` is called before one of the signals ends the process."""

    def __init__(self) -> None:
        self._keep: Callable[[], None] | None = None
        self._process = 0
        self._taken: dict[int, Any] = {}  # signal -> the handler that was there
        self._held = False
        self._pending = 0

    def start(self, keep: Callable[[], None]) -> None:
        """Take the signals that nobody else takes. Python offers that in the main thread alone."""
        self._keep, self._process, self._held, self._pending = keep, os.getpid(), False, 0
        for number in _SIGNALS:
            self._take(number, signal.SIG_DFL, self._end)

    def hold(self) -> None:
        """The capture is being stopped: from now on a signal waits for stop()."""
        self._held = True
        self._take(signal.SIGINT, signal.default_int_handler, self._wait)

    @property
    def is_pending(self) -> bool:
        """A signal waits for stop()."""
        return bool(self._pending)

    def stop(self) -> None:
        """As it was; a signal that waited ends the process now, or raises KeyboardInterrupt."""
        self._keep, self._process = None, 0
        pending, self._pending = self._pending, 0
        if threading.current_thread() is threading.main_thread():
            for number, before in self._taken.items():
                if signal.getsignal(number) in (self._end, self._wait):
                    signal.signal(number, before)
            self._taken.clear()
        if pending == signal.SIGINT:
            raise KeyboardInterrupt
        if pending:
            self._leave(pending)

    def _take(self, number: int, theirs: Any, ours: Callable[[int, FrameType | None], None]) -> None:
        if threading.current_thread() is threading.main_thread() and signal.getsignal(number) is theirs:
            self._taken[number] = theirs  # first: Ctrl-C may come between the two
            signal.signal(number, ours)

    def _wait(self, number: int, frame: FrameType | None) -> None:
        if self._pending or self._process != os.getpid():  # who insists does not wait
            signal.signal(number, signal.default_int_handler)
            raise KeyboardInterrupt
        self._pending = number

    def _end(self, number: int, frame: FrameType | None) -> None:
        if self._keep is None or self._process != os.getpid():  # a forked process, or no capture runs any more
            self._leave(number)
        elif self._held:
            self._pending = number
        else:
            self._held = True
            try:
                self._keep()
            except Exception as problem:  # the process ends whatever it is
                error(f"The capture could not be kept: {reason(problem)}")
            self._leave(number)

    @staticmethod
    def _leave(number: int) -> None:
        signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)
