"""Folders of every kind below a logdir: links, those that are too deep or too many, gone, or closed to us."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tb_npu_plugin.discovery import layout
from tb_npu_plugin.discovery.scan import scan
from tests.unit.discovery.test_scan import reasons, tree
from tests.unit.store.results import NAME, write_result


def test_links_to_folders_are_followed(tmp_path: Path) -> None:
    write_result(tmp_path / "elsewhere" / NAME)
    (tmp_path / "logs" / "run").mkdir(parents=True)
    (tmp_path / "logs" / "run" / NAME).symlink_to(tmp_path / "elsewhere" / NAME)
    assert tree(scan({"": tmp_path / "logs"})) == {"run": {"rank 0 · host1_4242": [NAME]}}


def test_a_cycle_of_links_ends_and_is_reported(tmp_path: Path) -> None:
    write_result(tmp_path / "a" / NAME)
    (tmp_path / "a" / "again").symlink_to(tmp_path)
    (tmp_path / "a" / "self").symlink_to(tmp_path / "a")
    found = scan({"": tmp_path})
    assert tree(found) == {"a": {"rank 0 · host1_4242": [NAME]}}
    assert set(reasons(found)) == {"a/again", "a/self"}
    assert all("contains it" in reason for reason in reasons(found).values())


def test_a_dangling_file_is_a_problem_of_its_span(tmp_path: Path) -> None:
    folder = write_result(tmp_path / NAME, trace=None)
    (folder / "ASCEND_PROFILER_OUTPUT" / "trace_view.json").symlink_to(tmp_path / "nowhere")
    (place,) = scan({"": tmp_path}).places()
    assert [(note.code, note.file) for note in place.span.notes] == [
        ("unreadable_file", "ASCEND_PROFILER_OUTPUT/trace_view.json")
    ]
    assert not place.span.has_trace


def test_a_remote_logdir_is_reported() -> None:
    assert "remote folders" in reasons(scan({"": Path("gs://bucket/logs")}))["gs:/bucket/logs"]


def test_too_deep_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(layout, "MAX_DEPTH", 3)
    write_result(tmp_path / "a" / "b" / "c" / "d" / NAME)
    found = scan({"": tmp_path})
    assert found.runs == () and "More than 3 folders deep" in reasons(found)["a/b/c/d"]


def test_too_many_folders_are_reported_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(layout, "MAX_FOLDERS", 3)
    for name in "abcdef":
        (tmp_path / name).mkdir()
    assert ["More than 3 folders" in item.reason for item in scan({"": tmp_path}).skipped] == [True]


@pytest.mark.parametrize(("name", "action"), [("later", "Results that appear there"), ("a,b", "--logdir_spec=")])
def test_a_logdir_that_is_not_there_is_reported(tmp_path: Path, name: str, action: str) -> None:
    (skipped,) = scan({"": tmp_path / name}).skipped
    assert (skipped.path, skipped.reason) == (".", "This folder does not exist.") and action in skipped.action


def test_no_permission_is_reported_and_is_skipped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_result(tmp_path / "good" / NAME)
    write_result(tmp_path / "locked" / NAME)
    real = os.scandir

    def scandir(path: str | Path) -> object:  # root may read everything, so the refusal is played
        if Path(path).name == "locked":
            raise PermissionError(13, "Permission denied", str(path))
        return real(path)

    monkeypatch.setattr(os, "scandir", scandir)
    found = scan({"": tmp_path})
    assert list(tree(found)) == ["good"] and "No permission" in reasons(found)["locked"]


def test_a_folder_that_vanishes_while_it_is_read_is_as_if_it_had_not_been(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_result(tmp_path / "good" / NAME)
    (tmp_path / "passing").mkdir()
    real = os.scandir

    def scandir(path: str | Path) -> object:
        if Path(path).name == "passing":
            raise FileNotFoundError(2, "No such file or directory", str(path))
        return real(path)

    monkeypatch.setattr(os, "scandir", scandir)
    found = scan({"": tmp_path})
    assert list(tree(found)) == ["good"] and found.skipped == ()
