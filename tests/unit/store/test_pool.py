"""The pool: order of jobs, memory, one retry for a killed worker, failures, closing."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tb_npu_plugin.discovery.model import FoundFile
from tb_npu_plugin.schema.core import Stage
from tb_npu_plugin.store.cache.disk import Cache
from tb_npu_plugin.store.pool import job as job_module
from tb_npu_plugin.store.pool import limits
from tb_npu_plugin.store.pool import pool as pool_module
from tb_npu_plugin.store.pool.job import Job
from tb_npu_plugin.store.pool.limits import WORKER_BYTES, memory_budget, needed_memory
from tb_npu_plugin.store.pool.pool import Pool
from tb_npu_plugin.store.pool.process import RequestFailed, WorkerKilled
from tb_npu_plugin.store.stages import Request
from tests.unit.discovery.test_watch import until

MEBIBYTE = 1 << 20


class Workers:
    """Makes fake worker processes; the name of the folder that one reads says what it does. One whose name holds "wait"
    stops until `let` names it."""

    def __init__(self) -> None:
        self.made: list[FakeWorker] = []
        self.begun: list[str] = []
        self.done: list[str] = []
        self._gates: dict[str, threading.Event] = {}

    def gate(self, name: str) -> threading.Event:
        return self._gates.setdefault(name, threading.Event())

    def let(self, *names: str) -> None:
        for name in names:
            self.gate(name).set()

    def __call__(self) -> FakeWorker:
        self.made.append(FakeWorker(self))
        return self.made[-1]


class FakeWorker:
    def __init__(self, workers: Workers) -> None:
        self.ended, self._workers, self._name = threading.Event(), workers, ""

    def run(self, request: Request, say: Callable[[dict[str, Any]], None]) -> dict[str, Any]:
        workers, self._name = self._workers, request.folder.name
        say({"file": "x.csv", "bytes": 10})
        workers.begun.append(self._name)
        if "wait" in self._name:
            workers.gate(self._name).wait(120)
            if self.ended.is_set():
                raise WorkerKilled("ended by SIGKILL")
        workers.done.append(self._name)
        if "failing" in self._name:
            raise RequestFailed("ValueError: played", "Traceback ...")
        if "killed always" in self._name or ("killed once" in self._name and workers.done.count(self._name) == 1):
            raise WorkerKilled("ended by SIGKILL")
        (request.out / "data").write_text(self._name)
        return {"problems": []}

    def kill(self) -> None:
        self.ended.set()
        self._workers.let(self._name)

    def close(self) -> None:
        self.ended.set()


@pytest.fixture
def workers() -> Workers:
    return Workers()


@pytest.fixture
def seen() -> list[Job]:
    """Jobs that ended."""
    return []


@pytest.fixture
def make(tmp_path: Path, workers: Workers, seen: list[Job]) -> Iterator[Callable[..., Pool]]:
    made: list[Pool] = []

    def pool(size: int = 1, megabytes: int = 10_000) -> Pool:
        made.append(Pool(Cache(tmp_path), size, seen.append, workers, lambda: megabytes * MEBIBYTE))
        return made[-1]

    yield pool
    for one in made:
        one.close()


def job(name: str, stage: Stage = "tables", urgent: bool = False, megabytes: float = 1) -> Job:
    file = FoundFile("x.csv", int(megabytes * MEBIBYTE), 1)
    return Job(f"key-{name}-{stage}", f"span-{name}", stage, Path("/data") / name, (file,), urgent)


def data(tmp_path: Path, key: str) -> str | None:
    """What is in the cache under a key."""
    entry = Cache(tmp_path).get(key)
    return None if entry is None else (entry.folder / "data").read_text()


def test_entry_of_another_server_is_used(tmp_path: Path, make: Any, seen: list[Job], workers: Workers) -> None:
    cache = Cache(tmp_path)
    built = cache.new_folder()
    (built / "data").write_text("theirs")
    cache.commit("key-good-tables", built, {"problems": []})
    make().submit(job("good"))
    assert until(lambda: len(seen) == 1)
    assert seen[0].state == "ready" and seen[0].bytes_done == MEBIBYTE and workers.begun == []
    assert data(tmp_path, "key-good-tables") == "theirs"


def test_killed_worker_is_replaced_once(tmp_path: Path, make: Any, seen: list[Job], workers: Workers) -> None:
    pool = make()
    for name in ("killed once", "killed always", "good"):
        pool.submit(job(name))
    assert until(lambda: len(seen) == 3)
    assert {item.folder.name: item.state for item in seen} == {
        "killed once": "ready",
        "killed always": "failed",
        "good": "ready",
    }
    (problem,) = next(item for item in seen if item.state == "failed").problems
    assert problem.code == "worker_killed" and "SIGKILL" in problem.found and problem.action
    assert [workers.done.count(name) for name in ("killed once", "killed always")] == [2, 2]
    assert list((tmp_path / "building").iterdir()) == []


def test_failure_is_kept_and_not_repeated(tmp_path: Path, make: Any, seen: list[Job], workers: Workers) -> None:
    pool = make()
    pool.submit(job("failing"))
    assert until(lambda: len(seen) == 1)
    again = pool.submit(job("failing"))
    assert again is seen[0] and again.state == "failed" and again.message == "ValueError: played"
    assert [problem.code for problem in again.problems] == ["reading_failed"]
    assert workers.done == ["failing"] and data(tmp_path, "key-failing-tables") is None


def test_urgent_jobs_then_tables_then_small_ones(make: Any, seen: list[Job], workers: Workers) -> None:
    pool = make()
    pool.submit(job("wait"))
    assert until(lambda: pool.job("key-wait-tables").state == "reading")
    pool.submit(job("trace", "trace", megabytes=1))
    pool.submit(job("large", megabytes=50))
    pool.submit(job("small", megabytes=3))
    pool.submit(job("urgent trace", "trace", urgent=True))
    pool.submit(job("urgent", urgent=True))
    pool.submit(job("later urgent"))
    pool.submit(job("later urgent", urgent=True))
    workers.let("wait")
    assert until(lambda: len(seen) == 7)
    assert workers.done[1:] == ["urgent", "later urgent", "urgent trace", "small", "large", "trace"]


def test_size_limits_the_workers(make: Any, workers: Workers) -> None:
    pool = make(size=2)
    names = [f"wait {number}" for number in range(6)]
    for name in names:
        pool.submit(job(name))
    assert until(lambda: len(workers.begun) == 2)
    assert sum(item.state == "reading" for item in pool.jobs()) == 2
    assert sum(item.state == "waiting" for item in pool.jobs()) == 4
    workers.let(*names)
    assert until(lambda: len(workers.done) == 6)
    assert len(workers.made) == 2


def test_idle_thread_is_not_counted_for_several_jobs(make: Any, seen: list[Job], workers: Workers) -> None:
    pool = make(size=3)
    pool.submit(job("good"))
    assert until(lambda: len(seen) == 1 and pool._idle == 1)
    names = [f"wait {number}" for number in range(3)]
    with pool._changed:  # the idle thread cannot wake meanwhile
        for name in names:
            pool.submit(job(name))
    assert until(lambda: sum(item.state == "reading" for item in pool.jobs()) == 3)
    workers.let(*names)


def test_closing_ends_workers_and_drops_waiting_jobs(make: Any, seen: list[Job], workers: Workers) -> None:
    pool = make()
    pool.submit(job("wait"))
    pool.submit(job("never"))
    assert until(lambda: workers.begun == ["wait"])
    pool.close()
    assert until(lambda: len(seen) == 1)
    assert seen[0].state == "failed" and workers.done == [] and workers.made[0].ended.is_set()


def test_idle_worker_is_ended_and_replaced(make: Any, workers: Workers, monkeypatch: pytest.MonkeyPatch) -> None:
    """One that has read holds memory. The new one is ready before a job needs it."""
    monkeypatch.setattr(pool_module, "IDLE_USED", 0.05)
    pool = make(size=1)
    pool.submit(job("good"))
    assert until(lambda: bool(workers.made) and workers.made[0].ended.is_set())
    assert until(lambda: len(workers.made) == 2)
    monkeypatch.setattr(pool_module, "IDLE_USED", 3600.0)
    pool.submit(job("another"))
    assert until(lambda: len(workers.done) == 2) and len(workers.made) == 2


def test_a_worker_without_a_job_is_ended(make: Any, workers: Workers, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pool_module, "IDLE_NEW", 0.05)
    pool = make(size=1)
    pool.start_ahead()
    assert until(lambda: bool(workers.made) and workers.made[0].ended.is_set())
    assert until(lambda: not pool._threads) and len(workers.made) == 1


@pytest.mark.defect
def test_worker_that_cannot_be_started_is_reported(tmp_path: Path, seen: list[Job]) -> None:
    def refuse() -> FakeWorker:
        raise OSError("no more processes")

    pool = Pool(Cache(tmp_path), 1, seen.append, refuse)
    pool.submit(job("good"))
    assert until(lambda: len(seen) == 1)
    assert seen[0].state == "failed" and "no more processes" in seen[0].message
    pool.close()


def test_progress_has_a_rate_and_an_estimate(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [100.0]
    monkeypatch.setattr(job_module, "time", SimpleNamespace(monotonic=lambda: now[0]))  # not that of other threads
    one = job("x", megabytes=50 / MEBIBYTE)
    assert one.rate is None and one.eta is None
    one.state, one.started, one.bytes_done = "reading", 100.0, 10
    assert one.rate is None
    now[0] = 102.0
    assert one.rate == 5.0 and one.eta == 8.0


def test_jobs_run_together_while_they_fit_into_memory(make: Any, seen: list[Job], workers: Workers) -> None:
    pool = make(size=4, megabytes=1000)
    for name in "abc":
        pool.submit(job(f"wait {name}", megabytes=500))  # 400 MB each
    assert until(lambda: len(workers.begun) == 2)
    assert [item.state for item in pool.jobs()] == ["reading", "reading", "waiting"]
    workers.let("wait a")
    assert until(lambda: len(workers.begun) == 3) and workers.begun[2] == "wait c"
    workers.let("wait b", "wait c")
    assert until(lambda: len(seen) == 3)


def test_large_job_runs_alone_before_small_ones(make: Any, seen: list[Job], workers: Workers) -> None:
    pool = make(size=4, megabytes=600)
    pool.submit(job("wait first"))
    assert until(lambda: workers.begun == ["wait first"])
    pool.submit(job("wait large", urgent=True, megabytes=5000))
    pool.submit(job("small"))
    assert [item.state for item in pool.jobs()] == ["reading", "waiting", "waiting"]
    workers.let("wait first")
    assert until(lambda: workers.begun == ["wait first", "wait large"])
    workers.let("wait large")
    assert until(lambda: len(seen) == 3) and workers.begun[2] == "small"


def test_cancelled_job_makes_room(make: Any, workers: Workers, monkeypatch: pytest.MonkeyPatch) -> None:
    """The threads that waited with it have ended: others are started."""
    monkeypatch.setattr(pool_module, "IDLE_NEW", 0.01)
    pool = make(size=4, megabytes=500)
    pool.submit(job("wait"))
    assert until(lambda: workers.begun == ["wait"])
    pool.submit(job("large", urgent=True, megabytes=5000))
    pool.submit(job("small"))
    assert until(lambda: len(pool._threads) == 1)
    pool.cancel("key-large-tables")
    assert until(lambda: workers.begun == ["wait", "small"])
    workers.let("wait")


def test_memory_estimate_follows_size_and_compression() -> None:
    plain = FoundFile("a/trace_view.json", 1000 * MEBIBYTE, 1, ("trace",))
    packed = FoundFile("a/trace_view.json.gz", 100 * MEBIBYTE, 1, ("trace",))
    assert needed_memory([]) == WORKER_BYTES
    assert needed_memory([plain]) == WORKER_BYTES + 500 * MEBIBYTE
    assert needed_memory([packed]) > needed_memory([plain])
    assert needed_memory([plain, plain]) == WORKER_BYTES + 1000 * MEBIBYTE


def system(root: Path, files: dict[str, str]) -> Path:
    for name, content in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(content)
    return root


MEMORY = {"proc/meminfo": "MemTotal:       8388608 kB\nMemFree:         102400 kB\nMemAvailable:   4194304 kB\n"}


def group(path: str, most: str, current: int, stat: str = "") -> dict[str, str]:
    """Files of a cgroup of version 2."""
    files = {"memory.max": most, "memory.current": str(current), **({"memory.stat": stat} if stat else {})}
    return {f"sys/fs/cgroup{path}/{name}": f"{content}\n" for name, content in files.items()}


BUDGETS: dict[str, tuple[dict[str, str], int]] = {
    "unknown": ({}, limits.UNKNOWN_BYTES),
    "machine": (MEMORY, 4 << 30),
    "group without limit": ({**MEMORY, "proc/self/cgroup": "0::/\n", **group("", "max", 5)}, 4 << 30),
    "group": (
        {
            **MEMORY,
            "proc/self/cgroup": "0::/\n",
            **group("", str(3 << 30), 2 << 30, f"anon 1\ninactive_file {1 << 29}"),
        },
        (1 << 30) + (1 << 29),
    ),
    "group above": (
        {
            **MEMORY,
            "proc/self/cgroup": "0::/user/app\n",
            **group("/user", str(1 << 30), 0),
            **group("/user/app", "max", 0),
        },
        1 << 30,
    ),
    "version 1 in a container": (
        {
            **MEMORY,
            "proc/self/cgroup": "4:cpu,memory:/docker/ab\n0::/\n",
            "sys/fs/cgroup/memory/memory.limit_in_bytes": f"{2 << 30}\n",
            "sys/fs/cgroup/memory/memory.usage_in_bytes": f"{1 << 30}\n",
            "sys/fs/cgroup/memory/memory.stat": f"inactive_file 7\ntotal_inactive_file {1 << 28}\n",
        },
        (1 << 30) + (1 << 28),
    ),
}


@pytest.mark.parametrize("case", BUDGETS)
def test_budget_is_half_of_what_is_available(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, case: str) -> None:
    files, available = BUDGETS[case]
    monkeypatch.delenv("TB_NPU_MEMORY_MB", raising=False)
    assert memory_budget(system(tmp_path, files)) == available // 2


def test_budget_of_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = system(tmp_path, MEMORY)
    monkeypatch.setenv("TB_NPU_MEMORY_MB", "300")
    assert memory_budget(root) == 300 * MEBIBYTE
    for wrong in ("0", "much", "-5"):
        monkeypatch.setenv("TB_NPU_MEMORY_MB", wrong)
        assert memory_budget(root) == 2 << 30


def test_the_end_of_a_job_is_told(make: Any, workers: Workers) -> None:
    pool = make()
    pool.submit(job("wait"))
    assert until(lambda: workers.begun == ["wait"])
    pool.wait(0, 0.01)
    assert pool.changes == 0
    threading.Timer(0.01, workers.let, ("wait",)).start()
    pool.wait(0, 60)
    assert pool.changes == 1
    pool.wait(0, 60)  # told already


def test_a_process_that_is_started_ahead_serves_the_first_job(make: Any, seen: list[Job], workers: Workers) -> None:
    pool = make(size=3)
    pool.start_ahead()
    pool.start_ahead()
    assert until(lambda: pool._idle == 1)
    pool.submit(job("good"))
    assert until(lambda: len(seen) == 1)
    pool.start_ahead()
    pool.close()
    pool.start_ahead()
    assert len(workers.made) == 1


def test_a_job_in_the_background_starts_no_process_while_a_page_waits(
    make: Any, workers: Workers, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pool_module, "YIELD", 3600.0)
    pool = make(size=2)
    pool.submit(job("wait", urgent=True))
    pool.submit(job("background"))
    assert len(pool._threads) == 1
    pool._start_threads()  # as its timer does
    assert until(lambda: sorted(workers.begun) == ["background", "wait"])
    pool.submit(job("wait too", urgent=True))
    workers.let("wait", "wait too")
    assert until(lambda: len(workers.done) == 3)


def test_a_preview_is_told(tmp_path: Path, make: Any, workers: Workers) -> None:
    pool, waited = make(), job("wait")
    pool.submit(waited)
    assert until(lambda: workers.begun == ["wait"])
    before = pool.changes
    pool._show(waited, Cache(tmp_path).new_folder())
    assert waited.preview is not None and pool.changes == before + 1
    workers.let("wait")
