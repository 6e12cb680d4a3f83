"""A real TensorBoard process for the browser tests."""

from __future__ import annotations

import contextlib
import os
import re
import subprocess
import sys
import time
import uuid
from collections.abc import Iterator
from pathlib import Path

START_SECONDS = 60
#: What TensorBoard prints when it listens: it chooses the port itself, so that two test runs never fight for one.
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
            yield f"http://127.0.0.1:{_port(process, log)}{prefix}/"
        finally:
            process.terminate()
            process.wait(20)


def _port(process: subprocess.Popen[bytes], log: Path) -> int:
    end = time.monotonic() + START_SECONDS
    while True:
        found = LISTENS.search(log.read_bytes())
        if found:
            return int(found.group(1))
        if process.poll() is not None or time.monotonic() > end:
            raise RuntimeError(f"TensorBoard did not start:\n{log.read_text()[-3000:]}")
        time.sleep(0.1)
