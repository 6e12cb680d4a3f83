"""When a cache entry is valid, that it is complete or not there, and where it goes when a disk is full."""

from __future__ import annotations

import dataclasses
import errno
import os
import shutil
import stat
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tb_npu_plugin.discovery.model import FoundFile
from tb_npu_plugin.errors import BadSetting
from tb_npu_plugin.problems import TRANSIENT_CODES, Problem
from tb_npu_plugin.scan import check_settings
from tb_npu_plugin.store.cache import disk as cache_module
from tb_npu_plugin.store.cache.disk import Cache, entry_key, max_bytes, open_cache
from tb_npu_plugin.store.liveness import ABANDONED_AFTER
from tb_npu_plugin.store.pool.job import Job
from tb_npu_plugin.store.pool.pool import Pool
from tb_npu_plugin.store.pool.process import RequestFailed
from tb_npu_plugin.store.stages import Request
from tb_npu_plugin.user_cache import cache_root
from tests.unit.discovery.test_watch import until

FILES = (FoundFile("a.csv", 10, 1000), FoundFile("b.csv", 20, 2000))


def fill(cache: Cache, key: str, size: int = 100, used: float | None = None) -> Path:
    built = cache.new_folder()
    (built / "data").write_bytes(b"x" * size)
    entry = cache.commit(key, built, {"problems": []})
    assert entry is not None
    if used is not None:
        os.utime(entry.folder, (used, used))
    return entry.folder


def test_key_follows_everything_that_decides_the_content(monkeypatch: pytest.MonkeyPatch) -> None:
    folder = Path("/data/x")
    keys = [entry_key(folder, "tables", FILES)]
    keys.append(entry_key(Path("/data/y"), "tables", FILES))
    keys.append(entry_key(folder, "trace", FILES))
    keys.append(entry_key(folder, "tables", FILES[:1]))
    keys.append(entry_key(folder, "tables", (*FILES, FoundFile("c.csv", 1, 1))))
    keys.append(entry_key(folder, "tables", (dataclasses.replace(FILES[0], size=11), FILES[1])))
    keys.append(entry_key(folder, "tables", (dataclasses.replace(FILES[0], mtime_ns=1001), FILES[1])))
    monkeypatch.setattr(cache_module, "reader_version", lambda: "another")
    keys.append(entry_key(folder, "tables", FILES))
    assert len(set(keys)) == len(keys)
    assert keys[-1] == entry_key(folder, "tables", FILES)


@pytest.fixture
def unmovable(monkeypatch: pytest.MonkeyPatch) -> None:
    """A file system that does not move folders."""

    rename = Path.rename

    def refused(self: Path, target: Path) -> Path:
        if self.is_dir():
            raise OSError(errno.EXDEV, "Invalid cross-device link")
        return rename(self, target)

    monkeypatch.setattr(Path, "rename", refused)


@pytest.mark.usefixtures("unmovable")
def test_folders_that_cannot_be_moved_are_copied(tmp_path: Path) -> None:
    cache = Cache(tmp_path)
    folder = fill(cache, "k")
    assert (folder / "data").stat().st_size == 100 and list((tmp_path / "building").iterdir()) == []
    (folder / "data").write_bytes(b"")
    assert cache.get("k") is None and not folder.exists(), "a damaged one goes"
    fill(cache, "k", 50)
    assert (fill(cache, "k", 70) / "data").stat().st_size == 50, "of another server, which was first"


@pytest.mark.usefixtures("unmovable")
def test_a_copy_that_fails_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(built: Path, target: Path) -> None:
        target.mkdir()
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(cache_module.shutil, "copytree", full)
    with pytest.raises(OSError, match="No space"):
        fill(Cache(tmp_path), "k")
    assert list((tmp_path / "entries").iterdir()) == []


def test_only_the_user_can_look_into_it(tmp_path: Path) -> None:
    cache = Cache(tmp_path / "new")
    fill(cache, "k")
    for folder in (cache.root, cache.root / "entries", cache.root / "building"):
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700


