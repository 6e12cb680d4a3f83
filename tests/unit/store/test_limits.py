"""No file costs more than its bytes are worth, and what the machine refuses is no statement about a file."""

from __future__ import annotations

import errno
import resource
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tb_npu_plugin.discovery.model import FoundFile
from tb_npu_plugin.discovery.scan import scan
from tb_npu_plugin.problems import TRANSIENT_CODES, ProblemLog
from tb_npu_plugin.readers.shared.report import FileReport
from tb_npu_plugin.store.cache.disk import Cache, Entry
from tb_npu_plugin.store.pool.job import Job
from tb_npu_plugin.store.pool.limits import Limits, limits_of
from tb_npu_plugin.store.pool.pool import Pool
from tb_npu_plugin.store.pool.process import WorkerProcess
from tb_npu_plugin.store.pool.watchdog import _bytes
from tb_npu_plugin.store.stages import files_of, stages_of
from tests.support.hostile import HOSTILE, SIZE, hostile_result
from tests.unit.discovery.test_watch import until
from tests.unit.store.results import NAME, write_result

MB = 1_000_000
#: Files that are read in every test run; `full` takes all.
QUICK = ("db_endless_texts", "db_shared_blob")
#: Problems that would blame the plugin or the machine.
BLAMELESS = {"reader_defect", "reading_failed", "worker_killed", "disk_full"}


def read_all(logs: Path, cache: Cache, program: str = "") -> tuple[list[Job], list[Entry]]:
    """Read all stages of the only result in worker processes. program: what a worker runs first."""
    (place,) = scan({"": logs}).places()
    span, done = place.span, list[Job]()
    start = f"{program}\nfrom tb_npu_plugin.store.pool.worker import main\nmain()"
    pool = Pool(cache, 1, done.append, lambda: WorkerProcess(("-c", start)))
    for stage in stages_of(span):
        pool.submit(Job(stage, "span", stage, span.folder, files_of(span, stage), format=span.format))
    assert until(lambda: len(done) == len(stages_of(span)), 120)
    pool.close()
    return done, [entry for job in done if (entry := cache.get(job.key)) is not None]


@contextmanager
def peak_of(folder: Path) -> Iterator[list[int]]:
    """Most bytes in a folder meanwhile."""
    most, stopped = [0], threading.Event()

    def watch() -> None:
        while not stopped.wait(0.02):
            most[0] = max(most[0], _bytes(folder))

    thread = threading.Thread(target=watch)
    thread.start()
    yield most
    stopped.set()
    thread.join()


@pytest.mark.parametrize(
    "name", [name if name in QUICK else pytest.param(name, marks=pytest.mark.full) for name in HOSTILE]
)
def test_a_small_file_costs_little(name: str, tmp_path: Path) -> None:
    path = hostile_result(tmp_path / "logs" / NAME, name)
    assert path.stat().st_size <= 1.05 * SIZE
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    with peak_of(tmp_path / "cache") as disk:
        jobs, entries = read_all(tmp_path / "logs", Cache(tmp_path / "cache"))
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    memory = max((entry.meta["cost"]["total"]["peak_bytes"] for entry in entries), default=0)
    assert cpu <= 10 and memory <= 500 * MB and disk[0] <= 500 * MB
    told = [one.code for job in jobs for one in job.problems]
    told += [problem["code"] for entry in entries for problem in entry.meta["problems"]]
    assert BLAMELESS.isdisjoint(told)


def test_limits_are_multiples_of_the_sizes() -> None:
    def most(name: str, size: int) -> Limits:
        return limits_of((FoundFile(name, size, 1, ("trace",) if "trace" in name else ("tables",)),))

    for name in ("trace_view.json", "trace_view.json.gz", "communication.json", "communication.json.gz", "a.db"):
        small, large, larger = most(name, MB), most(name, 100 * MB), most(name, 200 * MB)
        assert small.cpu <= 10 and small.memory <= 500 * MB and small.output <= 500 * MB
        for key in ("cpu", "memory", "output"):
            assert getattr(larger, key) < 2 * getattr(large, key)


