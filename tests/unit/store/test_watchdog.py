"""Workers that take too much or stand still: ended, replaced, told; the other files are read."""

from __future__ import annotations

import gzip
import os
from pathlib import Path

import pytest

from tb_npu_plugin.discovery.model import FoundFile
from tb_npu_plugin.problems import ProblemLog
from tb_npu_plugin.readers.shared.reading import Reading
from tb_npu_plugin.readers.text import reader as text
from tb_npu_plugin.store.cache.disk import Cache
from tb_npu_plugin.store.pool import limits, watchdog
from tb_npu_plugin.store.pool.job import Job
from tb_npu_plugin.store.pool.pool import Pool
from tb_npu_plugin.store.pool.process import WorkerProcess, worker_count
from tb_npu_plugin.store.pool.watchdog import Usage, Watchdog, usage_of
from tests.unit.discovery.test_watch import until

#: A worker that does something else when it comes to communication.json.
PROGRAM = """
import time
from tb_npu_plugin.readers.text import reader as text
read_file = text.read_file
def read(reading):
    if reading.name == "communication.json":
        {body}
    return read_file(reading)
text.read_file = read
from tb_npu_plugin.store.pool.worker import main
main()
"""
KERNELS = "Step Id,Name,Type,Accelerator Core,Start Time(us),Duration(us)\n1,a,MatMul,AI_CORE,1.5,2\n"


def read_with(body: str, folder: Path, *names: str) -> tuple[Job, Pool, Cache]:
    """Read two tables with such a worker."""
    for name in names:
        (folder / name).write_text(KERNELS)
    files = tuple(FoundFile(name, (folder / name).stat().st_size, 1) for name in names)
    cache, done = Cache(folder / "cache"), list[Job]()
    pool = Pool(cache, 1, done.append, lambda: WorkerProcess(("-c", PROGRAM.format(body=body))))
    pool.submit(Job("key", "span", "tables", folder, files))
    assert until(lambda: bool(done), 60)
    return done[0], pool, cache


@pytest.mark.slow
@pytest.mark.parametrize(
    ("limit", "body", "found"),
    [
        ("memory", "held = [bytes([1]) * (1 << 20) for _ in range(400)]; time.sleep(60)", ("MB", "refused")),
        ("time", "while True: pass", ("more",)),
    ],
)
def test_a_file_that_takes_too_much_is_skipped(
    limit: str, body: str, found: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if limit == "memory":
        monkeypatch.setattr(limits, "MEMORY", 300 << 20)
        monkeypatch.setattr(limits, "MEMORY_FACTOR", 0)
    else:
        monkeypatch.setattr(limits, "CPU_SECONDS", 1.5)
    job, pool, cache = read_with(body, tmp_path, "communication.json", "kernel_details.csv")
    pool.close()
    entry = cache.get("key")
    assert job.state == "ready" and entry is not None
    (problem,) = [one for one in entry.meta["problems"] if one["code"] == "too_expensive"]
    assert problem["file"] == "communication.json" and any(word in problem["found"] for word in found)
    assert entry.meta["tables"]["kernels"]["rows"] == 1
    assert Cache(tmp_path / "cache").get("key") is None, "another server tries again"


@pytest.mark.slow
def test_a_disk_that_does_not_answer_is_no_damage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "STALLED_AFTER", 4.0)  # the start of a worker takes 0.5, on a busy machine more
    monkeypatch.setattr("tb_npu_plugin.store.pool.pool.RETRY_AFTER", 0.5)
    job, pool, cache = read_with("time.sleep(600)", tmp_path, "communication.json")
    assert [problem.code for problem in job.problems] == ["stalled"] and cache.get("key") is None
    assert until(lambda: pool.job("key") is None), "it may be tried again by itself"
    pool.close()


