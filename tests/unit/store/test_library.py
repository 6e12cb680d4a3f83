"""From files to open spans through real worker processes: what is read when, again, and what is said."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tb_npu_plugin.discovery.model import Place
from tb_npu_plugin.discovery.watch import Watcher
from tb_npu_plugin.errors import NotFound
from tb_npu_plugin.store import stages
from tb_npu_plugin.store.cache.disk import Cache
from tb_npu_plugin.store.library import Library, StageStatus
from tb_npu_plugin.store.stages import SHORT_FILE, SHORT_ROWS, TABLES_FILE
from tb_npu_plugin.store.timeline.open import Timeline
from tests.unit.discovery.test_watch import until
from tests.unit.store.results import KERNELS, NAME, settle, write_result


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


def test_a_span_is_read_and_opened(tmp_path: Path, library: Library) -> None:
    write_result(tmp_path / "logs" / "run" / NAME, rank=3, trace=None)
    place = only(library)
    assert library.status(place, "tables").state == "new" and library.open(place).table("kernels") is None
    library.read([place], ["tables"])
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


def test_operators_are_rebuilt_from_the_trace_where_only_that_is_there(tmp_path: Path, library: Library) -> None:
    write_result(tmp_path / "logs" / NAME)
    place = only(library)
    library.read([place], ["tables"])
    assert library.open(place).table("operators") is None
    library.read([place], ["trace"])
    span = library.open(place)
    operators = span.table("operators")
    assert operators is not None and operators.text("name").tolist() == ["aten::add"]
    assert span.rows("operators") == 1 and operators.ints("host_total_ns").tolist() == [9500]
    assert span.base_ns == 1736408883704643212, "the origin does not move when the trace is read"
    assert span.timeline is not None and span.timeline.base_ns == 1736408883704000500


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


def test_a_second_server_reads_nothing_again(tmp_path: Path, library: Library) -> None:
    write_result(tmp_path / "logs" / NAME, trace=None)
    place = only(library)
    library.read([place], ["tables"])
    other = Library(library.watcher, Cache(tmp_path / "cache"), workers=1)
    assert other.status(place, "tables").state == "ready" and other.open(place).rows("kernels") == 2
    other.close()


def test_a_changed_file_is_read_again(tmp_path: Path, library: Library) -> None:
    folder = write_result(tmp_path / "logs" / NAME, trace=None)
    library.read([only(library)], ["tables"])
    before = library.status(only(library), "tables").key
    more = KERNELS + "8,aclnnSub_Sub,Sub,AI_VECTOR_CORE,1736408883704900.000,1,0,8\r\n"
    (folder / "ASCEND_PROFILER_OUTPUT" / "kernel_details.csv").write_bytes(more.encode())
    settle(folder, seconds=30)
    place = only(library)
    assert library.status(place, "tables").state == "new"
    library.read([place], ["tables"])
    span = library.open(place)
    assert span.rows("kernels") == 3 and library.status(place, "tables").key != before


def test_a_file_added_and_one_removed_are_noticed(tmp_path: Path, library: Library) -> None:
    folder = write_result(tmp_path / "logs" / NAME, trace=None)
    library.read([only(library)], ["tables"])
    statistic = "OP Type,Core Type,Count,Total Time(us),Min Time(us),Avg Time(us),Max Time(us),Ratio(%)\nAdd,AI_CORE,1,1,1,1,1,1\n"
    (folder / "ASCEND_PROFILER_OUTPUT" / "op_statistic.csv").write_text(statistic)
    settle(folder)
    library.read([only(library)], ["tables"])
    assert library.open(only(library)).rows("op_statistic") == 1
    (folder / "ASCEND_PROFILER_OUTPUT" / "step_trace_time.csv").unlink()
    library.read([only(library)], ["tables"])
    span = library.open(only(library))
    assert span.rows("step_trace") is None and span.rows("kernels") == 2


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

    kernels = folder / "ASCEND_PROFILER_OUTPUT" / "kernel_details.csv"
    kernels.write_bytes((KERNELS + "8,aclnnSub_Sub,Sub,AI_VECTOR_CORE,1736408883704900.000,1,0,8\r\n").encode())
    place = only(library)
    status = library.request(place, ["tables"])[0]
    assert status.state == "ready" and status.growing, "the reading before is shown while the file grows"
    assert library.open(place).rows("kernels") == 2
    assert all(job.key == read for job in library.pool.jobs()), "nothing else is begun"

    before = library.generation
    monkeypatch.setattr(stages, "SETTLED_AFTER", 0)
    assert library.generation > before, "that it has settled is news"
    assert library.status(place, "tables").state == "new"
    library.read([place], ["tables"])
    span = library.open(place)
    assert span.rows("kernels") == 3 and list(span.problems) == []


def test_what_was_read_while_growing_is_read_again_even_if_it_did_not_change(
    tmp_path: Path, library: Library, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_result(tmp_path / "logs" / NAME, trace=None, settled=False)
    monkeypatch.setattr(stages, "SETTLED_AFTER", 3600 * 10**9)
    place = only(library)
    library.read([place], ["tables"])
    monkeypatch.setattr(stages, "SETTLED_AFTER", 0)
    assert library.status(place, "tables").state == "new"


def test_a_damaged_cache_file_costs_one_look(tmp_path: Path, library: Library) -> None:
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


def test_an_evicted_entry_is_read_again(tmp_path: Path, library: Library) -> None:
    write_result(tmp_path / "logs" / NAME, trace=None)
    place = only(library)
    library.read([place], ["tables"])
    shutil.rmtree(tmp_path / "cache" / "entries" / library.status(place, "tables").key)
    assert library.status(place, "tables").state == "new"


def test_a_folder_that_vanishes_before_it_is_read_costs_itself(tmp_path: Path, library: Library) -> None:
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


def test_closing_leaves_no_worker_behind(tmp_path: Path, library: Library) -> None:
    write_result(tmp_path / "logs" / NAME, trace=None)
    place = only(library)
    library.read([place], ["tables"])
    (process,) = library.pool._processes
    library.close()
    assert until(lambda: process._child.poll() is not None)


def test_what_settles_while_others_are_read_is_read_again(
    tmp_path: Path, library: Library, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The command line read the first of several results while it settled, and then showed nothing of it.
    for number in range(2):
        write_result(tmp_path / "logs" / NAME.replace("4242", str(number)), rank=number, trace=None, settled=False)
    monkeypatch.setattr(stages, "SETTLED_AFTER", 3600 * 10**9)
    library.watcher.update()
    first, second = library.scan().places()
    library.read([first], ["tables"])

    def settle_meanwhile() -> None:
        monkeypatch.setattr(stages, "SETTLED_AFTER", 0)

    library.read([first, second], ["tables"], settle_meanwhile)
    assert [library.open(place).rows("kernels") for place in (first, second)] == [2, 2]


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
