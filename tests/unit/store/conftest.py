from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tb_npu_plugin.discovery.watch import Watcher
from tb_npu_plugin.store.cache.disk import Cache
from tb_npu_plugin.store.library import Library
from tb_npu_plugin.store.pool import pool as jobs
from tb_npu_plugin.store.pool import process
from tests.unit.store.slow_worker import Holding


@pytest.fixture(autouse=True)
def _patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """However busy the machine is, what ends has the time to clear up and is not killed while it does."""
    monkeypatch.setattr(jobs, "CLOSE_TIMEOUT", 120.0)
    monkeypatch.setattr(process, "EXIT_TIMEOUT", 120.0)


@pytest.fixture
def library(tmp_path: Path, holding: Holding) -> Iterator[Library]:
    """Of tmp_path/logs, with one worker, which holds where the test's `holding` says."""
    watcher = Watcher({"": tmp_path / "logs"}, background=False)
    made = Library(watcher, Cache(tmp_path / "cache"), workers=1, process=holding)
    yield made
    made.close()
