"""The folder of converted events follows its sources: growth, damage, replacement, removal, several servers."""

from __future__ import annotations

import errno
import fcntl
import os
from collections.abc import Iterator
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import BinaryIO

import pytest
from tensorboard.backend.event_processing.plugin_event_multiplexer import EventMultiplexer
from tensorboard.summary.writer.record_writer import RecordWriter

from tb_npu_plugin.problems import Problem
from tb_npu_plugin.schema.other_files import LOCK_FILE
from tb_npu_plugin.summary import mirror
from tb_npu_plugin.summary.mirror import STATE, Report, update
from tb_npu_plugin.summary.records import MAX_LISTED, Record, read_records
from tb_npu_plugin.summary.step_times import LINK_TAG, TIME_TAG, ProfileSteps
from tests.support import summary_files as files
from tests.unit.summary.shown import shown


class Logs:
    """A logdir with one run, and its mirror."""

    def __init__(self, folder: Path) -> None:
        self.logdir, self.out = folder / "logs", folder / "out"
        self.file = files.write(self.logdir / "run", loss(1), loss(2))

    def update(self) -> Report:
        report = update(self.logdir, self.out)
        assert report is not None
        return report

    def steps(self) -> list[int]:
        return shown(self.out / "run").steps("loss")

    def target(self) -> Path:
        return sorted((self.out / "run").glob("*tfevents*"))[-1]


def loss(step: int) -> bytes:
    return files.event(step, files.scalar("loss", step / 4))


@pytest.fixture
def logs(tmp_path: Path) -> Logs:
    return Logs(tmp_path)


def places(problems: list[Problem]) -> list[tuple[str, str, str]]:
    return [(problem.code, problem.file, problem.where) for problem in problems]


def test_a_growing_file_is_followed_to_the_byte(logs: Logs) -> None:
    report = logs.update()
    assert report.events == {"run": 2} and logs.steps() == [1, 2]
    before = logs.target().read_bytes()
    grown = b"".join(files.record(loss(step)) for step in (3, 4))
    for byte in range(len(grown)):
        files.append(logs.file, grown[byte : byte + 1])
        report = logs.update()
    assert logs.steps() == [1, 2, 3, 4] and report.problems == []
    assert logs.target().read_bytes().startswith(before), "TensorBoard reads on where it was"


def test_memory_lasts_between_updates(logs: Logs) -> None:
    logs.update()
    files.append(logs.file, files.record(loss(2)))
    assert logs.update().events == {"run": 2}


def test_nothing_is_written_where_nothing_is_new(logs: Logs) -> None:
    logs.update()
    before = {path: path.stat().st_mtime_ns for path in logs.out.rglob("*") if path.is_file()}
    logs.update()
    assert {path: path.stat().st_mtime_ns for path in logs.out.rglob("*") if path.is_file()} == before


def test_damage_is_listed_with_its_place_and_costs_one_record(logs: Logs) -> None:
    size = logs.file.stat().st_size
    damaged = bytearray(files.record(loss(3)))
    damaged[-1] ^= 1
    not_an_event = files.record(b"\xff\xff\xff")
    files.append(logs.file, bytes(damaged) + not_an_event + files.record(loss(4)) + b"torn")
    report = logs.update()
    end = logs.file.stat().st_size - 4
    assert logs.steps() == [1, 2, 4]
    name = f"run/{logs.file.name}"
    assert places(report.problems) == [
        ("summary_record", name, f"byte {size}"),
        ("summary_record", name, f"byte {size + len(damaged)}"),
        ("summary_tail", name, f"byte {end}"),
    ]
    assert [problem.lost for problem in report.problems] == [
        f"The events in {len(damaged)} bytes.",
        f"The events in {len(not_an_event)} bytes.",
        "The events in 4 bytes.",
    ]
    assert logs.update() == report, "it is listed as long as the file is there"


def test_what_tensorboard_cannot_show_is_listed_and_counted(logs: Logs) -> None:
    landscape = files.message((1, "landscape"), (10, b""))
    events = [files.event(step, landscape, files.scalar("loss", step)) for step in range(3, 3 + MAX_LISTED + 5)]
    files.append(logs.file, b"".join(map(files.record, events)))
    problems = logs.update().problems
    assert {(problem.code, problem.found, problem.severity) for problem in problems} == {
        ("summary_kind", "landscape", "info")
    }
    assert len(problems) == MAX_LISTED and sum(problem.count for problem in problems) == len(events)
    assert logs.steps() == [1, 2, *range(3, 3 + MAX_LISTED + 5)]


