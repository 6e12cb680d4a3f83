"""The child process that looks into files, one at a time. Protocol: a line of JSON [name of the look, path] on stdin, a line
with one member on stdout: answer, os_error, too_expensive or defect.

It limits its own memory and CPU time, and cannot write files. discovery/look_client.py starts it and limits the time.
"""

from __future__ import annotations

import errno
import json
import math
import os
import resource
import signal
import sys
import time
from contextlib import suppress
from typing import Any

from tb_npu_plugin.discovery.looks import LOOKS, TooExpensive

#: Maximum bytes of address space: of this, Python itself takes some 50 MB.
MEMORY = 512 << 20
#: Maximum CPU seconds of one look; the kernel kills the process between this and one second more.
CPU = 2


def main() -> None:
    """Answer requests until stdin ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # a terminal sends ^C to the server's children, too
    protocol = os.fdopen(os.dup(sys.stdout.fileno()), "w", encoding="ascii")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    _limit(resource.RLIMIT_FSIZE, 0)
    _limit(resource.RLIMIT_CORE, 0)
    _limit(resource.RLIMIT_AS, MEMORY)
    for line in sys.stdin.buffer:
        name, path = json.loads(line)
        _limit(resource.RLIMIT_CPU, math.ceil(time.process_time()) + CPU)
        try:
            protocol.write(json.dumps(_answer(name, path)) + "\n")
            protocol.flush()
        except BrokenPipeError:
            return  # the server has exited


def _answer(name: str, path: str) -> dict[str, Any]:
    try:
        return {"answer": LOOKS[name].read(path)}
    except TooExpensive as error:
        return {"too_expensive": str(error)}
    except OSError as error:
        return {"os_error": [error.errno, error.strerror or str(error)]}
    except MemoryError:
        if _has_reached_limit():
            return {"too_expensive": f"more than {MEMORY >> 20} MB of memory"}
        return {"os_error": [errno.ENOMEM, os.strerror(errno.ENOMEM)]}
    except Exception:  # a defect of this plugin must not stop the scan; the server logs it
        import traceback

        return {"defect": traceback.format_exc()}


def _has_reached_limit() -> bool:
    """Whether this process has used much of its memory; if not, the machine has none left."""
    with suppress(OSError, ValueError):
        with open("/proc/self/status", "rb") as status:  # noqa: PTH123 (pathlib takes long to load)
            peaks = [int(line.split()[1]) << 10 for line in status if line.startswith(b"VmPeak:")]
        return any(peak > MEMORY >> 1 for peak in peaks)
    return False


def _limit(which: int, most: int) -> None:
    with suppress(ValueError, OSError):  # the system has no such limit, or a lower one
        _, hard = resource.getrlimit(which)
        resource.setrlimit(which, (most if hard == resource.RLIM_INFINITY else min(most, hard), hard))
