"""A job is the same run, and has the same diagnosis, however its files were copied."""

from __future__ import annotations

import json
import re
import shutil
from functools import cache
from pathlib import Path

import pytest

from tb_npu_plugin.capture.models.catalog import Sizes
from tb_npu_plugin.capture.models.run import Recipe
from tests.support import mock
from tests.support.cli import run
from tests.unit.store.results import settle

_TP = Recipe("tiny", ranks=4, tp=2, steps=2, sizes=Sizes(layers=1))
#: Kernels of experts in place of those of the mock.
_EXPERTS = {"MatMulV3": "GroupedMatmul", "RotaryPositionEmbedding": "MoeDistributeDispatchV2"}


@cache
def job(name: str) -> list[Path]:
    """Result folders of the ranks of a job."""
    folder, _ = mock.written(Recipe("tiny", ranks=4, tp=2, pp=2, steps=2) if name == "pp" else _TP)
    for file in folder.glob("*/*/*.*") if name == "moe" else ():
        text = file.read_text()
        for old, new in _EXPERTS.items():
            text = text.replace(old, new)
        file.write_text(text)
    return sorted(folder.glob("*_ascend_pt"))


#: Layout -> folder of each of four ranks. The last part is the end of an archive.
LAYOUTS = {
    "flat": ("", "", "", ""),
    "nodes": ("10.0.0.1", "10.0.0.1", "10.0.0.2", "10.0.0.2"),
    "workers": ("worker-0/profiler", "worker-0/profiler", "worker-1/profiler", "worker-1/profiler"),
    "shuffled": ("c", "a/b", "c", "d/e/f"),
    "flat.zip": ("job", "job", "job", "job"),
    "nodes.tar.gz": ("job/10.0.0.1", "job/10.0.0.1", "job/10.0.0.2", "job/10.0.0.2"),
}


def laid_out(ranks: list[Path], layout: str, target: Path) -> Path:
    """A logdir that holds the ranks in a layout."""
    for folder, rank in zip(LAYOUTS[layout], ranks):
        shutil.copytree(rank, target / folder / rank.name)
    settle(target)
    _, _, end = layout.partition(".")
    if end:
        shutil.make_archive(str(target / "job"), {"zip": "zip", "tar.gz": "gztar"}[end], target, "job")
        shutil.rmtree(target / "job")
    return target


def diagnosis(logdir: Path) -> str:
    """What `diagnose --json` prints of its only run, without what is made of paths."""
    done = run("diagnose", logdir, "--json")
    assert len(json.loads(done.stdout)["runs"]) == 1, done.stderr
    return re.sub('"run": ".*"', '"run": ""', re.sub("s[0-9a-f]{18}", "", done.stdout))


@pytest.mark.parametrize("name", ["tp", *(pytest.param(name, marks=pytest.mark.full) for name in ("pp", "moe"))])
def test_one_job_gives_one_diagnosis_wherever_its_folders_lie(name: str, tmp_path: Path) -> None:
    found = {layout: diagnosis(laid_out(job(name), layout, tmp_path / layout)) for layout in LAYOUTS}
    assert len(json.loads(found["flat"])["runs"][0]["ledgers"]) == 4
    assert [layout for layout in LAYOUTS if found[layout] != found["flat"]] == []


def test_doctor_says_what_joined_the_folders(tmp_path: Path) -> None:
    printed = run("doctor", laid_out(job("tp"), "nodes", tmp_path)).stdout
    assert "10.0.0.1 + 1  One job in 2 folders" in printed and "  10.0.0.1, 10.0.0.2\n" in printed
