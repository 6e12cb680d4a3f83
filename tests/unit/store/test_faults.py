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
from tests.unit.store.results import NAME, settle, write_result
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


def test_trace_of_a_killed_worker_is_read_again_with_the_same_result(
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


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 3])


def cut_in_place(path: Path) -> None:
    os.truncate(path, path.stat().st_size // 3)


def empty(path: Path) -> None:
    os.truncate(path, 0)


def overwrite(path: Path) -> None:
    with path.open("r+b") as file:
        file.write(b"\0" * (path.stat().st_size - 10))


@pytest.mark.parametrize(
    "change", [cut, overwrite, *(pytest.param(one, marks=pytest.mark.full) for one in (cut_in_place, empty))]
)
def test_a_trace_that_changes_while_it_is_read_is_reported_and_read_again(
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
