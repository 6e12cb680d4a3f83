"""The pool: as many jobs at a time as fit into the memory, in a fair order."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tb_npu_plugin.discovery.model import FoundFile
from tb_npu_plugin.schema.core import Stage
from tb_npu_plugin.store.cache.disk import Cache
from tb_npu_plugin.store.pool import budget
from tb_npu_plugin.store.pool import pool as jobs
from tb_npu_plugin.store.pool.budget import WORKER_BYTES, memory_budget, needed
from tb_npu_plugin.store.pool.job import Job
from tb_npu_plugin.store.pool.pool import Pool
from tb_npu_plugin.store.stages import Request
from tests.unit.discovery.test_watch import until

MEBIBYTE = 1 << 20


class Gated:
    """Worker processes that finish a job when they are told to."""

    def __init__(self) -> None:
        self.begun: list[str] = []
        self.gates: dict[str, threading.Event] = {}
        self.most = 0
        self._lock = threading.Lock()
        self._now = 0

    def gate(self, name: str) -> threading.Event:
        return self.gates.setdefault(name, threading.Event())

    def __call__(self) -> Gated:
        return self

    def run(self, request: Request, say: Callable[[dict[str, Any]], None]) -> dict[str, Any]:
        with self._lock:
            self.begun.append(request.folder.name)
            self._now += 1
            self.most = max(self.most, self._now)
            gate = self.gate(request.folder.name)
        gate.wait(120)
        with self._lock:
            self._now -= 1
        return {"problems": []}

    def kill(self) -> None:
        for gate in self.gates.values():
            gate.set()

    def close(self) -> None:
        pass


def job(name: str, megabytes: float, stage: Stage = "tables", urgent: bool = False) -> Job:
    file = FoundFile("x.csv", int(megabytes * MEBIBYTE), 1)
    return Job(f"key-{name}", f"span-{name}", stage, Path("/data") / name, (file,), urgent)


def pool(tmp_path: Path, gated: Gated, megabytes: int, size: int = 4) -> tuple[Pool, list[str]]:
    done: list[str] = []
    made = Pool(Cache(tmp_path), size, lambda job: done.append(job.folder.name), gated, lambda: megabytes * MEBIBYTE)
    return made, done


def test_jobs_run_together_only_while_they_fit(tmp_path: Path) -> None:
    gated = Gated()
    made, done = pool(tmp_path, gated, megabytes=1000)
    for name in ("a", "b", "c"):  # 400 MB each
        made.submit(job(name, 500))
    assert until(lambda: len(gated.begun) == 2)
    assert [item.state for item in made.jobs()] == ["reading", "reading", "waiting"]
    gated.gate("a").set()
    assert until(lambda: len(gated.begun) == 3) and gated.begun[2] == "c"
    for name in "bc":
        gated.gate(name).set()
    assert until(lambda: sorted(done) == ["a", "b", "c"])
    assert gated.most == 2
    made.close()


def test_small_ones_do_not_keep_a_large_one_waiting(tmp_path: Path) -> None:
    gated = Gated()
    made, done = pool(tmp_path, gated, megabytes=600)
    made.submit(job("first", 1))
    assert until(lambda: gated.begun == ["first"])
    made.submit(job("large", 5000, urgent=True))
    made.submit(job("small", 1))
    assert [item.state for item in made.jobs()] == ["reading", "waiting", "waiting"]
    gated.gate("first").set()
    assert until(lambda: gated.begun == ["first", "large"])
    gated.gate("large").set()
    assert until(lambda: gated.begun == ["first", "large", "small"])
    gated.gate("small").set()
    assert until(lambda: len(done) == 3)
    made.close()


def test_what_waited_behind_a_cancelled_job_begins_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # It did when the running one ended: the threads that waited with it were gone.
    monkeypatch.setattr(jobs, "IDLE", 0.01)
    gated = Gated()
    made, done = pool(tmp_path, gated, megabytes=500)
    made.submit(job("running", 1))
    assert until(lambda: gated.begun == ["running"])
    made.submit(job("large", 5000, urgent=True))
    made.submit(job("small", 1))
    assert until(lambda: len(made._threads) == 1)
    made.cancel("key-large")
    assert until(lambda: gated.begun == ["running", "small"])
    for name in ("running", "small"):
        gated.gate(name).set()
    assert until(lambda: len(done) == 2)
    made.close()


def test_an_estimate_grows_with_the_files_and_with_what_is_packed_in_them() -> None:
    plain = FoundFile("a/trace_view.json", 1000 * MEBIBYTE, 1, ("trace",))
    packed = FoundFile("a/trace_view.json.gz", 100 * MEBIBYTE, 1, ("trace",))
    assert needed([]) == WORKER_BYTES
    assert needed([plain]) == WORKER_BYTES + 500 * MEBIBYTE
    assert needed([packed]) > needed([plain])
    assert needed([plain, plain]) == WORKER_BYTES + 1000 * MEBIBYTE


def system(root: Path, files: dict[str, str]) -> Path:
    for name, content in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(content)
    return root


MEMORY = "MemTotal:       8388608 kB\nMemFree:         102400 kB\nMemAvailable:   4194304 kB\n"


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({}, budget.UNKNOWN_BYTES),
        ({"proc/meminfo": MEMORY}, 4 << 30),
        (
            {
                "proc/meminfo": MEMORY,
                "proc/self/cgroup": "0::/\n",
                "sys/fs/cgroup/memory.max": "max\n",
                "sys/fs/cgroup/memory.current": "5\n",
            },
            4 << 30,
        ),
        (
            {
                "proc/meminfo": MEMORY,
                "proc/self/cgroup": "0::/\n",
                "sys/fs/cgroup/memory.max": f"{3 << 30}\n",
                "sys/fs/cgroup/memory.current": f"{2 << 30}\n",
                "sys/fs/cgroup/memory.stat": f"anon 1\ninactive_file {1 << 29}\n",
            },
            (1 << 30) + (1 << 29),
        ),
        # The limit of a group above this one.
        (
            {
                "proc/meminfo": MEMORY,
                "proc/self/cgroup": "0::/user/app\n",
                "sys/fs/cgroup/user/memory.max": f"{1 << 30}\n",
                "sys/fs/cgroup/user/memory.current": "0\n",
                "sys/fs/cgroup/user/app/memory.max": "max\n",
                "sys/fs/cgroup/user/app/memory.current": "0\n",
            },
            1 << 30,
        ),
        # Version 1, within a container whose path on the host is not seen.
        (
            {
                "proc/meminfo": MEMORY,
                "proc/self/cgroup": "4:cpu,memory:/docker/ab\n0::/\n",
                "sys/fs/cgroup/memory/memory.limit_in_bytes": f"{2 << 30}\n",
                "sys/fs/cgroup/memory/memory.usage_in_bytes": f"{1 << 30}\n",
                "sys/fs/cgroup/memory/memory.stat": f"inactive_file 7\ntotal_inactive_file {1 << 28}\n",
            },
            (1 << 30) + (1 << 28),
        ),
    ],
)
def test_the_budget_is_half_of_what_is_available(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, files: dict[str, str], expected: int
) -> None:
    monkeypatch.delenv("TB_NPU_MEMORY_MB", raising=False)
    assert memory_budget(system(tmp_path, files)) == expected // 2


def test_the_budget_may_be_given(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = system(tmp_path, {"proc/meminfo": MEMORY})
    monkeypatch.setenv("TB_NPU_MEMORY_MB", "300")
    assert memory_budget(root) == 300 * MEBIBYTE
    for wrong in ("0", "much", "-5"):
        monkeypatch.setenv("TB_NPU_MEMORY_MB", wrong)
        assert memory_budget(root) == 2 << 30
