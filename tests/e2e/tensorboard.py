"""A real TensorBoard process for the browser tests."""

from __future__ import annotations

import contextlib
import os
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path

START_SECONDS = 60


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


@contextlib.contextmanager
def tensorboard(*arguments: str, cache: Path, prefix: str = "") -> Iterator[str]:
    """Start TensorBoard with these arguments; yields its URL with the path prefix, ends it afterwards."""
    port = free_port()
    url = f"http://127.0.0.1:{port}{prefix}/"
    command = [sys.executable, "-m", "tensorboard.main", "--host", "127.0.0.1", "--port", str(port), *arguments]
    if prefix:
        command += ["--path_prefix", prefix]
    log = cache.parent / f"tensorboard-{port}.log"
    environment = {**os.environ, "TB_NPU_CACHE_DIR": str(cache)}
    with (
        log.open("wb") as output,
        subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT, env=environment) as process,
    ):
        try:
            end = time.monotonic() + START_SECONDS
            while True:
                try:
                    urllib.request.urlopen(url, timeout=2).close()
                    break
                except OSError:
                    if process.poll() is not None or time.monotonic() > end:
                        raise RuntimeError(f"TensorBoard did not start:\n{log.read_text()[-3000:]}") from None
                    time.sleep(0.1)
            yield url
        finally:
            process.terminate()
            process.wait(20)
