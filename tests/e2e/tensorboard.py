"""A real TensorBoard process for the browser tests."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Iterator
from pathlib import Path

from benchmarks.server import START_SECONDS, port_of

#: Patience with a busy machine.
END_SECONDS = 60
#: Process of each that runs, by URL.
_RUNNING: dict[str, int] = {}


@contextlib.contextmanager
def tensorboard(*arguments: str, cache: Path, prefix: str = "") -> Iterator[str]:
    """Start TensorBoard with these arguments; yields its URL with the path prefix, ends it afterwards."""
    command = [sys.executable, "-m", "tensorboard.main", "--host", "127.0.0.1", "--port", "0", *arguments]
    if prefix:
        command += ["--path_prefix", prefix]
    cache.parent.mkdir(parents=True, exist_ok=True)
    log = cache.parent / f"tensorboard-{uuid.uuid4().hex}.log"
    environment = {**os.environ, "TB_NPU_CACHE_DIR": str(cache)}
    with (
        log.open("wb") as output,
        subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT, env=environment) as process,
    ):
        try:
            url = f"http://127.0.0.1:{port_of(process, log)}{prefix}/"
            _RUNNING[url] = process.pid
            yield url
        finally:
            process.terminate()
            process.wait(END_SECONDS)


def hold_reader(url: str, file: str) -> int:
    """Wait until a worker of a TensorBoard has a file of this name open, and stop it there: a busy browser must not miss
    what is to be seen meanwhile. Gives its process, to go on with SIGCONT; Cancel ends it as any other."""
    end = time.monotonic() + START_SECONDS
    while time.monotonic() < end:
        for worker in _children(_RUNNING[url]):
            with contextlib.suppress(OSError):  # it has closed the file, or has ended
                if any(one.readlink().name == file for one in Path(f"/proc/{worker}/fd").iterdir()):
                    os.kill(worker, signal.SIGSTOP)
                    return worker
        time.sleep(0.01)
    raise AssertionError(f"nobody reads {file}")


def _children(process: int) -> list[int]:
    found: list[int] = []
    for thread in Path(f"/proc/{process}/task").iterdir():
        with contextlib.suppress(OSError):  # a thread that has ended
            found += map(int, (thread / "children").read_text().split())
    return found
