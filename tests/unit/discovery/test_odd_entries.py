"""Odd files beside good results: each is listed with its reason, and the good results open."""

from __future__ import annotations

import os
import shutil
import socket
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tb_npu_plugin.discovery import timeouts, walk
from tb_npu_plugin.discovery.scan import scan
from tb_npu_plugin.discovery.timeouts import Stalled, run_with_timeout
from tests.support.fixtures import FIXTURES
from tests.unit.discovery.test_watch import until

GOOD = ("level1", "mindinsight_single", "mindspore_two_ranks", "msprof", "kineto_exported")
#: Names of result files of several formats, outside of result folders.
NAMES = (
    "host_1.1700000000000.pt.trace.json",
    "host_2.1700000000000.pt.trace.json.gz",
    "kernel_details.csv",
    "trace_view.json",
    "communication.json",
    "op_summary_20250615070512.csv",
    "cluster_step_trace_time.csv",
)


def bound_socket(path: Path) -> None:
    home = Path.cwd()
    os.chdir(path.parent)  # the whole path may be too long for a socket
    try:
        with socket.socket(socket.AF_UNIX) as listening:
            listening.bind(path.name)
    finally:
        os.chdir(home)


#: A part of the reason -> what makes such an entry.
MAKERS: dict[str, Callable[[Path], None]] = {
    "a pipe": os.mkfifo,
    "a socket": bound_socket,
    "a device": lambda path: path.symlink_to("/dev/zero"),
    "a folder": Path.mkdir,
    "does not exist": lambda path: path.symlink_to(path.parent / "gone"),
    "symbolic links": lambda path: path.symlink_to(path),
}
PACKED = ("a.pt.trace.json.gz.gz", "b.pt.trace.json.7z", "c.pt.trace.json.zst", "d.pt.trace.json.tmp")
NO_FOLDERS = ("e_ascend_pt", "f_ascend_ms")


def test_each_odd_entry_is_listed_and_the_good_ones_open(tmp_path: Path) -> None:
    for name in GOOD:
        shutil.copytree(FIXTURES / "results" / name, tmp_path / "good" / name)
    odd = dict.fromkeys(PACKED, "does not end in") | dict.fromkeys(NO_FOLDERS, "not a folder")
    for name in odd:
        (tmp_path / name).write_bytes(b"x")
    for number, (reason, make) in enumerate(MAKERS.items()):
        (tmp_path / f"odd{number}").mkdir()
        for name in NAMES:
            make(tmp_path / f"odd{number}" / name)
            odd[f"odd{number}/{name}"] = reason
    begun = time.monotonic()
    found = scan({"": tmp_path})
    assert time.monotonic() - begun < 2
    assert len(found.places()) == len(scan({"": tmp_path / "good"}).places()) > 0
    told = {skipped.path: skipped.reason for skipped in found.skipped}
    for place in found.places():
        told |= {f"{place.span.path}/{note.file}": note.found for note in place.span.notes}
    assert not {path: told.get(path) for path, reason in odd.items() if reason not in told.get(path, "")}


@pytest.mark.parametrize("kind", ["a pipe", "a socket", "a device"])
@pytest.mark.parametrize("below", [".", "ASCEND_PROFILER_OUTPUT"])
def test_entries_that_are_no_files_are_named_whatever_their_names(tmp_path: Path, kind: str, below: str) -> None:
    result = tmp_path / "run" / "node0_1_20250615070000123_ascend_pt"
    shutil.copytree(next((FIXTURES / "results" / "level1").iterdir()), result)
    MAKERS[kind](result / below / "notes.txt")
    MAKERS[kind](tmp_path / "run" / "queue")
    found = scan({"": tmp_path})
    told = {item.path: item.reason for item in found.skipped}
    told |= {note.file: note.found for place in found.places() for note in place.span.notes}
    assert kind in told["run/queue"]
    assert any(kind in reason for path, reason in told.items() if path.endswith("notes.txt"))


def test_nothing_below_a_logdir_is_silent(tmp_path: Path) -> None:
    """Profiles of other programs are named, all other files counted: beside a result, inside it, and in other folders."""
    shutil.copytree(FIXTURES / "results" / "level1", tmp_path / "run")
    result = next((tmp_path / "run").glob("*_ascend_pt"))
    made = (
        "OPPROF_20250615_ABC/OpBasicInfo.csv",
        "moe/decode_0.csv",
        "moe/decode_1.csv",
        "moe/notes.txt",
        f"run/{result.name}/rank0_snapshot.pickle",
        f"run/{result.name}/FRAMEWORK/torch.op_range",
        f"run/{result.name}/mine.txt",
        *(f"checkpoints/{number}.pt" for number in range(7)),
    )
    for name in made:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(b"x")
    found = scan({"": tmp_path})
    assert len(found.places()) == 1
    assert {one.path: (one.reason.code, one.action) for one in found.skipped} == {
        "OPPROF_20250615_ABC": ("skipped.other_file", "Open it in MindStudio Insight."),
        "moe/decode_0.csv": ("skipped.other_files", "Open it in MindStudio Insight."),
        f"run/{result.name}/rank0_snapshot.pickle": ("skipped.other_file", "Open it in pytorch.org/memory_viz."),
    }
    assert {one.path: (one.count, one.names) for one in found.others} == {
        "checkpoints": (7, ("0.pt", "1.pt", "2.pt", "3.pt", "4.pt")),
        "moe": (1, ("notes.txt",)),
        f"run/{result.name}": (2, ("mine.txt", "FRAMEWORK/")),
    }


@pytest.mark.timeout(60)
def test_a_settings_file_that_is_a_pipe_stops_nothing(tmp_path: Path) -> None:
    result = tmp_path / "renamed"
    (result / "ASCEND_PROFILER_OUTPUT").mkdir(parents=True)
    (result / "ASCEND_PROFILER_OUTPUT" / "kernel_details.csv").write_text("Name,Type\n")
    os.mkfifo(result / "profiler_info_0.json")
    assert len(scan({"": tmp_path}).places()) == 1


@pytest.mark.timeout(60)
def test_a_folder_that_does_not_answer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copytree(FIXTURES / "results" / "level1", tmp_path / "good")
    (tmp_path / "stalled").mkdir()
    gate, real = threading.Event(), walk.list_folder

    def list_folder(path: Path) -> list[os.DirEntry[str]]:
        if path.name == "stalled":
            gate.wait(50)
        return real(path)

    monkeypatch.setattr(walk, "list_folder", list_folder)
    monkeypatch.setattr(walk, "FOLDER_LIMIT", 0.5)
    found = scan({"": tmp_path})
    assert len(found.places()) == 1 and "does not respond" in {one.path: one.reason for one in found.skipped}["stalled"]
    gate.set()
    assert until(lambda: not scan({"": tmp_path}).skipped)


def test_helpers_are_used_again() -> None:
    before = threading.active_count()
    for number in range(200):
        assert run_with_timeout(5, f"path {number}", lambda number=number: number) == number
    assert threading.active_count() <= before + 2
    with pytest.raises(KeyError):
        run_with_timeout(5, "path", lambda: {}["x"])
    with pytest.raises(Stalled):
        run_with_timeout(0.01, "slow", lambda: time.sleep(0.5))
    assert until(lambda: "slow" not in timeouts._stuck)