@pytest.mark.parametrize(
    ("memory", "written", "cpu", "expected"),
    [
        (100 << 20, 200 << 20, 3.0, None),
        (None, 0, None, None),
        ((100 << 20) + 1, 0, 0.0, ("100 MB", "100 MB")),
        (130 << 20, 0, 0.0, ("100 MB", "130 MB")),
        (0, (200 << 20) + 1, 0.0, ("200 MB", "200 MB")),
        (0, 260 << 20, 0.0, ("200 MB", "260 MB")),
        (None, 0, 3.1, ("3 s", "more")),
    ],
)
def test_a_worker_may_take_what_its_limits_allow_and_no_more(
    memory: int | None, written: int, cpu: float | None, expected: tuple[str, str] | None, tmp_path: Path
) -> None:
    watch = Watchdog(os.getpid(), limits.Limits(100 << 20, 200 << 20, 3.0, 60.0), tmp_path, lambda: None)
    watch.stop()
    found = watch._exceeded(Usage(cpu, memory), cpu, written)
    assert (found is None) == (expected is None)
    if found is not None and expected is not None:
        assert expected[0] in found.expected and expected[1] in found.found


@pytest.mark.parametrize(
    ("waited", "used", "is_stalled"),
    [(60.0, 0.0, False), (61.0, 0.0, True), (61.0, None, True), (100.0, 4.9, True), (100.0, 5.0, False)],
)
def test_a_worker_is_stalled_if_it_neither_moves_nor_computes(
    waited: float, used: float | None, is_stalled: bool, tmp_path: Path
) -> None:
    watch = Watchdog(os.getpid(), limits.Limits(1 << 40, 1 << 40, 1e9, 60.0), tmp_path, lambda: None)
    watch.stop()
    assert (watch._stalled(waited, used) is not None) == is_stalled


def test_folders_that_go_away_end_no_watch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "gone").mkdir()
    (tmp_path / "file").write_bytes(b"1234")
    real = os.scandir

    def scandir(path: str | Path) -> object:
        if Path(path).name == "gone":
            raise FileNotFoundError(path)
        return real(path)

    monkeypatch.setattr(os, "scandir", scandir)
    assert watchdog._bytes(tmp_path) == 4


def test_mapped_files_are_no_memory_of_a_worker(tmp_path: Path) -> None:
    import numpy as np

    path = tmp_path / "mapped"
    np.ones(8 << 20).tofile(path)
    before = usage_of(os.getpid()).memory
    if before is None:
        pytest.skip("the system does not say")
    total = float(np.memmap(path, np.float64, "r").sum())
    after = usage_of(os.getpid()).memory
    assert total == 8 << 20 and after is not None and after - before < 32 << 20


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("communication.json.gz", gzip.compress(b'{"step1":[' + b"{}," * 4_000_000 + b"{}]}")),
        (
            "communication.json",
            b'{"step1":{"collective":{' + b",".join(b'"op%d@1":{}' % number for number in range(500_000)) + b"}}}",
        ),
        (
            "communication.json",
            b'{"step1":{"collective":{"op@1":{"x":{'
            + b",".join(b'"%d":[1,1]' % n for n in range(500_000))
            + b"}}}}},]",
        ),
    ],
    ids=["20 kB that unpack to 12 MB", "operators of nothing", "many sizes, broken"],
)
def test_json_that_would_take_far_more_memory_than_its_size(name: str, content: bytes, tmp_path: Path) -> None:
    path, log = tmp_path / name, ProblemLog()
    path.write_bytes(content)
    assert text.read_file(Reading(path, path.name, log)) == {}
    assert [problem.code for problem in log.list()] == ["too_expensive"]


@pytest.mark.parametrize(
    ("setting", "count"), [("1", 1), ("3", 3), ("0", None), ("-1", None), ("many", None), ("", None)]
)
def test_the_environment_sets_the_number_of_workers(
    setting: str, count: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TB_NPU_WORKERS", setting)
    monkeypatch.setattr("tb_npu_plugin.store.pool.process.available_cores", lambda: 7)
    assert worker_count() == (count or 7)
