"""The timeline of a database shows what the timeline of the trace of the same run shows.

What the two cannot both hold is listed here, with the reason; everything else must be equal, slice by slice.
"""

from __future__ import annotations

import re
import sqlite3
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from tb_npu_plugin.store.timeline.open import Timeline
from tests.support.mock import RUNS, run
from tests.unit.readers.databases import TASKS, change, create, database_of, runs_with_both, timeline_of

#: Without kernels and host there is nothing to show.
BOTH = runs_with_both("both_level_none_npu_only")
#: Streams of the tasks of communication, one a plane: the mock's text export shows them on their planes only.
COMMUNICATION_STREAMS = re.compile("Stream ([4-9]|[1-9][0-9]+)")
#: Args that databases do not hold, by process. Modes and items of CANN calls; batches (always 0), sizes of copies; the
#: mock's trace has no contexts of MIX kernels; models and contexts of communication.
NO_ARGS = {
    "CANN": {"Mode", "item_id", "id"},
    "Ascend Hardware": {"Batch Id", "Subtask Id", "data size(Byte)", "memcpy direction"},
    "Communication": {"model id", "context id"},
    "Python": {"Python id", "Python parent id", "Python module id"},
}


def at_level_0(name: str) -> bool:
    return RUNS[name].options.level == 0


@cache
def written(name: str, folder: Path) -> list[tuple[tuple[Path, Path], tuple[Path, Path]]]:
    """For each rank of a run: (timeline folder, file) of the trace, and the same of the database."""
    out = []
    for number, result in enumerate(sorted(run(name)[0].glob("*_ascend_pt"))):
        output = result / "ASCEND_PROFILER_OUTPUT"
        (database,) = output.glob("ascend_pytorch_profiler_*.db")
        one, other = (
            (folder / f"{name}-{number}-{path.suffix}", path) for path in (output / "trace_view.json", database)
        )
        of_text, of_database = ({one.code for one in timeline_of(path, out)[1]} for out, path in (one, other))
        assert of_text <= {"unmatched_flow"} and of_database <= {"unshown_task"}
        out.append((one, other))
    return out


def both(name: str, folder: Path) -> Iterator[tuple[Timeline, Timeline]]:
    """The same, open. Each holds some 30 files, and a process may have no more than 1024: they are opened anew."""
    for one, other in written(name, folder):
        yield Timeline.open(*one), Timeline.open(*other)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("timelines")


def tracks(timeline: Timeline, name: str) -> dict[tuple[str, str, str], dict[str, Any]]:
    """Tracks that both exports of a run have: (process, name, thread) -> what is shown."""
    out = {}
    for number, track in enumerate(timeline.tracks):
        thread = track["name"]
        if COMMUNICATION_STREAMS.fullmatch(thread):
            continue
        if at_level_0(name) and track["process"] in ("CANN", f"pid {track['pid']}"):
            continue  # the text export prunes CANN at level 0, the database does not
        out[track["process"], thread, track["tid"]] = {**track, "number": number}
    return out


def slices(timeline: Timeline, track: int) -> list[tuple[Any, ...]]:
    """(depth, start, duration, name, category) of the slices of a track."""
    rows = timeline.rows
    out = []
    for row in range(int(rows.track_row[track]), int(rows.track_row[track + 1])):
        for slice_id in range(int(rows.first[row]), int(rows.first[row + 1])):
            start = int(rows.start[slice_id]) + timeline.base_ns
            name = timeline.names[int(timeline.name[slice_id])]
            category = timeline.category_of(slice_id)
            out.append((row - int(rows.track_row[track]), start, int(rows.dur[slice_id]), name, category))
    return out


