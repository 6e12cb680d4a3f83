"""The pool: order, one retry for a killed worker, failures that are told, an end that leaves nobody behind."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tb_npu_plugin.discovery.model import FoundFile
from tb_npu_plugin.schema.core import Stage
from tb_npu_plugin.store.cache.disk import Cache
from tb_npu_plugin.store.pool import job as job_module
from tb_npu_plugin.store.pool import pool as jobs_module
from tb_npu_plugin.store.pool.job import Job
from tb_npu_plugin.store.pool.pool import Pool
from tb_npu_plugin.store.pool.process import Failed, Killed
from tb_npu_plugin.store.stages import Request
from tests.unit.discovery.test_watch import until


class Played:
    """A worker process that does as it is told by the name of the folder that it is to read."""

    made: list[Played]
    begun: list[str]
    done: list[str]
    gate: threading.Event

    def __init__(self) -> None:
        self.ended = threading.Event()
        Played.made.append(self)

    def run(self, request: Request, say: Callable[[dict[str, Any]], None]) -> dict[str, Any]:
        name = f"{request.folder.name}/{request.stage}"
        say({"file": "x.csv", "bytes": 10})
        Played.begun.append(name)
        if "wait" in name:
            Played.gate.wait(120)
            if self.ended.is_set():
                raise Killed("ended by SIGKILL")
        Played.done.append(name)
        if "failing" in name:
            raise Failed("ValueError: played", "Traceback ...")
        if "killed always" in name or ("killed once" in name and Played.done.count(name) == 1):
            raise Killed("ended by SIGKILL")
        (request.out / "data").write_text(name)
        return {"problems": []}

    def kill(self) -> None:
        self.ended.set()
        Played.gate.set()

    def close(self) -> None:
        self.ended.set()


@pytest.fixture(autouse=True)
def _fresh() -> None:
    Played.made, Played.begun, Played.done, Played.gate = [], [], [], threading.Event()


def job(name: str, stage: Stage = "tables", urgent: bool = False) -> Job:
    return Job(f"key-{name}-{stage}", f"span-{name}", stage, Path("/data") / name, (FoundFile("x.csv", 50, 1),), urgent)


def make(tmp_path: Path, size: int = 1, done: Callable[[Job], None] = lambda job: None) -> Pool:
    return Pool(Cache(tmp_path), size, done, Played)


def test_a_job_becomes_a_cache_entry(tmp_path: Path) -> None:
    seen: list[Job] = []
    pool = make(tmp_path, done=seen.append)
    pool.submit(job("good"))
    assert until(lambda: len(seen) == 1)
    assert seen[0].state == "ready" and seen[0].bytes_done == 50
    entry = Cache(tmp_path).get("key-good-tables")
    assert entry is not None and (entry.folder / "data").read_text() == "good/tables"
    assert pool.job("key-good-tables") is None
    pool.close()


def test_what_another_server_has_read_meanwhile_is_not_read_again(tmp_path: Path) -> None:
    cache = Cache(tmp_path)
    built = cache.new_folder()
    (built / "data").write_text("theirs")
    cache.commit("key-good-tables", built, {"problems": []})
    seen: list[Job] = []
    pool = make(tmp_path, done=seen.append)
    pool.submit(job("good"))
    assert until(lambda: len(seen) == 1)
    assert seen[0].state == "ready" and seen[0].bytes_done == 50 and Played.begun == []
    entry = cache.get("key-good-tables")
    assert entry is not None and (entry.folder / "data").read_text() == "theirs"
    pool.close()


def test_a_job_that_kills_each_worker_fails_and_the_next_one_goes_on(tmp_path: Path) -> None:
    seen: list[Job] = []
    pool = make(tmp_path, done=seen.append)
    pool.submit(job("killed always"))
    pool.submit(job("good"))
    assert until(lambda: len(seen) == 2)
    assert [item.state for item in seen] == ["failed", "ready"]
    (problem,) = seen[0].problems
    assert problem.code == "worker_killed" and "SIGKILL" in problem.found and problem.action
    assert Played.done.count("killed always/tables") == 2
    pool.close()


def test_a_failure_is_told_kept_and_not_tried_again(tmp_path: Path) -> None:
    seen: list[Job] = []
    pool = make(tmp_path, done=seen.append)
    pool.submit(job("failing"))
    assert until(lambda: len(seen) == 1)
    again = pool.submit(job("failing"))
    assert again is seen[0] and again.state == "failed" and again.message == "ValueError: played"
    assert [problem.code for problem in again.problems] == ["reading_failed"]
    assert Played.done == ["failing/tables"] and Cache(tmp_path).get("key-failing-tables") is None
    pool.close()


def test_tables_go_before_traces_and_what_is_looked_at_before_the_rest(tmp_path: Path) -> None:
    seen: list[Job] = []
    pool = make(tmp_path, done=seen.append)
    pool.submit(job("wait"))
    assert until(lambda: pool.job("key-wait-tables").state == "reading")
    pool.submit(job("a", "trace"))
    pool.submit(job("b", "tables"))
    pool.submit(job("c", "trace", urgent=True))
    pool.submit(job("d", "tables", urgent=True))
    pool.submit(job("e", "tables"))
    pool.submit(job("e", "tables", urgent=True))  # asked for again, now with hurry
    Played.gate.set()
    assert until(lambda: len(seen) == 6)
    assert Played.done[1:] == ["d/tables", "e/tables", "c/trace", "b/tables", "a/trace"]
    pool.close()


def test_no_more_workers_than_asked_for(tmp_path: Path) -> None:
    pool = make(tmp_path, size=2)
    for number in range(6):
        pool.submit(job(f"wait {number}"))
    assert until(lambda: len(Played.begun) == 2)
    assert sum(item.state == "reading" for item in pool.jobs()) == len(Played.made) == 2
    assert sum(item.state == "waiting" for item in pool.jobs()) == 4
    Played.gate.set()
    assert until(lambda: len(Played.done) == 6)
    assert len(Played.made) == 2
    pool.close()


def test_jobs_that_come_together_are_shared_out_after_a_pause(tmp_path: Path) -> None:
    # The one idle thread was counted for every job that came before it woke: they ran one after the other.
    seen: list[Job] = []
    pool = make(tmp_path, size=3, done=seen.append)
    pool.submit(job("good"))
    assert until(lambda: len(seen) == 1 and pool._idle == 1)
    with pool._changed:  # the idle thread cannot wake meanwhile
        for number in range(3):
            pool.submit(job(f"wait {number}"))
    assert until(lambda: sum(item.state == "reading" for item in pool.jobs()) == 3)
    Played.gate.set()
    assert until(lambda: len(seen) == 4)
    pool.close()


def test_closing_ends_the_workers_and_drops_what_waits(tmp_path: Path) -> None:
    seen: list[Job] = []
    pool = make(tmp_path, done=seen.append)
    pool.submit(job("wait"))
    pool.submit(job("never"))
    assert until(lambda: Played.begun == ["wait/tables"])
    pool.close()
    assert until(lambda: len(seen) == 1)
    assert seen[0].state == "failed" and Played.done == [] and Played.made[0].ended.is_set()


def test_a_worker_without_work_is_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jobs_module, "IDLE", 0.05)
    pool = make(tmp_path)
    pool.submit(job("good"))
    assert until(lambda: bool(Played.made) and Played.made[0].ended.is_set())
    pool.submit(job("another"))  # and a new one is started
    assert until(lambda: len(Played.done) == 2)
    pool.close()


def test_a_worker_that_cannot_be_started_is_told(tmp_path: Path) -> None:
    def refuse() -> Played:
        raise OSError("no more processes")

    seen: list[Job] = []
    pool = Pool(Cache(tmp_path), 1, seen.append, refuse)
    pool.submit(job("good"))
    assert until(lambda: len(seen) == 1)
    assert seen[0].state == "failed" and "no more processes" in seen[0].message
    pool.close()


def test_progress_has_a_rate_and_an_estimate_once_it_can_be_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = [100.0]
    monkeypatch.setattr(job_module, "time", SimpleNamespace(monotonic=lambda: now[0]))  # not that of other threads
    one = job("x")
    assert one.rate is None and one.eta is None
    one.state, one.started, one.bytes_done = "reading", 100.0, 10
    assert one.rate is None
    now[0] = 102.0
    assert one.rate == 5.0 and one.eta == 8.0
