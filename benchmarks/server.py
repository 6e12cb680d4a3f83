"""A TensorBoard process of its own for a benchmark."""

from __future__ import annotations

import contextlib
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

START_SECONDS = 180
#: What TensorBoard prints when it listens: it chooses the port itself, so that two of them never fight for one.
LISTENS = re.compile(rb"TensorBoard \S+ at http://[^/]+:(\d+)")


@dataclass(frozen=True)
class Server:
    """A running TensorBoard."""

    process: subprocess.Popen[bytes]
    url: str  #: ends with a slash
    started: float  #: time.perf_counter() just before the process was started
    log: Path

    def said(self, lines: int = 5) -> str:
        """The last lines that it printed."""
        return "\n".join(self.log.read_text(errors="replace").strip().splitlines()[-lines:])


@contextlib.contextmanager
def tensorboard(
    logdir: Path, env: Mapping[str, str] | None = None, python: str | Path = sys.executable
) -> Iterator[Server]:
    """Start TensorBoard of `python` on a folder; yields when it listens, ends it afterwards.

    Raises:
        RuntimeError: it ended, or did not listen in time; with what it printed.
    """
    command = [str(python), "-m", "tensorboard.main", "--host", "127.0.0.1", "--port", "0", "--logdir"]
    command.append(str(logdir.absolute()))
    with tempfile.TemporaryDirectory(prefix="npu-bench-log-") as folder:
        log = Path(folder) / "log"
        with log.open("wb") as output:
            started = time.perf_counter()
            with subprocess.Popen(
                # not in our folder: `python -m` would find the plugin there, installed or not
                command,
                stdout=output,
                stderr=subprocess.STDOUT,
                env={**os.environ, **(env or {})},
                cwd=folder,
            ) as process:
                try:
                    yield Server(process, f"http://127.0.0.1:{port_of(process, log)}/", started, log)
                finally:
                    process.terminate()
                    try:
                        process.wait(60)
                    except subprocess.TimeoutExpired:
                        process.kill()


def port_of(process: subprocess.Popen[bytes], log: Path) -> int:
    """The port that a TensorBoard has chosen, as soon as it says so in its log; RuntimeError as for `tensorboard`."""
    end = time.monotonic() + START_SECONDS
    while True:
        found = LISTENS.search(log.read_bytes())
        if found:
            return int(found.group(1))
        if process.poll() is not None or time.monotonic() > end:
            raise RuntimeError(f"TensorBoard did not start:\n{log.read_text(errors='replace')[-3000:]}")
        time.sleep(0.02)
