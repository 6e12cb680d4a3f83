"""tb-npu ingest: reads everything, ends with ^C, and goes on where it was."""

from __future__ import annotations

import os
import pty
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.process_memory import descendants
from tb_npu_plugin.store.cache.disk import META
from tests.support.cli import run
from tests.unit.discovery.test_watch import until
from tests.unit.store.results import NAME, write_result

ROOT = Path(__file__).parents[2]
RANKS = 3
#: The command with workers that stop at the file of one rank. ^C counts, even where CI runs in the background of a shell
#: that ignores it.
HELD = """
import functools, signal, sys
from pathlib import Path
signal.signal(signal.SIGINT, signal.default_int_handler)
from tb_npu_plugin.cli import main, show
from tests.unit.store.slow_worker import Holding
show.Library = functools.partial(show.Library, process=Holding(Path({folder!r}), "op_statistic.csv"))
main()
"""


@pytest.fixture
def logs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Three ranks; the last, which is also the largest, has one file more."""
    monkeypatch.setenv("TB_NPU_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("TB_NPU_WORKERS", "1")
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    for rank in range(RANKS):
        files = {"op_statistic.csv": "OP Type,Core Type,Count\nAdd,AI_CORE,1\n"} if rank == RANKS - 1 else {}
        write_result(tmp_path / "logs" / "run" / NAME.replace("4242", str(rank)), rank=rank, files=files)
    return tmp_path / "logs"


def entries(tmp_path: Path) -> dict[str, int]:
    """When each entry of the cache was written."""
    folder = tmp_path / "cache" / "entries"
    return {path.name: (path / META).stat().st_mtime_ns for path in folder.iterdir()} if folder.exists() else {}


def held(logs: Path, tmp_path: Path) -> list[str]:
    return [sys.executable, "-c", HELD.format(folder=str(tmp_path / "holding")), "ingest", str(logs)]


def test_everything_is_read_and_reported(logs: Path, tmp_path: Path) -> None:
    done = run("ingest", logs)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert len(lines) == RANKS and all("ready" in line and "0 problems" in line for line in lines)
    assert ["rank 0" in lines[0], "rank 1" in lines[1], "rank 2" in lines[2]] == [True] * 3
    before = entries(tmp_path)
    assert len(before) == 2 * RANKS
    assert run("ingest", logs).stdout.splitlines() == lines and entries(tmp_path) == before, "it is read once"


def test_interrupted_it_ends_cleanly_and_goes_on_with_what_is_not_done(logs: Path, tmp_path: Path) -> None:
    at = tmp_path / "holding" / "at"
    with subprocess.Popen(held(logs, tmp_path), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert until(at.exists)
        children = descendants({process.pid})
        process.send_signal(signal.SIGINT)
        out, told = process.communicate(timeout=120)
    assert process.returncode == 130 and out == ""
    assert "run it again" in told and "Traceback" not in told
    assert list((tmp_path / "cache" / "building").iterdir()) == []
    assert children and until(lambda: not any(Path(f"/proc/{child}/exe").exists() for child in children))
    before = entries(tmp_path)
    assert len(before) == RANKS - 1, "tables of the smaller ranks"
    assert run("ingest", logs).returncode == 0
    after = entries(tmp_path)
    assert len(after) == 2 * RANKS and {key: after[key] for key in before} == before


def test_on_a_terminal_each_rank_has_a_bar(logs: Path, tmp_path: Path) -> None:
    controller, terminal = pty.openpty()
    environment = {**os.environ, "TERM": "xterm", "COLUMNS": "120"}
    with subprocess.Popen(held(logs, tmp_path), stdout=subprocess.DEVNULL, stderr=terminal, env=environment) as process:
        os.close(terminal)
        shown = ""

        def is_shown() -> bool:
            nonlocal shown
            shown += os.read(controller, 65536).decode("utf-8", "replace")
            # a frame may come in pieces
            return all(text in shown for text in ("rank 2 · host1_2 op_statistic.csv", "all", "bytes"))

        assert until(is_shown), shown
        process.send_signal(signal.SIGINT)
        while True:
            try:
                if not os.read(controller, 65536):
                    break
            except OSError:  # the other end is closed
                break
    os.close(controller)
    assert process.returncode == 130
