"""What happens to a worker or to a file in the middle of a reading, through the pool and real worker processes."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from tb_npu_plugin.discovery.model import Place
from tb_npu_plugin.store.cache.disk import META, Cache
from tb_npu_plugin.store.library import Library
from tests.unit.discovery.test_watch import until
from tests.unit.store.results import KERNELS, NAME, settle, write_result
from tests.unit.store.slow_worker import Holding
from tests.unit.store.test_library import only
from tests.unit.store.test_previews import COUNT, TRACE

OUTPUT = "ASCEND_PROFILER_OUTPUT"


@pytest.fixture
def holding(tmp_path: Path) -> Holding:
    return Holding(tmp_path / "holding")


def contents(library: Library, place: Place) -> dict[str, bytes]:
    """Every file of what was read of a trace, but for when it was."""
    entry = library.status(place, "trace").entry
    assert entry is not None
    files = [path for path in sorted(entry.folder.rglob("*")) if path.is_file() and path.parent != entry.folder]
    return {str(path.relative_to(entry.folder)): path.read_bytes() for path in files}


def test_a_worker_killed_in_the_middle_of_a_trace_costs_a_retry_and_changes_nothing(
    tmp_path: Path, library: Library, holding: Holding
) -> None:
    write_result(tmp_path / "logs" / NAME, trace=TRACE)
    place = only(library)
    undisturbed = Library(library.watcher, Cache(tmp_path / "other cache"), workers=1)
    undisturbed.read([place], ["trace"])
    expected = contents(undisturbed, place)
    undisturbed.close()

    holding.hold("preview-2")
    library.request(place, ["trace"])
    assert until(lambda: "preview-2" in holding.at())
    os.kill(holding.made[0]._child.pid, signal.SIGKILL)
    holding.hold()
    library.read([place], ["trace"])
    assert len(holding.made) == 2 and library.status(place, "trace").state == "ready"
    assert contents(library, place) == expected and META not in expected
    assert library.open(place).problems == []
    assert until(lambda: not any((tmp_path / "cache" / "building").iterdir())), "its preview goes behind it"


def test_a_worker_that_is_killed_twice_is_told_with_what_may_help(
    tmp_path: Path, library: Library, holding: Holding
) -> None:
    write_result(tmp_path / "logs" / NAME, trace=TRACE)
    place = only(library)
    holding.hold("trace_view.json")
    library.request(place, ["trace"])
    for tries in (1, 2):
        assert until(lambda tries=tries: len(holding.made) == tries and "trace_view" in holding.at())
        os.kill(holding.made[-1]._child.pid, signal.SIGKILL)
    assert until(lambda: library.status(place, "trace").state == "failed")
    (problem,) = library.open(place).problems
    assert problem.code == "worker_killed" and problem.lost == "The trace."
    assert "SIGKILL" in problem.found and "lack of memory" in problem.found and "TB_NPU_WORKERS=1" in problem.action


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 3])


def cut_in_place(path: Path) -> None:
    os.truncate(path, path.stat().st_size // 3)


def empty(path: Path) -> None:
    os.truncate(path, 0)


def overwrite(path: Path) -> None:
    with path.open("r+b") as file:
        file.write(b"\0" * (path.stat().st_size - 10))


@pytest.mark.parametrize("change", [cut, cut_in_place, empty, overwrite])
def test_a_trace_that_changes_while_it_is_read_is_told_and_read_again(
    tmp_path: Path, library: Library, holding: Holding, change: Callable[[Path], None]
) -> None:
    folder = write_result(tmp_path / "logs" / NAME, trace=TRACE)
    trace = folder / OUTPUT / "trace_view.json"
    place = only(library)
    holding.hold("preview-1")
    library.request(place, ["trace"])
    assert until(lambda: "preview-1" in holding.at())
    change(trace)
    holding.hold()
    library.read([place], ["trace"])
    assert library.status(place, "trace").state == "ready" and len(holding.made) == 1, "nothing crashed"
    assert [problem.code for problem in library.open(place).problems].count("file_changed") == 1

    trace.write_text(TRACE)
    settle(folder, 30)
    place = only(library)
    assert library.status(place, "trace").state == "new"
    library.read([place], ["trace"])
    span = library.open(place)
    assert span.timeline is not None and span.timeline.slice_count == COUNT and span.problems == []


@pytest.mark.parametrize("change", ["cut", "other rows"])
def test_a_table_that_changes_while_it_is_read_is_told_and_read_again(
    tmp_path: Path, library: Library, holding: Holding, change: str
) -> None:
    folder = write_result(tmp_path / "logs" / NAME, trace=None)
    kernels = folder / OUTPUT / "kernel_details.csv"
    place = only(library)
    holding.hold("kernel_details.csv")
    library.request(place, ["tables"])
    assert until(lambda: "kernel_details" in holding.at())
    if change == "cut":
        os.truncate(kernels, len(KERNELS) - 30)
    else:
        kernels.write_bytes(KERNELS.replace("aclnnAdd", "aclnnSub").encode())
    holding.hold()
    library.read([place], ["tables"])
    assert library.open(place).rows("step_trace") == 1
    assert "file_changed" in {problem.code for problem in library.open(place).problems}

    kernels.write_bytes(KERNELS.encode())
    settle(folder, 30)
    place = only(library)
    library.read([place], ["tables"])
    assert library.open(place).rows("kernels") == 2 and library.open(place).problems == []
