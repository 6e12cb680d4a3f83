"""From files to open spans through real worker processes: what is read when, again, and what is said. Times of day."""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing
from datetime import datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tb_npu_plugin.discovery.find_kineto import _utc_digits
from tb_npu_plugin.discovery.model import Place
from tb_npu_plugin.discovery.watch import Watcher
from tb_npu_plugin.errors import NotFound
from tb_npu_plugin.store import stages
from tb_npu_plugin.store.cache.disk import Cache
from tb_npu_plugin.store.labels import _steps, span_label, utc_offset_minutes
from tb_npu_plugin.store.library import Library, StageStatus
from tb_npu_plugin.store.liveness import is_old
from tb_npu_plugin.store.stages import SHORT_FILE, SHORT_ROWS, TABLES_FILE
from tb_npu_plugin.store.timeline.open import Timeline
from tb_npu_plugin.views.availability import facts_of_span, missing_data
from tb_npu_plugin.views.overview import capture_json
from tests.support.mock import run
from tests.unit.store.results import KERNELS, NAME, settle, write_result

PROFILER_DB = "ascend_pytorch_profiler_0.db"


@pytest.fixture
def library(tmp_path: Path) -> Iterator[Library]:
    made = Library(Watcher({"": tmp_path / "logs"}, background=False), Cache(tmp_path / "cache"), workers=1)
    yield made
    made.close()


def only(library: Library) -> Place:
    """The one span, after a scan."""
    library.watcher.update()
    (place,) = library.scan().places()
    return place


def test_a_span_is_read_and_opened(tmp_path: Path, library: Library, monkeypatch: pytest.MonkeyPatch) -> None:
    write_result(tmp_path / "logs" / "run" / NAME, rank=3, trace=None)
    place = only(library)
    ahead: list[str] = []
    monkeypatch.setattr(library.pool, "start_ahead", lambda: ahead.append(library.status(place, "tables").state))
    library.prepare()
    assert library.status(place, "tables").state == "new" and library.open(place).table("kernels") is None
    library.read([place], ["tables"])
    library.prepare()
    assert ahead == ["new"]
    span = library.open(place)
    assert library.status(place, "tables").state == "ready"
    assert (span.run_label, span.worker_label, span.label) == (
        "run",
        "rank 3 · host1_4242",
        "2025-01-09 15:48:04 · step 7",
    )
    assert span.rows("kernels") == 2 and span.rows("op_memory") is None and span.table("op_memory") is None
    kernels = span.table("kernels")
    assert kernels is not None and kernels.ints("start_ns").tolist() == [1736408883704643212, 1736408883704700001]
    assert span.table("kernels") is kernels  # kept
    assert span.base_ns == 1736408883704643212
    assert (span.capture.rank, span.capture.host, span.capture.pid) == (3, "host1", 4242)
    assert span.capture.switches["with_stack"] is True
    assert [problem.code for problem in span.problems] == []


def test_a_long_table_is_read_too(tmp_path: Path, library: Library) -> None:
    head, *_ = KERNELS.splitlines()
    rows = [f"7,k{n % 9},Add,AI_VECTOR_CORE,1736408883{n:06}.000,1,0,8" for n in range(SHORT_ROWS + 1)]
    files = {"kernel_details.csv": "\r\n".join([head, *rows, ""])}
    write_result(tmp_path / "logs" / NAME, files=files, trace=None)
    place = only(library)
    library.read([place], ["tables"])
    span = library.open(place)
    kernels, steps = span.table("kernels"), span.table("step_trace")
    assert kernels is not None and len(kernels) == SHORT_ROWS + 1 and kernels.text("name")[-1] == f"k{SHORT_ROWS % 9}"
    assert steps is not None and len(steps) == 1
    assert {path.name for path in library.status(place, "tables").entry.folder.iterdir()} >= {SHORT_FILE, TABLES_FILE}


