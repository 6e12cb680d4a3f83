"""What kill -9 of a server leaves is gone after the next start."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

from tb_npu_plugin.store.cache.disk import open_cache
from tests.support.trace import event
from tests.unit.discovery.test_watch import until
from tests.unit.store.results import NAME, write_result

#: Reads all below a folder, with files in the temporary folder, too.
SERVER = """
import sys, tempfile
from pathlib import Path
from tb_npu_plugin.discovery.watch import Watcher
from tb_npu_plugin.store.temporary import scratch
from tb_npu_plugin.store.library import Library
library = Library(Watcher({"": Path(sys.argv[1])}), workers=2)
library.watcher.update()
tempfile.mkdtemp(dir=scratch())
library.read(library.scan().places(), ("tables", "trace"))
print("read", flush=True)
sys.stdin.read()
"""


def children(process: int) -> list[Path]:
    """Folders in /proc of the processes that a process started."""
    found = Path(f"/proc/{process}/task").glob("*/children")
    return [Path(f"/proc/{child}") for file in found for child in file.read_text().split()]


def has_ended(process: Path) -> bool:
    """Also a process that waits for its parent to ask for its exit status."""
    return not (process / "exe").exists()


@pytest.mark.slow
@pytest.mark.parametrize("rounds", [1, pytest.param(20, marks=pytest.mark.full)])
def test_nothing_of_a_killed_server_is_left(rounds: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cache, temporary = tmp_path / "cache", tmp_path / "tmp"
    temporary.mkdir()
    monkeypatch.setenv("TB_NPU_CACHE_DIR", str(cache))
    monkeypatch.setenv("TMPDIR", str(temporary))
    monkeypatch.setattr(tempfile, "tempdir", str(temporary))
    trace = json.dumps([event(f"k{at % 99}", 10.0 * at, 5.0, args={"n": at}) for at in range(30_000)])
    for rank in range(3):
        write_result(tmp_path / "logs" / NAME.replace("4242", str(rank)), rank=rank, trace=trace)
    pause, left = random.Random(30), 0
    for round_ in range(rounds + 10):
        if round_ >= rounds and left:
            break  # else each kill came too late: a further one
        command = [sys.executable, "-c", SERVER, str(tmp_path / "logs")]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as server:
            assert until(lambda: any(files for _, _, files in os.walk(cache / "building")))
            time.sleep(pause.uniform(0, 0.3))
            workers = children(server.pid)
            server.kill()
        left += sum(1 for _ in (cache / "building").iterdir())
        assert workers
        assert until(lambda: all(map(has_ended, workers)))  # noqa: B023
        opened = open_cache()
        assert list((cache / "building").iterdir()) == list(temporary.iterdir()) == []
        assert [path.name for path in (cache / "processes").iterdir()] == [opened._session]
        del opened
        for entry in (cache / "entries").iterdir():  # the next server reads them again
            entry.rename(tmp_path / f"{os.urandom(8).hex()}")
    assert left, "each kill came too late"
