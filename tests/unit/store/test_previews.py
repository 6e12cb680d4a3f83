"""The beginning of a trace is shown while the rest is read: which one, how long, and what becomes of it."""

from __future__ import annotations

import errno
import json
from pathlib import Path

import pytest

from tb_npu_plugin.discovery.model import Place
from tb_npu_plugin.store.cache.disk import Cache
from tb_npu_plugin.store.library import Library
from tests.support.trace import event, metadata
from tests.unit.discovery.test_watch import until
from tests.unit.store.results import NAME, settle, write_result
from tests.unit.store.slow_worker import Holding

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
    library.watcher.update()
    (found,) = library.scan().places()
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
    library.watcher.update()
    (found,) = library.scan().places()
    library.request(found, ["trace"])
    assert until(lambda: library.status(found, "trace").state in ("ready", "failed"))
    assert library.status(found, "trace").state == "ready" and shown(library, found)[1] == COUNT


@pytest.mark.parametrize("cancelled", [False, True])
def test_closing_removes_previews(tmp_path: Path, library: Library, place: Place, cancelled: bool) -> None:
    assert shown(library, place) != ("", 0)
    if cancelled:
        library.cancel([place], ["trace"])
    library.close()
    assert building(tmp_path) == set()


def test_a_cancelled_reading_that_another_server_has_done_leaves_no_preview(
    tmp_path: Path, library: Library, place: Place, holding: Holding
) -> None:
    # It stayed on the disk for a day, like the two below.
    library.cancel([place], ["trace"])
    other = Library(library.watcher, Cache(tmp_path / "cache"), workers=1)
    other.read([place], ["trace"])
    other.close()
    assert library.status(place, "trace").state == "ready"
    assert until(lambda: building(tmp_path) == set())


def test_a_resumed_reading_that_began_already_leaves_no_preview(
    tmp_path: Path, library: Library, place: Place, holding: Holding, monkeypatch: pytest.MonkeyPatch
) -> None:
    library.cancel([place], ["trace"])
    monkeypatch.setattr(library.pool, "forget", lambda key: library.request(place, ["trace"]))  # a page asks meanwhile
    library.resume([place], ["trace"])
    holding.hold()
    library.read([place], ["trace"])
    assert until(lambda: building(tmp_path) == set())


def test_two_readings_of_a_trace_that_are_cancelled_leave_one_preview_at_most(
    tmp_path: Path, library: Library, place: Place
) -> None:
    settle(place.span.folder, 30)
    library.watcher.update()
    (changed,) = library.scan().places()
    library.request(changed, ["trace"])
    library.cancel([place], ["trace"])
    assert shown(library, place) != ("", 0)
    library.cancel([changed], ["trace"])
    assert until(lambda: building(tmp_path) == set())


def test_a_preview_that_went_between_two_looks_is_no_damage(
    tmp_path: Path, library: Library, place: Place, holding: Holding
) -> None:
    span = library.open(place)
    holding.hold()
    library.read([place], ["trace"])
    assert until(lambda: span.timeline is None and building(tmp_path) == set())
    assert not span.damaged and not span.problems
    assert shown(library, place)[1] == COUNT
