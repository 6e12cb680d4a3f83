"""The capture that records now: what marks, ranges and threads of the process are for."""

from __future__ import annotations

import itertools
import threading
from dataclasses import dataclass

from tb_npu_plugin.capture.backend import Recorder, Settings


@dataclass(frozen=True)
class Session:
    """A recorder between its start and its stop."""

    recorder: Recorder
    settings: Settings


_current: list[Session] = []
_lock = threading.RLock()  # a signal may end the capture on a thread that holds it
_numbers = itertools.count(1)


def begin(session: Session) -> None:
    """From now on this one records."""
    with _lock:
        _current[:] = [session]


def end(recorder: Recorder) -> None:
    """This recorder records no longer."""
    with _lock:
        _current[:] = [session for session in _current if session.recorder is not recorder]


def current_session() -> Session | None:
    """The one that records now."""
    found = _current[:1]  # one read: another thread may end it
    return found[0] if found else None


def next_id() -> int:
    """The id of the next range: from 1, unique in the process."""
    return next(_numbers)