@pytest.mark.parametrize("damage", ["meta gone", "meta cut", "meta list", "data cut", "data gone"])
def test_a_damaged_entry_is_dropped_and_can_be_built_again(tmp_path: Path, damage: str) -> None:
    cache = Cache(tmp_path)
    folder = fill(cache, "k")
    meta, data = folder / "meta.json", folder / "data"
    if damage == "meta gone":
        meta.unlink()
    elif damage == "meta cut":
        meta.write_text(meta.read_text()[:10])
    elif damage == "meta list":
        meta.write_text("[]")
    elif damage == "data cut":
        data.write_bytes(b"x")
    else:
        data.unlink()
    assert cache.get("k") is None
    assert not folder.exists()
    fill(cache, "k")
    assert cache.get("k") is not None


@pytest.mark.parametrize(("code", "is_kept"), [("stalled", False), ("worker_killed", True)])
def test_only_a_stalled_disk_is_tried_again_by_the_same_server(
    code: str, is_kept: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache, now = Cache(tmp_path), time.time()
    cache.commit("k", cache.new_folder(), {"problems": [Problem(code, "", "", "", "", "", "").as_json()]})
    assert cache.get("k") is not None
    monkeypatch.setattr(time, "time", lambda: now + 90)
    assert (cache.get("k") is not None) == is_kept


@pytest.mark.parametrize("text", [{"code": "found.gone", "params": {}}, {"code": "found.bytes", "params": {}}])
def test_an_entry_with_a_message_that_changed_is_dropped(text: dict[str, Any], tmp_path: Path) -> None:
    problem = {**Problem("file_cut", "a.csv", "", "", "", "", "").as_json(), "texts": {"found": text}}
    assert Cache(tmp_path).commit("k", Cache(tmp_path).new_folder(), {"problems": [problem]}) is None


def test_an_entry_that_is_committed_while_it_is_looked_for_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its file was not there, and its folder was a moment later: it was dropped as damaged."""
    cache = Cache(tmp_path)
    folder = fill(cache, "a")
    read, absent = Path.read_bytes, [True]

    def read_bytes(path: Path) -> bytes:
        if path.parent == folder and absent and absent.pop():
            raise FileNotFoundError(path)
        return read(path)

    monkeypatch.setattr(Path, "read_bytes", read_bytes)
    assert cache.get("a") is not None


def test_of_two_builds_the_first_stays(tmp_path: Path) -> None:
    one, two = Cache(tmp_path), Cache(tmp_path)
    first, second = one.new_folder(), two.new_folder()
    (first / "data").write_text("first")
    (second / "data").write_text("second")
    one.commit("k", first, {"problems": []})
    entry = two.commit("k", second, {"problems": []})
    assert entry is not None and (entry.folder / "data").read_text() == "first"
    assert list((tmp_path / "building").iterdir()) == []


@pytest.mark.parametrize("kind", ["killed", "running", "other machine", "old version"])
def test_remains_of_a_killed_process_are_removed_at_the_next_start(kind: str, tmp_path: Path) -> None:
    code = """if True:
        from pathlib import Path
        from tb_npu_plugin.store.cache.disk import Cache
        cache = Cache(Path("."))
        print(cache.new_folder().name, cache._session, flush=True)
        input()"""
    cache = Cache(tmp_path)
    own = cache.new_folder()
    with subprocess.Popen(
        [sys.executable, "-c", code], cwd=tmp_path, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        name, session = process.stdout.readline().split()  # type: ignore[union-attr]
        folder, lock = tmp_path / "building" / name, tmp_path / "processes" / session
        (folder / "data").write_text("half")
        if kind != "running":
            process.kill()
            process.wait()
        if kind == "other machine":  # whose locks a file system may hide
            lock.write_text("other")
        if kind == "old version":  # without a file of its process
            lock.unlink()
            folder = folder.rename(tmp_path / "building" / "0123")
        Cache(tmp_path)
        assert folder.exists() == lock.exists() == (kind == "running") or kind in ("other machine", "old version")
        assert folder.exists() == (kind != "killed")
        past = time.time() - ABANDONED_AFTER - 10
        for path in (folder, lock):
            if path.exists():
                os.utime(path, (past, past))
        Cache(tmp_path)
        assert folder.exists() == (kind == "running")
        process.kill()
    assert own.exists()


def test_what_was_not_used_for_longest_goes_first(tmp_path: Path) -> None:
    cache = Cache(tmp_path, limit=1000)
    now = time.time()
    for number, key in enumerate(("old", "older", "oldest")):
        fill(cache, key, 200, used=now - 100 * (number + 1))
    cache.get("oldest")  # used now
    fill(cache, "new", 400)
    assert {folder.name for folder in (tmp_path / "entries").iterdir()} == {"old", "oldest", "new"}


def test_the_cache_is_walked_when_it_may_be_full_and_not_after_each_entry(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    walks: list[str] = []
    shrink = Cache.shrink
    monkeypatch.setattr(Cache, "shrink", lambda cache, keep: walks.append(keep) or shrink(cache, keep))
    monkeypatch.setattr(cache_module, "MEASURE_INTERVAL", 3600.0)  # however long this test is kept from going on
    cache = Cache(tmp_path, limit=1000)
    for number in range(4):
        fill(cache, str(number), 280, used=time.time() - 100 + number)
    assert walks == ["0", "3"]
    assert {folder.name for folder in (tmp_path / "entries").iterdir()} == {"1", "2", "3"}
    monkeypatch.setattr(cache_module, "MEASURE_INTERVAL", -1)  # another server may have filled it
    fill(cache, "4", 1)
    assert walks == ["0", "3", "4"]


def test_without_a_place_for_it_the_cache_lasts_as_long_as_the_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def homeless(path: Path) -> Path:  # as for a container's user that is in no list of users
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.setattr(Path, "expanduser", homeless)
    monkeypatch.setattr(tempfile, "mkdtemp", lambda prefix: tmp_path.mkdir(exist_ok=True) or str(tmp_path))
    assert open_cache().root == tmp_path


@pytest.mark.parametrize("kind", ["killed", "running", "not temporary"])
def test_a_temporary_cache_of_a_killed_process_is_removed(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    code = "from tb_npu_plugin.store.temporary import temporary_root as new; print(new(), flush=True); input()"
    child = [sys.executable, "-c", code]
    with subprocess.Popen(
        child, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env={**os.environ, "TMPDIR": str(tmp_path)}
    ) as process:
        root = Path(os.fsdecode(process.stdout.readline()).strip())  # type: ignore[union-attr]
        if kind != "running":
            process.kill()
            process.wait()
        if kind == "not temporary":  # TB_NPU_CACHE_DIR may have such a name
            (root / "process.lock").unlink()
        open_cache()
        assert root.exists() == (kind != "killed")
        process.kill()


def test_a_cache_that_cannot_be_written_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # Its folders are there, of another user or on a read-only disk: each reading failed, and nothing was shown.
    fill(Cache(tmp_path), "key")

    def refuse(cache: Cache) -> Path:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Cache, "new_folder", refuse)
    with pytest.raises(PermissionError):
        Cache(tmp_path)


def test_place_and_size_come_from_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TB_NPU_CACHE_DIR", str(tmp_path / "own"))
    assert cache_root() == tmp_path / "own"
    monkeypatch.delenv("TB_NPU_CACHE_DIR")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert cache_root() == tmp_path / "xdg" / "tb-npu-plugin"
    monkeypatch.setenv("TB_NPU_CACHE_MAX_GB", "0.5")
    assert max_bytes() == 500_000_000
    monkeypatch.setenv("TB_NPU_CACHE_MAX_GB", "much")
    assert max_bytes() == 20_000_000_000


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
