"""What the machine refuses during a scan is told as such and tried again: it is no damage, and what was found before stays."""

from __future__ import annotations

import errno
import os
import resource
import selectors
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tb_npu_plugin import foreign_sqlite
from tb_npu_plugin.discovery import look_client, looks
from tb_npu_plugin.discovery.model import Scan
from tb_npu_plugin.discovery.scan import scan
from tb_npu_plugin.discovery.watch import Watcher
from tb_npu_plugin.problems import ProblemLog
from tb_npu_plugin.readers.mindinsight.reader import read_capture
from tests.support.fixtures import FIXTURES

REFUSALS = [OSError(number, os.strerror(number)) for number in (errno.EMFILE, errno.ENFILE, errno.ENOMEM)]
HOSTS = "mindinsight_hosts"
RAW = "PROF_000001_20250615070000123_ABCDEFGH"


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    for name in ("level1", HOSTS, "msprof", "msprof_raw", "mindspore_data"):
        shutil.copytree(FIXTURES / "results" / name, tmp_path / name)
    for output in (tmp_path / "level1").glob("*/ASCEND_PROFILER_OUTPUT"):
        (output.parent / RAW).mkdir()
    (tmp_path / "other" / RAW / "device_0").mkdir(parents=True)
    return tmp_path


@contextmanager
def listing(number: int, error: BaseException) -> Iterator[list[str]]:
    """Refuse one listing of a folder. Yields the listed folders."""
    real, listed = os.scandir, []

    def scandir(path: Path) -> Any:
        listed.append(str(path))
        if len(listed) - 1 == number:
            raise error
        return real(path)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "scandir", scandir)
        yield listed


def told(found: Scan) -> set[tuple[str, str]]:
    return {(item.path, item.reason) for item in found.skipped if not item.is_refused}


def test_whichever_listing_is_refused_costs_nothing_that_was_found(logs: Path) -> None:
    watcher = Watcher({"": logs}, background=False)
    with listing(-1, MemoryError()) as listed:
        whole = watcher.update()
    assert len(whole.runs) >= 3
    for number in range(len(listed)):
        error = (REFUSALS[0], MemoryError())[number % 2]
        with listing(number, error):
            fresh = scan({"": logs})
        refused = [item for item in fresh.skipped if item.is_refused]
        assert [("refused" in item.reason, "next scan" in item.action) for item in refused] == [(True, True)]
        assert told(fresh) <= told(whole), listed[number]
        assert set(fresh.places()) <= set(whole.places()), listed[number]
        with listing(number, error):
            assert watcher.update().runs == whole.runs, listed[number]
    assert watcher.update() == whole


def test_a_scan_without_descriptors(logs: Path) -> None:
    watcher = Watcher({"": logs}, background=False)
    whole = watcher.update()
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (3, hard))
    try:
        found, fresh = watcher.update(), scan({"": logs})
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    assert found.runs == whole.runs and fresh.runs == ()
    assert [(item.path, "Too many open files" in item.reason) for item in found.skipped] == [(".", True)]
    assert watcher.update() == whole


@pytest.mark.parametrize(
    ("closed", "hides"), [(RAW, ["other"]), ("FRAMEWORK", []), ("cluster_profiler", [f"{HOSTS}/run"])]
)
def test_a_folder_without_permission_is_told_and_costs_itself_alone(logs: Path, closed: str, hides: list[str]) -> None:
    real = os.scandir

    def scandir(path: Path) -> Any:  # root may read everything, so the refusal is played
        if Path(path).name == closed and Path(path).is_dir():
            raise PermissionError(errno.EACCES, "Permission denied")
        return real(path)

    whole = scan({"": logs})
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "scandir", scandir)
        found = scan({"": logs})
    runs = {run.label for run in found.runs} | {item.path.rpartition("/")[0] for item in found.skipped}
    assert runs >= {run.label for run in whole.runs}
    denied = [item.path for item in found.skipped if "No permission" in item.reason]
    folders = [str(path.relative_to(logs)) for path in logs.rglob(closed)]
    assert sorted(denied) == sorted(folders)
    assert told(found) - told(whole) == {(item.path, item.reason) for item in found.skipped if item.path in denied}
    assert {run.label for run in whole.runs} - {run.label for run in found.runs} <= set(hides)


def test_an_answer_that_could_not_be_awaited_is_nobodys(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for rank in (0, 1):
        head = f'{{"schemaVersion": 1, "distributedInfo": {{"rank": {rank}}}, "traceEvents": []}}'
        (tmp_path / f"{rank}.json").write_text(head)
    asking = look_client.Looks()

    def refuse() -> None:
        raise REFUSALS[0]

    with monkeypatch.context() as patch:
        patch.setattr(selectors, "DefaultSelector", refuse)
        failed = asking.ask(looks.TRACE_HEAD, str(tmp_path / "0.json"), 1, 1)
    assert isinstance(failed, look_client.Failure) and failed.skipped.is_refused and not failed.is_lasting
    found = asking.ask(looks.TRACE_HEAD, str(tmp_path / "1.json"), 1, 1)
    asking.close()
    assert isinstance(found, looks.TraceHead) and found.rank == 1


@pytest.mark.parametrize("text", ["database or disk is full", "out of memory", "unable to open database file"])
def test_what_sqlite_is_refused_is_no_answer(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any, **__: Any) -> None:
        raise sqlite3.OperationalError(text)

    monkeypatch.setattr(foreign_sqlite, "connect", refuse)
    with pytest.raises(OSError, match=text):
        looks.ranks_of_database(str(FIXTURES / "recorded/cluster_db/cluster_analysis_output/cluster_analysis.db"))


@pytest.mark.parametrize("error", [*REFUSALS, MemoryError(), PermissionError(errno.EACCES, "Permission denied")])
def test_a_rank_table_that_is_refused_is_not_taken_as_empty(error: Exception, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = FIXTURES / "results" / HOSTS
    (place, *_) = scan({"": folder}).places()
    files = [file.relative for file in place.span.files]
    assert read_capture(place.span.folder, files, ProblemLog()).rank == place.worker.rank

    def refuse(*_: Any) -> None:
        raise error

    monkeypatch.setattr(looks, "open_regular", refuse)
    monkeypatch.setattr(looks, "read_start", refuse)
    if isinstance(error, PermissionError):  # the rank of the scan stays valid, and the scan says why
        assert read_capture(place.span.folder, files, ProblemLog()).rank is None
    else:
        with pytest.raises(type(error)):
            read_capture(place.span.folder, files, ProblemLog())