@pytest.mark.parametrize("name", BOTH)
def test_tracks_and_slices_are_equal(name: str, folder: Path) -> None:
    for text, database in both(name, folder):
        mine, theirs = tracks(text, name), tracks(database, name)
        # groups come in the order of their first operators; planes are those that were used
        assert communication(text, mine) == communication(database, theirs)
        assert list(mine) == list(theirs)  # in the same order
        for key, track in mine.items():
            other = theirs[key]
            assert slices(text, track["number"]) == slices(database, other["number"]), key
            for part in (track, other):
                part.pop("number")
                if key[1] == "PCIe_nonpost_latency":  # text exports say 0 of what is received, which has no latency
                    part["series"] = [series for series in part["series"] if series[0] != "Rx"]
                part["series"] = [series[0] for series in part["series"]]
            assert track == other


def communication(timeline: Timeline, found: dict[tuple[str, str, str], dict[str, Any]]) -> list[Any]:
    """The slices of the tracks of communication, which are taken out of `found`."""
    chosen = [found.pop(key) for key in list(found) if key[0] == "Communication"]
    return sorted(rows for rows in (slices(timeline, track["number"]) for track in chosen) if rows)


@pytest.mark.parametrize("name", BOTH)
def test_arrows_are_equal(name: str, folder: Path) -> None:
    for text, database in both(name, folder):
        mine, theirs = arrows(text), arrows(database)
        assert mine["async_task_queue"] == theirs["async_task_queue"]
        assert mine["fwdbwd"] == theirs["fwdbwd"]
        assert mine["MsTx"] == theirs["MsTx"]
        if not at_level_0(name):
            assert mine["HostToDevice"] == theirs["HostToDevice"]
        # arrows of a trace have the start of their task for an id: those of two tasks that start together are mixed up
        starts = Counter(target[2] for _, target in theirs["async_npu"])
        kept = {arrow for arrow in theirs["async_npu"] if starts[arrow[1][2]] == 1}
        lost = {arrow for arrow in mine["async_npu"] if starts[arrow[1][2]] < 2} - kept
        options = RUNS[name].options
        launched = options.cpu and options.npu and options.kernels
        assert (len(kept) > 10) == launched and kept <= mine["async_npu"]
        assert lost == set()


def arrows(timeline: Timeline) -> dict[str, set[Any]]:
    """Kind -> ((thread, name, start) of both ends)."""
    kinds = ("async_task_queue", "fwdbwd", "HostToDevice", "async_npu", "MsTx")
    out: dict[str, set[Any]] = {kind: set() for kind in kinds}
    for slice_id in range(timeline.slice_count):
        for flow in timeline.flows(slice_id):
            ends = tuple(
                (flow[end]["process"], flow[end]["name"], flow[end]["start"] + timeline.base_ns)
                for end in ("from", "to")
            )
            out[flow["kind"]].add(ends)
    return out


@pytest.mark.parametrize("name", ["both_level2", "both_cluster"])
def test_details_are_equal(name: str, folder: Path) -> None:
    for text, database in both(name, folder):
        mine, theirs = tracks(text, name), tracks(database, name)
        for (process, thread, tid), track in mine.items():
            if process == "Communication":
                continue
            lacks = NO_ARGS.get(process, set())
            pairs = zip(ids(text, track["number"]), ids(database, theirs[process, thread, tid]["number"]))
            for left, right in list(pairs)[:200]:
                one, other = (
                    {key: value for key, value in found.items() if key not in lacks}
                    for found in (text.args(left)[0] or {}, database.args(right)[0] or {})
                )
                if "_SQE" in one.get("Task Type", "") and "DSA" not in one["Task Type"]:
                    one["Task Type"] = other["Task Type"]  # of copies and events: the host's kind of task
                assert one == other, (process, thread)


def ids(timeline: Timeline, track: int) -> range:
    rows = timeline.rows
    return range(int(rows.first[rows.track_row[track]]), int(rows.first[rows.track_row[track + 1]]))


