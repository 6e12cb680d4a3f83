"""tb-npu board: TensorBoard shows the Summary events and the profiles of one logdir."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import pytest

from benchmarks.server import port_of
from tests.support import summary_files as files
from tests.unit.store.results import NAME, write_result


@pytest.mark.slow
def test_board_shows_events_and_profiles_and_leaves_the_logdir_as_it_is(tmp_path: Path) -> None:
    logdir = tmp_path / "logs"
    write_result(logdir / "output/profile/rank_0" / NAME, rank=0, trace=None)
    file = files.write(logdir / "output/summary/rank_0", files.event(7, files.scalar("loss/auto", 0.1)))
    before = sorted(logdir.rglob("*"))
    log = tmp_path / "log"
    command = [sys.executable, "-m", "tb_npu_plugin", "board", str(logdir), "--host", "127.0.0.1", "--port", "0"]
    environment = {**os.environ, "TB_NPU_CACHE_DIR": str(tmp_path / "cache")}
    with (
        log.open("wb") as output,
        subprocess.Popen(
            [*command, "--reload_interval", "1"], stdout=output, stderr=subprocess.STDOUT, env=environment
        ) as process,
    ):
        try:
            url = f"http://127.0.0.1:{port_of(process, log)}/data/"

            def get(route: str) -> Any:
                with urlopen(url + route, timeout=60) as answer:  # our own server
                    return json.load(answer)

            end = time.monotonic() + 60
            while not (runs := get("runs")) and time.monotonic() < end:
                time.sleep(0.2)
            assert runs == ["output/summary/rank_0"], log.read_text()
            ((_, step, value),) = get("plugin/scalars/scalars?run=output/summary/rank_0&tag=loss/auto")
            assert (step, value) == (7, 0.10000000149011612)
            while (catalog := get("plugin/npu_profiler/api/catalog"))["scanning"] and time.monotonic() < end:
                time.sleep(0.2)
            assert [run["label"] for run in catalog["runs"]] == ["output/profile"]
            assert (catalog["logdirs"], catalog["summaries"]) == ([str(logdir)], [])
        finally:
            process.terminate()
    assert sorted(logdir.rglob("*")) == before and file.is_file()
