"""A real TensorBoard process for the browser tests."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from benchmarks.server import START_SECONDS, port_of

#: Limit of its end, in seconds.
END_SECONDS = 60


@dataclass(frozen=True)
class _Running:
    process: int
    log: Path


#: Started processes by URL.
_STARTED: dict[str, _Running] = {}


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
            _STARTED[url] = _Running(process.pid, log)
            yield url
        finally:
            for worker in _children(process.pid):  # a failed test may leave one stopped
                with contextlib.suppress(OSError):
                    os.kill(worker, signal.SIGCONT)
            process.terminate()
            try:
                process.wait(END_SECONDS)
            except subprocess.TimeoutExpired:
                process.kill()
                raise


def log_tail(url: str, characters: int = 3000) -> str:
    """End of the log of a TensorBoard."""
    running = _STARTED.get(url)
    return running.log.read_text(errors="replace")[-characters:].strip() if running else ""


def settle(folder: Path) -> None:
    """Date files back: the server reads a file that still grows twice."""
    past = time.time() - 3600
    for file in folder.rglob("*"):
        os.utime(file, (past, past))


@contextlib.contextmanager
def held_reader(url: str, file: str) -> Iterator[Callable[[], int]]:
    """Stop a worker of this TensorBoard once it has a file of this name open; yields a function that waits for the stop
    and returns the process. SIGCONT resumes it; Cancel ends it as any other. The watch begins before the block, since a
    worker may finish the file before a busy browser returns."""
    is_over = threading.Event()
    with ThreadPoolExecutor(1) as pool:
        found = pool.submit(_hold, url, file, is_over)
        try:
            yield found.result
        finally:
            is_over.set()


def _hold(url: str, file: str, is_over: threading.Event) -> int:
    end = time.monotonic() + START_SECONDS
    while time.monotonic() < end and not is_over.is_set():
        for worker in _children(_STARTED[url].process):
            with contextlib.suppress(OSError):  # the file is closed or the process ended
                if any(one.readlink().name == file for one in Path(f"/proc/{worker}/fd").iterdir()):
                    os.kill(worker, signal.SIGSTOP)
                    return worker
        time.sleep(0.01)
    raise AssertionError(f"no worker reads {file}; TensorBoard logged:\n{log_tail(url)}")


def _children(process: int) -> list[int]:
    found: list[int] = []
    with contextlib.suppress(OSError):  # the process ended
        for thread in Path(f"/proc/{process}/task").iterdir():
            with contextlib.suppress(OSError):  # the thread ended
                found += map(int, (thread / "children").read_text().split())
    return found
