"""Files that a result lacks although the files beside it or other ranks show that it had them."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tb_npu_plugin.discovery.scan import scan
from tests.conftest import FIXTURES


def lost(logdir: Path) -> list[tuple[str, int | None, str]]:
    places = scan({"": logdir}).places()
    return [
        (note.file, place.worker.rank, note.severity)
        for place in places
        for note in place.span.notes
        if note.code == "lost_file"
    ]


@pytest.mark.parametrize(
    ("base", "file", "rank", "named", "severity"),
    [
        ("mindinsight_single", "framework_raw_0.csv", 0, "framework_raw_<rank>.csv", "warning"),
        ("mindspore_data", "minddata_cpu_utilization_0.json", 0, "minddata_cpu_utilization_0.json", "warning"),
        ("old_spellings", "node0_31786*/*/data_preprocess.csv", 1, "data_preprocess.csv", "info"),
        ("mindinsight_cluster", "flops_summary_2.json", 2, "flops_summary_<rank>.json", "info"),
    ],
)
def test_what_shows_that_a_file_was_written(
    tmp_path: Path, base: str, file: str, rank: int, named: str, severity: str
) -> None:
    shutil.copytree(FIXTURES / "results" / base, tmp_path / "logs")
    assert lost(tmp_path / "logs") == []
    next((tmp_path / "logs").rglob(file)).unlink()
    assert lost(tmp_path / "logs") == [(named, rank, severity)]


def test_a_rank_that_was_copied_in_part_is_not_told_of_each_file(tmp_path: Path) -> None:
    shutil.copytree(FIXTURES / "results" / "old_spellings", tmp_path / "logs")
    for path in (tmp_path / "logs").rglob("node0_31786*/ASCEND_PROFILER_OUTPUT/*.csv"):
        path.unlink()
    assert lost(tmp_path / "logs") == []
