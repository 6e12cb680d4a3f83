"""Keeps the recorded data of a process that a signal ends during a capture.

SIGTERM (timeout, torchrun when another rank fails, Slurm, Kubernetes) and SIGHUP (the terminal is closed) end a process at
once, without the end of `with` and without atexit, and PyTorch hands out what it recorded only when it stops. So while a
capture runs, and only if the script has no handler for them, they first stop the capture and write its raw data.
Nothing is parsed: the sender kills the process after a short time. Then the process ends by the same signal.

Ctrl-C raises an exception that ends the `with`. While the capture is stopped and written, the first Ctrl-C is deferred.

If the main thread is in native code (for example a collective without its other members), the handler runs only after
that returns; the sender ends such a process with SIGKILL.
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
        self.pending = 0  # the signal that was deferred

    def start(self, keep: Callable[[], None]) -> None:
        """Handle the signals that have no other handler. Only the main thread can."""
        self._keep, self._process, self._held, self.pending = keep, os.getpid(), False, 0
        for number in _SIGNALS:
            self._install(number, signal.SIG_DFL, self._end)

    def hold(self) -> None:
        """The capture is being stopped: defer signals until stop()."""
        self._held = True
        self._install(signal.SIGINT, signal.default_int_handler, self._wait)

    def stop(self) -> None:
        """Restore the handlers. A deferred signal ends the process now, or raises KeyboardInterrupt."""
        self._keep, self._process = None, 0
        pending, self.pending = self.pending, 0
        if threading.current_thread() is threading.main_thread():
            for number, before in self._taken.items():
                if signal.getsignal(number) in (self._end, self._wait):
                    signal.signal(number, before)
            self._taken.clear()
        if pending == signal.SIGINT:
            raise KeyboardInterrupt
        if pending:
            self._raise_default(pending)

    def _install(self, number: int, theirs: Any, ours: Callable[[int, FrameType | None], None]) -> None:
        if threading.current_thread() is threading.main_thread() and signal.getsignal(number) is theirs:
            self._taken[number] = theirs  # first: Ctrl-C may come before the next line
            signal.signal(number, ours)

    def _wait(self, number: int, frame: FrameType | None) -> None:
        if self.pending or self._process != os.getpid():  # the second Ctrl-C is not deferred
            signal.signal(number, signal.default_int_handler)
            raise KeyboardInterrupt
        self.pending = number

    def _end(self, number: int, frame: FrameType | None) -> None:
        if self._keep is None or self._process != os.getpid():  # a forked process, or no capture runs
            self._raise_default(number)
        elif self._held:
            self.pending = number
        else:
            self._held = True
            try:
                self._keep()
            except Exception as problem:  # the process ends whatever it is
                error(f"The capture could not be kept: {reason(problem)}")
            self._raise_default(number)

    @staticmethod
    def _raise_default(number: int) -> None:
        signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)
