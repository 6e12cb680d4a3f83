"""A real TensorBoard process for the browser tests."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Iterator
from pathlib import Path

#: Patience with a busy machine.
START_SECONDS, END_SECONDS = 180, 60
#: What TensorBoard prints when it listens: it chooses the port itself, so that two test runs never fight for one.
#: Process of each that runs, by URL.
_RUNNING: dict[str, int] = {}
LISTENS = re.compile(rb"TensorBoard \S+ at http://[^/]+:(\d+)")


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
            url = f"http://127.0.0.1:{_port(process, log)}{prefix}/"
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


def _port(process: subprocess.Popen[bytes], log: Path) -> int:
    end = time.monotonic() + START_SECONDS
    while True:
        found = LISTENS.search(log.read_bytes())
        if found:
            return int(found.group(1))
        if process.poll() is not None or time.monotonic() > end:
            raise RuntimeError(f"TensorBoard did not start:\n{log.read_text()[-3000:]}")
        time.sleep(0.1)