def test_lists_of_spans_open_no_timelines_and_few_stay_open(
    tmp_path: Path, library: Library, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Each open timeline holds dozens of files; a run of 64 ranks went beyond what a process may have open.
    write_result(tmp_path / "logs" / NAME)
    write_result(tmp_path / "logs" / NAME.replace("4242", "4243"), rank=1)
    library.watcher.update()
    places = library.scan().places()
    library.read(places, ["tables", "trace"])
    opened: list[Path] = []
    real = Timeline.open
    monkeypatch.setattr(Timeline, "open", lambda folder, trace: opened.append(folder) or real(folder, trace))
    monkeypatch.setattr(library._memory.timelines, "_limit", 1)
    spans = [library.open(place) for place in places]
    assert [(span.rows("operators"), span.base_ns) for span in spans] == [(1, 1736408883704643212)] * 2
    assert opened == []
    first, second = (span.timeline for span in spans)
    assert first is not None and second is not None and spans[1].timeline is second and len(opened) == 2
    assert spans[0].timeline is not first and len(opened) == 3, "it was closed, and is opened again"
    assert first.detail(0)["name"] == "aten::add", "who has it still may use it"


def test_a_file_still_being_written_is_shown_said_and_read_again_when_it_has_settled(
    tmp_path: Path, library: Library, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = write_result(tmp_path / "logs" / NAME, trace=None, settled=False)
    monkeypatch.setattr(stages, "SETTLED_AFTER", 3600 * 10**9)  # what was written this hour may still grow
    place = only(library)
    library.read([place], ["tables"])
    read = library.status(place, "tables").key
    span = library.open(place)
    assert span.rows("kernels") == 2
    assert [(problem.code, problem.severity) for problem in span.problems] == [("still_written", "info")]
    with monkeypatch.context() as settled:
        settled.setattr(stages, "SETTLED_AFTER", 0)
        assert library.status(place, "tables").state == "new", "though neither size nor time changed"

    kernels = folder / "ASCEND_PROFILER_OUTPUT" / "kernel_details.csv"
    kernels.write_bytes((KERNELS + "8,aclnnSub_Sub,Sub,AI_VECTOR_CORE,1736408883704900.000,1,0,8\r\n").encode())
    place = only(library)
    status = library.request(place, ["tables"])[0]
    assert status.state == "ready" and status.growing, "the reading before is shown while the file grows"
    assert library.open(place).rows("kernels") == 2
    assert all(job.key == read for job in library.pool.jobs()), "nothing else is begun"

    before = library.generation
    monkeypatch.setattr(stages, "SETTLED_AFTER", 0)
    settled = library.generation
    assert settled > before, "that it has settled is news"
    assert library.status(place, "tables").state == "new" and library.generation == settled, "and once"
    library.read([place], ["tables"])
    span = library.open(place)
    assert span.rows("kernels") == 3 and list(span.problems) == []


def test_a_damaged_cache_file_is_dropped_and_read_again(tmp_path: Path, library: Library) -> None:
    write_result(tmp_path / "logs" / NAME, trace=None)
    place = only(library)
    library.read([place], ["tables"])
    entry = library.status(place, "tables").entry
    assert entry is not None
    tables = entry.folder / SHORT_FILE
    tables.write_bytes(b"\xff" * tables.stat().st_size)
    span = library.open(place)
    assert span.table("kernels") is None and [problem.code for problem in span.problems] == ["damaged_cache"]
    library.open(place)
    assert library.status(place, "tables").state == "new" and not entry.folder.exists()
    library.read([place], ["tables"])
    assert library.open(place).table("kernels") is not None


def test_a_folder_that_vanishes_before_it_is_read_is_skipped(tmp_path: Path, library: Library) -> None:
    write_result(tmp_path / "logs" / NAME, trace=None)
    gone = write_result(tmp_path / "logs" / "other_1_20250109154804123_ascend_pt", rank=1, trace=None)
    library.watcher.update()
    places = library.scan().places()
    shutil.rmtree(gone)
    library.read(places, ["tables"])
    good, lost = (library.open(place) for place in places)
    assert good.rows("kernels") == 2 and lost.rows("kernels") is None
    assert {problem.code for problem in lost.problems} >= {"missing_file"}
    with pytest.raises(NotFound):
        library.watcher.update()
        library.place(places[1].span.token)


def test_what_leaves_the_cache_while_others_are_read_is_not_read_for_ever(
    tmp_path: Path, library: Library, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Results larger than the cache: each that was read drove out another, which was read again.
    for number in range(2):
        write_result(tmp_path / "logs" / NAME.replace("4242", str(number)), rank=number, trace=None)
    library.watcher.update()
    first, second = library.scan().places()
    entry = tmp_path / "cache" / "entries" / library.status(first, "tables").key
    library.read([first], ["tables"])
    wanted: list[str] = []
    request = library.request

    def drive_out(place: Place, *args: Any) -> list[StageStatus]:
        wanted.append(place.span.token)
        assert len(wanted) < 20, "read for ever"
        found = request(place, *args)
        if place is second:
            shutil.rmtree(entry, ignore_errors=True)
        return found

    monkeypatch.setattr(library, "request", drive_out)
    library.read([first, second], ["tables"])
    assert library.open(second).rows("kernels") == 2 and wanted.count(first.span.token) == 1


def database_result(tmp_path: Path, name: str) -> Path:
    """A copy of a run of one rank; its ASCEND_PROFILER_OUTPUT."""
    (folder,) = run(name)[0].glob("*_ascend_pt")
    return Path(shutil.copytree(folder, tmp_path / "logs" / folder.name)) / "ASCEND_PROFILER_OUTPUT"


def test_databases_are_read_for_what_text_lacks(tmp_path: Path, library: Library) -> None:
    output = database_result(tmp_path, "both_level2")
    lost = {"kernel_details.csv", "op_statistic.csv", "step_trace_time.csv"}
    for name in lost:
        (output / name).unlink()
    settle(output.parent)
    place = only(library)
    library.read([place], ["tables"])
    span = library.open(place)
    assert [problem.code for problem in span.problems] == ["not_shown"]
    assert span.source("operators") == "operator_details.csv" and span.source("memory_record") == "memory_record.csv"
    assert span.source("kernels") == span.source("op_statistic") == PROFILER_DB
    assert span.source("step_trace") == "analysis.db"
    assert not {entry["file"] for entry in missing_data(facts_of_span(span))} & lost
    assert [(one["file"], one["tables"]) for one in capture_json(span)["databases"]] == [
        ("analysis.db", ["Step trace time"]),
        (PROFILER_DB, ["Kernels", "Operator statistic"]),
    ]


def test_rows_in_the_log_of_a_database_are_noticed(tmp_path: Path, library: Library) -> None:
    """A writer in WAL mode leaves the file itself as it is for a long time."""
    path = database_result(tmp_path, "db_only") / PROFILER_DB
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA journal_mode=WAL")
        connection.commit()
        settle(path.parents[1])
        place = only(library)
        library.read([place], ["tables"])
        assert library.open(place).rows("kernels")
        before = path.stat().st_mtime_ns
        named = "UPDATE STRING_IDS SET value='named_in_the_log' WHERE id=(SELECT name FROM COMPUTE_TASK_INFO)"
        connection.execute(named)
        connection.commit()
        assert path.stat().st_mtime_ns == before
        os.utime(f"{path}-wal", ns=(before + 10**9, before + 10**9))
        place = only(library)
        library.read([place], ["tables"])
        kernels = library.open(place).table("kernels")
    assert kernels is not None and "named_in_the_log" in kernels.text("name").values


def test_captures_can_be_converted_by_several_threads_at_once() -> None:
    """Two first conversions at once ended TensorBoard with a segmentation fault (msgspec 0.22)."""
    code = (
        "import tb_npu_plugin.store.span\n"
        "from tb_npu_plugin.model import Capture\n"
        "assert '__msgspec_cache__' in vars(Capture)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


START = 1_736_408_883_573_957_920  # 2025-01-09 07:48:03 UTC


@pytest.mark.parametrize(
    ("local", "start", "minutes"),
    [
        (datetime(2025, 1, 9, 15, 48, 4), START, 480),
        (datetime(2025, 1, 9, 4, 20, 40), START, -210),  # the folder is made some minutes after the start
        (datetime(2025, 1, 9, 7, 47, 59), START, 0),
        (datetime(2025, 3, 9, 15, 48, 4), START, 0),  # not the time of this capture: UTC
        (None, START, 0),
        (datetime(2025, 1, 9, 15, 48, 4), None, 0),
        (datetime(2025, 1, 9, 15, 48, 4), 77_000, 0),  # a clock that counts from when the device was switched on
    ],
)
def test_the_zone_of_the_recorder(local: datetime | None, start: int | None, minutes: int) -> None:
    assert utc_offset_minutes(local, start) == minutes


@pytest.mark.parametrize(
    ("start_ns", "expected"),
    [(1_750_000_000 * 10**9, "2025-06-15 15:06:40 UTC · step 3"), (5, "copied · step 3"), (None, "copied · step 3")],
)
def test_a_capture_without_a_time_in_its_name_is_labelled_by_its_first_event(
    start_ns: int | None, expected: str
) -> None:
    """Times before the year 2000 are no dates."""
    identity = SimpleNamespace(time=None, role_step="", window=None)
    span: Any = SimpleNamespace(identity=identity, label="copied")
    assert span_label(span, {"start_ns": start_ns, "steps": ["3"]}) == expected
    assert span_label(span, None) == "copied"


@pytest.mark.parametrize(
    ("steps", "expected"),
    [
        ([], ""),
        (["50"], "step 50"),
        (["3", "2"], "steps 2-3"),
        (["2", "3", "4"], "steps 2-4"),
        (["2", "4"], "steps 2, 4"),
        (["2", "3", "5", "6"], "steps 2, 3, 5, 6"),
        (["2", "3", "5", "6", "9"], "steps 2, 3, 5, 6, …"),
        (["a", "3"], "steps a, 3"),
    ],
)
def test_the_steps_of_a_label(steps: list[str], expected: str) -> None:
    assert _steps(steps) == expected


@pytest.mark.parametrize(("hours", "expected"), [(23.9, False), (24.1, True)])
def test_what_a_process_left_is_old_after_a_day(hours: float, expected: bool, tmp_path: Path) -> None:
    assert not is_old(tmp_path / "missing")
    os.utime(tmp_path, (0, time.time() - hours * 3600))
    assert is_old(tmp_path) == expected


@pytest.mark.skipif(not hasattr(time, "tzset"), reason="no tzset here")
def test_the_zone_of_this_host_does_not_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(os.environ, "TZ", "Asia/Shanghai")
    time.tzset()
    try:
        assert _utc_digits("1736408883573") == "20250109074803573"
    finally:
        monkeypatch.undo()
        time.tzset()
