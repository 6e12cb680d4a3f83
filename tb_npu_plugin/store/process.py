"""One worker process, from the side of the server."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import tb_npu_plugin
from tb_npu_plugin.scan.blocks import available_cores
from tb_npu_plugin.store.stages import Request

#: How long a worker process may take to end when its input has, in seconds; then it is killed.
ENDING = 5.0


class Failed(Exception):
    """The worker says that it could not do the request; it is still there."""

    def __init__(self, message: str, trace: str = "") -> None:
        super().__init__(message)
        self.trace = trace


class Killed(Exception):
    """The worker process ended in the middle of a request."""


class WorkerProcess:
    """A child that serves requests (store/worker.py). It ends by itself when this process does. `program`: arguments
    of Python."""

    def __init__(self, program: Sequence[str] = ("-m", "tb_npu_plugin.store.worker")) -> None:
        source = str(Path(tb_npu_plugin.__file__).parent.parent)
        path = os.pathsep.join(filter(None, (source, os.environ.get("PYTHONPATH"))))
        self._child = subprocess.Popen(
            [sys.executable, *program],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            # `python -m` puts the working directory first on its path: it must be one that hides no modules.
            cwd="/",
            env={**os.environ, "PYTHONPATH": path},
            encoding="utf-8",
        )

    def run(self, request: Request, say: Callable[[dict[str, Any]], None]) -> dict[str, Any]:
        """Do one request and return its meta. `say` gets the messages that come before it. Raises Failed, Killed."""
        assert self._child.stdin is not None and self._child.stdout is not None
        try:
            self._child.stdin.write(json.dumps(request.as_json()) + "\n")
            self._child.stdin.flush()
            for line in self._child.stdout:
                message = json.loads(line)
                if "meta" in message:
                    meta: dict[str, Any] = message["meta"]
                    return meta
                if "failed" in message:
                    raise Failed(message["failed"], message["trace"])
                say(message)
        except (BrokenPipeError, ValueError):
            pass  # it ended, perhaps in the middle of a line
        raise Killed(self._ending())

    def kill(self) -> None:
        """End it now."""
        with suppress(OSError):
            self._child.kill()

    def close(self) -> None:
        """Let it end: it does at the end of its input."""
        for pipe in (self._child.stdin, self._child.stdout):
            with suppress(OSError):
                if pipe is not None:
                    pipe.close()
        try:
            self._child.wait(timeout=ENDING)
        except subprocess.TimeoutExpired:
            self._child.kill()
            self._child.wait()

    def _ending(self) -> str:
        self.close()
        code = self._child.returncode
        if code >= 0:
            return f"the reading process ended early (exit code {code})"
        with suppress(ValueError):
            name = signal.Signals(-code).name
            if name == "SIGKILL":
                return f"the reading process was ended by {name}, perhaps for lack of memory"
            return f"the reading process was ended by {name}"
        return f"the reading process was ended by signal {-code}"


def worker_count() -> int:
    """TB_NPU_WORKERS, else the cores that this process may use."""
    asked = os.environ.get("TB_NPU_WORKERS", "")
    if asked.isdecimal() and int(asked) > 0:
        return int(asked)
    return available_cores()
