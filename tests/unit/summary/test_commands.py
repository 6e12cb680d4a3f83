"""tb-npu summary, the command that the pages show, and the mirror of tb-npu board."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from tb_npu_plugin.cli.summary import mirror_folder, profile_steps
from tb_npu_plugin.discovery.watch import Watcher, scan_once
from tb_npu_plugin.service.catalog import SummariesJson, catalog
from tb_npu_plugin.store.cache.disk import Cache
from tb_npu_plugin.store.library import Library
from tests.support import summary_files as files
from tests.support.cli import run
from tests.unit.store.results import NAME, settle, write_result
from tests.unit.summary.shown import shown


def summaries(watcher: Watcher) -> list[SummariesJson]:
    library = Library(watcher)
    try:
        return catalog(library)["summaries"]
    finally:
        library.close()


def test_summary_converts_once_and_then_what_is_new(tmp_path: Path) -> None:
    source, out = tmp_path / "logs", tmp_path / "out"
    file = files.write(source / "run", files.event(1, files.scalar("loss", 0.5)))
    files.append(file, b"torn")
    done = run("summary", source, out)
    assert (done.returncode, done.stderr) == (0, "") and done.stdout.splitlines()[0] == "run run: 1 events"
    assert f"run/{file.name}, byte " in done.stdout.splitlines()[1]
    file.write_bytes(file.read_bytes()[:-4] + files.record(files.event(2, files.scalar("loss", 0.25))))
    assert run("summary", source, out).stdout == "run run: 2 events\n"
    assert shown(out / "run").steps("loss") == [1, 2]


def test_summary_refuses_its_source_and_says_that_there_is_nothing(tmp_path: Path) -> None:
    assert run("summary", tmp_path, tmp_path / "." / "").returncode == 2
    done = run("summary", tmp_path, tmp_path / "out")
    assert done.returncode == 1 and "no Summary events" in done.stderr


def test_board_refuses_a_path_that_tensorboard_would_split(tmp_path: Path) -> None:
    (tmp_path / "a,b").mkdir()
    done = run("board", tmp_path / "a,b")
    assert done.returncode == 2 and "comma" in done.stderr


def test_pages_and_the_doctor_name_the_command_where_events_are(tmp_path: Path) -> None:
    logs = tmp_path / "my logs"
    for rank in (0, 1):
        files.write(logs / f"summary/rank_{rank}")
    command = f"tb-npu board {shlex.quote(str(logs))}"
    watcher = scan_once({"": logs})
    assert summaries(watcher) == [{"folders": 2, "command": command}]
    watcher.shows_summaries = True
    assert summaries(watcher) == []
    assert command in " ".join(run("doctor", logs).stdout.split())
    assert summaries(scan_once({"": tmp_path / "nowhere"})) == []


def test_the_mirror_is_an_entry_of_the_cache_and_goes_with_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TB_NPU_CACHE_DIR", str(tmp_path / "cache"))
    mirror = mirror_folder(tmp_path / "logs")
    assert mirror == mirror_folder(tmp_path / "logs") != mirror_folder(tmp_path / "other")
    mirror.mkdir()
    (mirror / "events.out.tfevents.1").write_bytes(bytes(1000))
    cache = Cache(limit=500)
    cache.shrink()
    assert not mirror.exists()


def test_steps_of_a_profile_are_known_once_it_is_read(tmp_path: Path) -> None:
    write_result(tmp_path / "run" / NAME, trace=None)
    settle(tmp_path)
    write_result(tmp_path / "dynamic" / "rank0_start2_stop5" / NAME, trace=None)
    settle(tmp_path)
    library = Library(scan_once({"": tmp_path}))
    try:
        assert profile_steps(library) == []
        library.read(library.scan().places(), ("tables",), lambda: None)
        (found,) = profile_steps(library)
    finally:
        library.close()
    assert (found.run, found.steps) == (f"run/{NAME}", ((7, 15250),))
    place = next(place for place in library.scan().places() if place.span.path == found.run)
    assert place.span.token in found.link and found.link.endswith(".step=")
