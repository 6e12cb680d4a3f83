"""A trace while it is read: its beginning is shown; workers that are killed, files that change."""

from __future__ import annotations

import errno
import json
import os
import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from tb_npu_plugin.discovery.model import Place
from tb_npu_plugin.store.cache.disk import META, Cache
from tb_npu_plugin.store.library import Library
from tests.support.trace import event, metadata
from tests.unit.discovery.test_watch import until
from tests.unit.store.results import NAME, settle, write_result
from tests.unit.store.slow_worker import Holding
from tests.unit.store.test_library import only

COUNT = 4000
#: Long enough for two previews: about 8 and 32 kB of 300.
TRACE = json.dumps([metadata("process_name", 1, name="Python"), *(event(f"a{n}", n, 1) for n in range(COUNT))])


@pytest.fixture
def holding(tmp_path: Path) -> Holding:
    return Holding(tmp_path / "holding", "preview-1")


@pytest.fixture
def place(tmp_path: Path, library: Library, holding: Holding) -> Place:
    """A span whose trace is being read; its first preview is there."""
    write_result(tmp_path / "logs" / NAME, trace=TRACE)
    found = only(library)
    library.request(found, ["trace"])
    assert until(lambda: "preview-1" in holding.at() and shown(library, found) != ("", 0))  # told, and heard of
    return found


def building(tmp_path: Path) -> set[str]:
    return {path.name for path in (tmp_path / "cache" / "building").iterdir()}


def shown(library: Library, place: Place) -> tuple[str, int]:
    """Version and slices of what is shown; ("", 0) where nothing is."""
    span = library.open(place)
    timeline = span.timeline
    return (span.trace_version, timeline.slice_count) if timeline is not None else ("", 0)


def test_each_preview_is_longer_and_the_final_timeline_takes_their_place(
    tmp_path: Path, library: Library, place: Place, holding: Holding
) -> None:
    assert library.status(place, "trace").state == "reading"
    first, few = shown(library, place)
    assert 0 < few < COUNT / 4 and first in building(tmp_path)
    before = library.open(place).timeline
    assert before is not None and before.detail(few - 1)["name"] == f"a{few - 1}"
    assert library.open(place).table("operators") is None, "part of them would be wrong figures"

    holding.hold("preview-2")
    assert until(lambda: shown(library, place)[0] not in ("", first))
    second, more = shown(library, place)
    assert few < more < COUNT / 2
    assert until(lambda: first not in building(tmp_path)), "nobody needs it any more"
    assert before.detail(0)["name"] == "a0" and before.slice_count == few, "who has it open keeps it"

    holding.hold()
    library.read([place], ["trace"])
    final, all_of_them = shown(library, place)
    assert all_of_them == COUNT and final not in (first, second)
    assert until(lambda: building(tmp_path) == set())
    entry = library.status(place, "trace").entry
    assert entry is not None and {path.name for path in entry.folder.iterdir()} == {"meta.json", "timeline"}
    assert library.open(place).timeline.partial is None


def test_a_cancelled_reading_still_shows_what_was_there_and_a_resumed_one_until_there_is_more(
    tmp_path: Path, library: Library, place: Place, holding: Holding
) -> None:
    before = shown(library, place)
    library.cancel([place], ["trace"])
    assert library.status(place, "trace").state == "cancelled" and shown(library, place) == before
    assert until(lambda: building(tmp_path) == {before[0]})
    library.resume([place], ["trace"])
    (tmp_path / "holding" / "at").unlink()
    assert until(lambda: "preview-1" in holding.at())
    assert shown(library, place) == before, "the first preview is no longer than this one"
    holding.hold()
    library.read([place], ["trace"])
    assert shown(library, place)[1] == COUNT
    assert until(lambda: building(tmp_path) == set())


def test_a_killed_worker_takes_no_preview_with_it(
    tmp_path: Path, library: Library, place: Place, holding: Holding
) -> None:
    before = shown(library, place)
    holding.made[0].kill()
    (tmp_path / "holding" / "at").unlink()
    assert until(lambda: len(holding.made) == 2 and "preview-1" in holding.at())
    assert shown(library, place) == before
    holding.made[1].kill()
    assert until(lambda: library.status(place, "trace").state == "failed")
    assert until(lambda: building(tmp_path) == set()) and shown(library, place) == ("", 0)


def test_a_preview_that_cannot_be_moved_is_no_loss(
    tmp_path: Path, library: Library, holding: Holding, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It cost the whole trace."""

    def refused(self: Cache, built: Path) -> Path:
        raise OSError(errno.EXDEV, "Invalid cross-device link")

    monkeypatch.setattr(Cache, "take", refused)
    holding.hold()
    write_result(tmp_path / "logs" / NAME, trace=TRACE)
    found = only(library)
    library.request(found, ["trace"])
    assert until(lambda: library.status(found, "trace").state in ("ready", "failed"))
    assert library.status(found, "trace").state == "ready" and shown(library, found)[1] == COUNT


def test_removed_preview_is_no_damage(tmp_path: Path, library: Library, place: Place, holding: Holding) -> None:
    span = library.open(place)
    holding.hold()
    library.read([place], ["trace"])
    assert until(lambda: span.timeline is None and building(tmp_path) == set())
    assert not span.damaged and not span.problems
    assert shown(library, place)[1] == COUNT


def contents(library: Library, place: Place) -> dict[str, bytes]:
    """Every file of what was read of a trace, but for when it was."""
    entry = library.status(place, "trace").entry
    assert entry is not None
    files = [path for path in sorted(entry.folder.rglob("*")) if path.is_file() and path.parent != entry.folder]
    return {str(path.relative_to(entry.folder)): path.read_bytes() for path in files}


@pytest.mark.slow
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
    trace = folder / "ASCEND_PROFILER_OUTPUT" / "trace_view.json"
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
