"""dev.py LOGDIR PORT: TensorBoard that restarts when a Python file changes, behind a Vite server that reloads the frontend."""

from __future__ import annotations

import contextlib
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
#: Where frontend/vite.config.ts expects TensorBoard.
BACKEND_PORT = "6007"


def newest() -> float:
    """Time of the last change of a Python file of the plugin."""
    times = []
    for path in (ROOT / "tb_npu_plugin").rglob("*.py"):
        with contextlib.suppress(FileNotFoundError):  # an editor replaces the file
            times.append(path.stat().st_mtime)
    return max(times)


def serve(logdir: str, port: str) -> None:
    """Serve until Ctrl-C."""
    command = [sys.executable, "-m", "tensorboard.main", "--logdir", logdir, "--port", BACKEND_PORT]
    vite = ["npx", "vite", "--port", port, "--strictPort", "--clearScreen", "false"]
    frontend = subprocess.Popen(vite, cwd=ROOT / "frontend")
    try:
        while frontend.poll() is None:
            started, backend = newest(), subprocess.Popen(command)
            try:
                while frontend.poll() is None and newest() == started:
                    time.sleep(1)
            finally:
                backend.terminate()
                backend.wait()
    finally:
        frontend.terminate()
        frontend.wait()


if __name__ == "__main__":
    with contextlib.suppress(KeyboardInterrupt):
        serve(str(Path(sys.argv[1]).resolve()), sys.argv[2])
