"""What Linux has and macOS or Windows lack is not needed to import the plugin and to read."""

from __future__ import annotations

import subprocess
import sys


def run(code: str) -> None:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_a_large_trace_is_scanned_on_macos() -> None:
    run(
        "import os; del os.sched_getaffinity\n"
        "from tb_npu_plugin.scan.threads import thread_count; assert thread_count(1 << 40) >= 1"
    )


def test_everything_is_imported_on_windows() -> None:
    run(
        "import concurrent.futures.process, duckdb, multiprocessing, numpy, os, random, rich.console, sys, tempfile\n"
        "from tensorboard.plugins import base_plugin\n"
        "del os.register_at_fork, os.geteuid\n"
        "sys.modules.update(fcntl=None, pwd=None, grp=None, resource=None, termios=None)\n"
        "import tb_npu_plugin.api, tb_npu_plugin.cli, tb_npu_plugin.plugin, tb_npu_plugin.server.app\n"
        "import tb_npu_plugin.capture.api.parsing, tb_npu_plugin.capture.pytorch"
    )
