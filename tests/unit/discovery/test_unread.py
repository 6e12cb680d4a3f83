"""Files that lie among those of a result and that nothing reads."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tb_npu_plugin.discovery import found
from tb_npu_plugin.discovery.model import FoundSpan
from tb_npu_plugin.discovery.scan import scan
from tests.support.fixtures import FIXTURES

RESULT = "node0_1_20250615070000123_ascend_pt"


def spans(logdir: Path) -> list[FoundSpan]:
    return [place.span for place in scan({"": logdir}).places()]


def put(folder: Path, *names: str) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name in names:
        (folder / name).write_text("12345")


def test_files_of_a_result_that_nothing_reads(tmp_path: Path) -> None:
    output = tmp_path / RESULT / "ASCEND_PROFILER_OUTPUT"
    put(output, "kernel_details.csv", "hbm.csv", "profiler_info.json", "op_statistic.csv.gz")
    put(output / "folder", "in_it.csv")
    put(tmp_path / RESULT, "profiler_info_0.json", "notes.txt")
    (span,) = spans(tmp_path)
    assert span.unread.files == (
        ("ASCEND_PROFILER_OUTPUT/hbm.csv", 5),
        ("ASCEND_PROFILER_OUTPUT/profiler_info.json", 5),  # it belongs into the folder above
    )
    assert not {name for name, _ in span.unread.files} & {file.relative for file in span.files}


def test_names_are_hostile(tmp_path: Path) -> None:
    output = tmp_path / RESULT / "ASCEND_PROFILER_OUTPUT"
    put(output, "kernel_details.csv", "a\x1b[31m\n\u202e.csv")
    (output / "b\udcff.csv").write_text("")
    (output / "gone.csv").symlink_to("nowhere")
    assert [name.rpartition("/")[2] for name, _ in spans(tmp_path)[0].unread.files] == [
        "a\ufffd[31m\ufffd\ufffd.csv",
        "b\ufffd.csv",
    ]


def test_of_many_the_first_are_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(found, "MAX_UNREAD", 2)
    put(tmp_path / RESULT / "ASCEND_PROFILER_OUTPUT", "kernel_details.csv", "c.csv", "a.csv", "b.csv", "d.csv")
    (span,) = spans(tmp_path)
    assert [name.rpartition("/")[2] for name, _ in span.unread.files] == ["a.csv", "b.csv"]
    assert span.unread.more == 2


@pytest.mark.parametrize(
    ("fixture", "folder"),
    [
        ("results/msprof", "*/mindstudio_profiler_output"),
        ("results/mindspore_data", "*/ASCEND_PROFILER_OUTPUT"),
        ("results/mindinsight_single", "**/profiler"),
        ("results/mindinsight_hosts", "**/cluster_profiler/*/profiler"),
        ("recorded/cluster_text", "cluster_analysis_output"),
    ],
)
def test_of_every_kind(tmp_path: Path, fixture: str, folder: str) -> None:
    shutil.copytree(FIXTURES / fixture, tmp_path / "run")
    places = list((tmp_path / "run").glob(folder))
    before = len(spans(tmp_path))
    for place in places:
        put(place, "soc_pmu_20250615070512.csv")
    after = spans(tmp_path)
    assert len(after) == before > 0
    for span in after:
        names = [name.rpartition("/")[2] for name, _ in span.unread.files]
        assert names.count("soc_pmu_20250615070512.csv") == 1
        assert all((span.folder / name).is_file() for name, _ in span.unread.files)
