"""Which Summary files make a run."""

from __future__ import annotations

from pathlib import Path

import pytest

from tb_npu_plugin.schema.other_files import SummaryName, parse_summary_name
from tb_npu_plugin.summary.sources import find_runs
from tests.support.summary_files import name_of


def runs(logdir: Path, *files: str) -> dict[str, list[str]]:
    for file in files:
        (logdir / file).parent.mkdir(parents=True, exist_ok=True)
        (logdir / file).touch()
    return {run.name: [str(file.relative_to(logdir)) for file in run.files] for run in find_runs(logdir)}


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("events.out.events.summary.1795351953.3.vm_MS", SummaryName(1795351953, 3, False)),
        ("events.out.events.summary.1795351953.3.vm_lineage", SummaryName(1795351953, 3, True)),
        ("my.out.events.summary.1795351953.node7_MS", SummaryName(1795351953, 0, False)),
        ("events.out.events.summary.1795351953.0.vm_MS_lineage", SummaryName(1795351953, 0, True)),
        ("events.out.events.summary.1795351953.0.vm_explain", None),
        ("events.out.tfevents.1795351953.vm", None),
    ],
)
def test_names(name: str, expected: SummaryName | None) -> None:
    assert parse_summary_name(name) == expected


def test_lineage_belongs_to_the_run_that_began_before_it(tmp_path: Path) -> None:
    first, lineage, evaluated = name_of(10), name_of(10, end="_lineage"), name_of(12, end="_lineage")
    again, other = name_of(20), name_of(20, end="_lineage")
    assert runs(tmp_path, *(f"a/{name}" for name in (again, other, evaluated, lineage, first))) == {
        "a": [f"a/{first}", f"a/{lineage}", f"a/{evaluated}"],
        "a/20": [f"a/{again}", f"a/{other}"],
    }


def test_ranks_of_one_folder_are_runs_and_so_are_those_of_mindformers(tmp_path: Path) -> None:
    found = runs(
        tmp_path, name_of(), name_of(rank=2), *(f"summary/rank_{rank}/{name_of(rank=rank)}" for rank in (0, 1))
    )
    assert list(found) == ["", "rank_2", "summary/rank_0", "summary/rank_1"]


def test_names_of_runs_differ_from_each_other_and_from_those_of_tensorboard(tmp_path: Path) -> None:
    mixed = runs(
        tmp_path,
        f"a/{name_of()}",
        "a/events.out.tfevents.1.x",
        f"b/{name_of()}",
        f"b/{name_of(rank=1)}",
        f"b/rank_1/{name_of()}",
    )
    assert list(mixed) == ["a/mindspore", "b", "b/rank_1", "b/rank_1 (2)"]


def test_links_are_followed_once_and_results_are_not_searched(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "logs").mkdir()
    (tmp_path / "elsewhere" / name_of()).touch()
    (tmp_path / "logs" / "linked").symlink_to(tmp_path / "elsewhere")
    (tmp_path / "elsewhere" / "up").symlink_to(tmp_path / "logs")
    assert list(runs(tmp_path / "logs", f"x_ascend_ms/{name_of()}", f"PROF_1/{name_of()}")) == ["linked"]
