"""A full disk is no defect of the data, nor of ours: the cache moves to another disk, or the page names the folder."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tb_npu_plugin.discovery.model import FoundFile
from tb_npu_plugin.errors import BadSetting
from tb_npu_plugin.problems import TRANSIENT_CODES, Problem
from tb_npu_plugin.scan import check_settings
from tb_npu_plugin.store.cache import disk as cache_module
from tb_npu_plugin.store.cache.disk import Cache, open_cache
from tb_npu_plugin.store.pool.job import Job
from tb_npu_plugin.store.pool.pool import Pool
from tb_npu_plugin.store.pool.process import RequestFailed
from tb_npu_plugin.store.stages import Request
from tests.unit.discovery.test_watch import until


class Full:
    """A worker to which the first disk is full."""

    first: Path

    def run(self, request: Request, say: Callable[[dict[str, Any]], None]) -> dict[str, Any]:
        if self.first in request.out.parents:
            raise RequestFailed("OSError: [Errno 28] No space left on device", "Traceback ...", 28)
        (request.out / "data").write_text("there")
        return {"problems": []}

    def kill(self) -> None:
        pass

    def close(self) -> None:
        pass


def read(tmp_path: Path) -> tuple[Job, Cache]:
    Full.first = tmp_path / "cache"
    cache, done = Cache(Full.first), list[Job]()
    pool = Pool(cache, 1, done.append, Full)
    pool.submit(Job("key", "span", "tables", tmp_path, (FoundFile("x.csv", 50 << 20, 1),)))
    assert until(lambda: bool(done))
    pool.close()
    return done[0], cache


def test_the_folder_what_it_needs_and_what_it_has_are_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Cache, "fall_back", lambda self, size: False)
    job, _ = read(tmp_path)
    (problem,) = job.problems
    assert problem.code == "disk_full" and str(tmp_path / "cache") in problem.expected and "50 MB" in problem.expected
    assert "MB are free" in problem.found and "TB_NPU_CACHE_DIR" in problem.action and "Report" not in problem.action


def test_it_goes_on_on_another_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    other = tmp_path / "other"
    other.mkdir()
    before = Cache(tmp_path / "cache")
    before.commit("older", before.new_folder(), {"problems": []})
    monkeypatch.setattr(tempfile, "tempdir", str(other))
    monkeypatch.setattr(cache_module, "device_of", lambda path: 1 if path == other else 2)
    job, cache = read(tmp_path)
    assert job.state == "ready" and other in cache.root.parents
    entry = cache.get("key")
    assert entry is not None and (entry.folder / "data").read_text() == "there"
    assert cache.get("older") is not None
    shutil.rmtree(cache.root)


@pytest.mark.parametrize("code", sorted(TRANSIENT_CODES))
def test_what_came_of_the_machine_is_kept_for_this_server_only(code: str, tmp_path: Path) -> None:
    here = Cache(tmp_path)
    problem = Problem(code, "x.csv", "", "", "", "", "").as_json()
    assert here.commit("key", here.new_folder(), {"problems": [problem]}) is not None
    assert here.get("key") is not None
    assert Cache(tmp_path).get("key") is None


@pytest.mark.parametrize(("name", "value"), [("TB_NPU_SCANNER", "native"), ("TB_NPU_SCAN_THREADS", "many")])
def test_settings_are_checked_at_the_start(name: str, value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(name, value)
    with pytest.raises(BadSetting, match=value) as raised:
        check_settings()
    assert name in raised.value.hint


def test_a_cache_that_others_can_change_is_not_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = tmp_path.resolve() / "cache"
    root.mkdir(mode=0o700)
    monkeypatch.setenv("TB_NPU_CACHE_DIR", str(root))
    assert open_cache().root == root
    root.chmod(0o777)
    fresh = open_cache().root
    assert fresh != root and fresh.stat().st_mode & 0o077 == 0 and fresh.stat().st_uid == os.geteuid()