def test_the_limits_of_a_file_of_10_mib() -> None:
    found = limits_of((FoundFile("op_summary.csv", 10 << 20, 1, ("tables",)),))
    packed = limits_of((FoundFile("trace_view.json.gz", 10 << 20, 1, ("trace",)),))
    assert (found.memory >> 20, found.output >> 20, found.cpu, found.wait) == (215, 264, 16.0, 120.0)
    assert (packed.output >> 20, packed.cpu, packed.wait) == (64 + 20 * 120, 46.0, 120.0)
    assert limits_of((FoundFile("op_summary.csv", 1 << 30, 1, ("tables",)),)).wait == 256.0


@pytest.mark.parametrize(("hard", "expected"), [(resource.RLIM_INFINITY, (7 << 20, 261 << 20)), (100, (100, 100))])
def test_the_system_enforces_the_limits(hard: int, expected: tuple[int, int], monkeypatch: pytest.MonkeyPatch) -> None:
    """As far as a hard limit allows."""
    imposed: dict[int, tuple[int, int]] = {}
    monkeypatch.setattr(resource, "getrlimit", lambda which: (5, hard))
    monkeypatch.setattr(resource, "setrlimit", imposed.__setitem__)
    Limits(5 << 20, 7 << 20, 1.0, 1.0).impose()
    assert imposed == {
        resource.RLIMIT_FSIZE: (expected[0], hard),
        resource.RLIMIT_DATA: (expected[1], hard),
    }


#: What a worker lacks: free descriptors, bytes that it may write, memory for a file.
REFUSALS = {
    "descriptors": "resource.setrlimit(resource.RLIMIT_NOFILE, ({n}, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))",
    "output": "resource.setrlimit(resource.RLIMIT_FSIZE, ({n}, {n}))",
    "memory": """
from tb_npu_plugin.readers.text import reader
read = reader.read_file
def refuse(reading):
    if reading.name == "kernel_details.csv":
        raise MemoryError
    return read(reading)
reader.read_file = refuse
""",
}
MORE = [
    (name, figure)
    for name, figures in (("descriptors", (7, 12, 40)), ("output", (0, 1000, 20_000)))
    for figure in figures
]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("refused", "figure"),
    [
        ("descriptors", 9),
        ("output", 100),
        ("memory", 0),
        *(pytest.param(*case, marks=pytest.mark.full) for case in MORE),
    ],
)
def test_what_the_machine_refuses_is_read_the_next_time(refused: str, figure: int, tmp_path: Path) -> None:
    write_result(tmp_path / "logs" / NAME)
    limit = f"import resource, tb_npu_plugin.store.pool.worker\n{REFUSALS[refused].format(n=figure)}"
    jobs, entries = read_all(tmp_path / "logs", Cache(tmp_path / "cache"), limit)
    codes = {problem["code"] for entry in entries for problem in entry.meta["problems"]}
    codes |= {problem.code for job in jobs for problem in job.problems}
    assert codes <= {*TRANSIENT_CODES, "reading_failed", "disk_full"}
    assert codes or figure >= 40
    again = rows_of(read_all(tmp_path / "logs", Cache(tmp_path / "cache"))[1])
    assert again == {"step_trace": 1, "kernels": 2, "operators": 1}


def rows_of(entries: list[Entry]) -> dict[str, int]:
    return {name: table["rows"] for entry in entries for name, table in entry.meta["tables"].items()}


def test_an_error_of_the_machine_is_raised_not_told() -> None:
    log = ProblemLog()
    for number in (errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
        for tell in (FileReport(log, "a").os_error, FileReport(log, "a").cut):
            with pytest.raises(OSError):
                tell(OSError(number, ""))
    for words in ("unable to open database file", "out of memory", "database or disk is full"):
        with pytest.raises(OSError):
            FileReport(log, "a").table_damaged("TASK", sqlite3.OperationalError(words))
    assert log.list() == []