def test_a_task_that_only_holds_others_is_not_shown(tmp_path: Path) -> None:
    path = create(
        tmp_path,
        f"""{TASKS} INSERT INTO STRING_IDS VALUES (1,'AI_CORE'),(2,'mix'),(3,'EVENT_WAIT');
        INSERT INTO TASK VALUES
          (1000,1900,0,5,0,77,1,4294967295,2,9,0), (1010,1800,0,5,1,77,1,0,2,9,0), -- a wrapper and its task
          (9000,9100,0,6,2,77,3,4294967295,2,9,0);                                  -- the same id again, later
        CREATE TABLE COMPUTE_TASK_INFO (name, globalTaskId, taskType); INSERT INTO COMPUTE_TASK_INFO VALUES (2,1,1);""",
    )
    timeline, problems = timeline_of(path, tmp_path / "out")
    (track,) = (number for number, track in enumerate(timeline.tracks) if track["process"] == "Ascend Hardware")
    assert [row[1:4] for row in slices(timeline, track)] == [(1010, 790, "mix"), (9000, 100, "EVENT_WAIT")]
    assert [(one.code, one.where, one.found) for one in problems] == [("unshown_task", "TASK", "1")]


def test_each_device_has_its_own_overlap(tmp_path: Path) -> None:
    """One computes while the other communicates: neither overlaps anything, and neither fills the other's gaps."""
    path = create(
        tmp_path,
        f"""{TASKS} INSERT INTO STRING_IDS VALUES (1,'AI_CORE'),(2,'mix'),(3,'allReduce');
        INSERT INTO TASK VALUES
          (1000,1400,0,5,0,77,1,4294967295,2,9,0), (1900,2000,0,5,1,77,1,4294967295,2,9,0),
          (1500,1600,3,5,2,77,1,4294967295,2,9,0);
        CREATE TABLE COMPUTE_TASK_INFO (name, globalTaskId, taskType);
        INSERT INTO COMPUTE_TASK_INFO VALUES (2,0,1), (2,1,1), (2,2,1);
        CREATE TABLE COMMUNICATION_OP (opName, startNs, endNs, connectionId, groupName, opId, deviceId);
        INSERT INTO COMMUNICATION_OP VALUES (3,1100,1300,6,2,0,3);""",
    )
    timeline, problems = timeline_of(path, tmp_path / "out")
    found = {
        (track["label"], track["name"]): [row[1:3] for row in slices(timeline, number)]
        for number, track in enumerate(timeline.tracks)
        if track["process"] == "Overlap Analysis"
    }
    assert found == {
        ("NPU 0", "Computing"): [(1000, 400), (1900, 100)],
        ("NPU 0", "Free"): [(1400, 500)],
        ("NPU 3", "Computing"): [(1500, 100)],
        ("NPU 3", "Communication"): [(1100, 200)],
        ("NPU 3", "Communication(Not Overlapped)"): [(1100, 200)],
        ("NPU 3", "Free"): [(1300, 200)],
    }
    assert problems == []


def test_a_damaged_database_loses_what_is_damaged(tmp_path: Path) -> None:
    path = database_of("both_level2", tmp_path)
    with closing(sqlite3.connect(path)) as connection:
        ((page,),) = connection.execute("SELECT rootpage FROM sqlite_master WHERE name='PYTORCH_API'")
        ((size,),) = connection.execute("PRAGMA page_size")
    data = bytearray(path.read_bytes())
    data[(page - 1) * size : page * size] = bytes(size)
    path.write_bytes(data)
    timeline, problems = timeline_of(path, tmp_path / "out")
    processes = {track["process"] for track in timeline.tracks}
    assert "Python" not in processes and {"CANN", "Ascend Hardware", "Overlap Analysis"} <= processes
    assert [(problem.code, problem.where) for problem in problems] == [("damaged_table", "PYTORCH_API")]


def test_names_that_are_lost_are_stood_in_for(tmp_path: Path) -> None:
    path = database_of("both_level2", tmp_path)
    with closing(sqlite3.connect(path)) as connection:
        ((id_,),) = connection.execute("SELECT MIN(name) FROM CANN_API")
    change(path, f"DELETE FROM STRING_IDS WHERE id={id_}")
    timeline, problems = timeline_of(path, tmp_path / "out")
    assert any(name.endswith(f"@text {id_}") for name in timeline.names)
    assert [(problem.code, problem.where) for problem in problems] == [("unknown_text", "STRING_IDS")]