@pytest.mark.parametrize("change", ["replaced", "shortened", "interrupted", "target removed", "state damaged"])
def test_a_run_begins_anew_where_it_cannot_go_on(logs: Logs, change: str) -> None:
    logs.update()
    first = logs.target()
    if change == "replaced":
        files.write(logs.file.parent, loss(7), loss(8), loss(9))
    elif change == "shortened":
        files.write(logs.file.parent, loss(7))
    elif change == "interrupted":
        files.append(first, b"half of an event")
    elif change == "target removed":
        first.unlink()
    else:
        (logs.out / "run" / STATE).write_text("{")
    report = logs.update()
    expected = {"replaced": [7, 8, 9], "shortened": [7]}.get(change, [1, 2])
    assert logs.steps() == expected and report.events == {"run": len(expected)}
    assert (logs.target().name > first.name) == (change != "state damaged")
    assert logs.update() == report


def test_a_run_without_a_source_is_removed_and_other_files_stay(logs: Logs) -> None:
    files.write(logs.logdir / "deep" / "other", loss(5))
    assert list(logs.update().events) == ["deep/other", "run"]
    (logs.out / "run" / "notes.txt").touch()
    for file in logs.logdir.rglob("*_MS"):
        file.unlink()
    assert logs.update().events == {}
    assert sorted(path.name for path in logs.out.rglob("*")) == ["notes.txt", "run", LOCK_FILE]


def test_one_process_writes_at_a_time(logs: Logs) -> None:
    logs.update()
    files.append(logs.file, files.record(loss(3)))
    with (logs.out / LOCK_FILE).open("a") as other:
        fcntl.flock(other, fcntl.LOCK_SH)
        assert update(logs.logdir, logs.out) is None and logs.steps() == [1, 2]
    assert logs.update().events == {"run": 3}


def test_a_pipe_of_that_name_is_listed_and_not_opened(logs: Logs) -> None:
    os.mkfifo(logs.logdir / "run" / files.name_of(rank=1))
    report = logs.update()
    assert report.events == {"run": 2, "run/rank_1": 0} and [problem.found for problem in report.problems] == [
        "not a file"
    ]


def test_tensorboard_that_runs_follows_growth_and_replacement(logs: Logs) -> None:
    logs.update()
    runs = EventMultiplexer()
    seen = []
    for change in (
        None,
        lambda: files.append(logs.file, files.record(loss(3))),
        lambda: files.write(logs.file.parent, loss(2)),
    ):
        if change is not None:
            change()
            logs.update()
        runs.AddRunsFromDirectory(str(logs.out))
        runs.Reload()
        seen.append([item.step for item in runs.Tensors("run", "loss")])
    assert seen == [[1, 2], [1, 2, 3], [2]]


def test_steps_of_profiles_are_runs_beside_the_events(logs: Logs) -> None:
    profile = ProfileSteps("output/profile", 1.7e9, "#npu_profiler&step=", ((3, 1_250_000), (4, 2_000_000)))
    other = replace(profile, run="other")
    update(logs.logdir, logs.out, [profile, other])
    found = shown(logs.out / "output/profile")
    assert (found.steps(TIME_TAG), found.scalars(TIME_TAG)) == ([3, 4], [1.25, 2.0])
    assert found.values[LINK_TAG][0][1].item() == b"[Step 3: 1.25 ms](#npu_profiler&step=3)"
    before = {path: path.stat().st_mtime_ns for path in logs.out.rglob("*tfevents*")}
    update(logs.logdir, logs.out, [profile, other])
    assert {path: path.stat().st_mtime_ns for path in logs.out.rglob("*tfevents*")} == before
    update(logs.logdir, logs.out, [replace(profile, steps=((3, 5_000_000),))])
    assert shown(logs.out / "output/profile").scalars(TIME_TAG) == [5.0] and not (logs.out / "other").exists()
    logs.file.unlink()
    update(logs.logdir, logs.out, [profile])
    assert not list(logs.out.rglob("*tfevents*")), "profiles alone need no mirror"


def test_an_error_of_the_disk_is_listed_and_reading_goes_on_later(logs: Logs, monkeypatch: pytest.MonkeyPatch) -> None:
    def failing(file: BinaryIO, start: int) -> Iterator[Record]:
        yield from islice(read_records(file, start), 2)
        raise OSError(errno.EIO, "Input/output error")

    with monkeypatch.context() as patch:
        patch.setattr(mirror, "read_records", failing)
        report = logs.update()
    assert [(problem.code, problem.found) for problem in report.problems] == [("unreadable_file", "Input/output error")]
    assert logs.steps() == [1]
    assert logs.update() == Report({"run": 2}, []) and logs.steps() == [1, 2]


def test_a_full_disk_leaves_a_state_that_goes_on(logs: Logs, monkeypatch: pytest.MonkeyPatch) -> None:
    logs.update()
    files.append(logs.file, files.record(loss(3)))

    class Full(RecordWriter):
        def write(self, data: bytes) -> None:
            self._writer.write(data[:5])
            self._writer.flush()
            raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch, pytest.raises(OSError, match="No space"):
        patch.setattr(mirror, "RecordWriter", Full)
        logs.update()
    assert logs.update() == Report({"run": 3}, []) and logs.steps() == [1, 2, 3]
