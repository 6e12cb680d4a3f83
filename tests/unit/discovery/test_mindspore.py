"""How results of MindSpore are found, in all the layouts in which they lie."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tb_npu_plugin.discovery.model import Place
from tb_npu_plugin.discovery.scan import scan

RESULTS = Path(__file__).parents[3] / "fixtures" / "results"
FIRST, SECOND = "node0_31780_20250615070000123_ascend_ms", "node0_31786_20250615070000123_ascend_ms"
TWO = RESULTS / "mindspore_two_ranks"


def places(logdir: Path) -> list[Place]:
    return scan({"": logdir}).places()


@pytest.mark.parametrize(
    ("place", "run"),
    [
        ("output/profile/rank_0", "output/profile"),
        ("output/profile/rank_0/profiler", "output/profile"),
        ("output/profile/rank0/profiler", "output/profile"),
        ("exp/rank0_start2_stop5", "exp"),
        ("exp/profiler", "exp/profiler"),  # nothing says that this is one of several
    ],
)
def test_run_of_every_layout(tmp_path: Path, place: str, run: str) -> None:
    shutil.copytree(TWO / FIRST, tmp_path / place / FIRST)
    assert [(found.run.label, found.worker.rank) for found in places(tmp_path)] == [(run, 0)]


@pytest.mark.parametrize("kept", ["settings", "database", "dataset"])
def test_a_renamed_folder_is_known_by_what_it_holds(tmp_path: Path, kept: str) -> None:
    source = {"settings": TWO, "database": RESULTS / "mindspore_db", "dataset": RESULTS / "mindspore_data"}[kept]
    shutil.copytree(source / FIRST, tmp_path / "exp" / "mine")
    if kept != "settings":
        (tmp_path / "exp" / "mine" / "profiler_info_0.json").unlink()
    (found,) = places(tmp_path)
    assert found.span.format == "mindspore"
    (note,) = [note for note in found.span.notes if note.code == "renamed_result"]
    assert note.expected == "a folder name that ends in _ascend_ms"


def test_raw_data_are_listed_with_the_call_that_parses_them() -> None:
    found = scan({"": RESULTS / "mindspore_raw"})
    assert found.runs == ()
    assert [entry.path for entry in found.skipped] == [FIRST, SECOND]
    path = RESULTS / "mindspore_raw" / FIRST
    assert f'from mindspore.profiler.profiler import analyse; analyse("{path}")' in found.skipped[0].command


def test_raw_data_beside_results_of_2_3_is_not_missed() -> None:
    found = scan({"": RESULTS / "mindspore_mixed"})
    new = [place for place in found.places() if place.span.format == "mindspore"]
    assert [(place.run.label, place.worker.rank) for place in new] == [("output/profile", 0), ("output/profile", 1)]
    assert found.skipped == ()
    old = [place for place in found.places() if place.span.format == "mindinsight"]
    assert [place.worker.rank for place in old] == [0, 1]


def test_processes_that_all_say_rank_0_are_separate_and_flagged() -> None:
    found = places(RESULTS / "mindspore_same_rank")
    assert [place.worker.label for place in found] == [
        "rank 0 · node0_31780 · device 0",
        "rank 0 · node0_31786 · device 1",
    ]
    assert [[note.code for note in place.span.notes] for place in found] == [["shared_rank"], ["shared_rank"]]
    assert found[0].span.notes[0].found == "2 processes with rank 0"


def test_processes_without_names_are_named_by_device(tmp_path: Path) -> None:
    for folder, name in ((FIRST, "rank0"), (SECOND, "rank_0")):
        shutil.copytree(RESULTS / "mindspore_same_rank" / folder, tmp_path / "exp" / name)
    assert [place.worker.label for place in places(tmp_path)] == ["rank 0 · device 0", "rank 0 · device 1"]
