"""Exports of msprof and clusters of msprof-analyze in a logdir."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tb_npu_plugin.discovery.model import FoundSpan
from tb_npu_plugin.discovery.scan import scan
from tests.support.fixtures import FIXTURES

PROF = "PROF_000001_20250615070000123_ABCDEFGHIJKLMNOP"


def output(folder: Path, *names: str) -> None:
    (folder / "mindstudio_profiler_output").mkdir(parents=True)
    (folder / "device_3").mkdir()
    for name in names:
        (folder / "mindstudio_profiler_output" / name).write_text("Op Name\n")


@pytest.mark.parametrize(
    ("place", "run", "worker"),
    [
        (f"exp/{PROF}", "exp", "device 3"),
        (f"exp/rank_5/{PROF}", "exp", "rank 5 · device 3"),
        (PROF, "logs", "device 3"),
    ],
)
def test_run_and_worker_of_every_layout(tmp_path: Path, place: str, run: str, worker: str) -> None:
    output(tmp_path / "logs" / place, "op_summary_20250615070512.csv")
    found = scan({"": tmp_path / "logs"})
    assert [(one.label, [who.label for who in one.workers]) for one in found.runs] == [(run, [worker])]
    (span,) = found.runs[0].workers[0].spans
    assert (span.format, span.label) == ("msprof", "2025-06-15 07:00:00")
    assert found.skipped == ()


def test_the_newest_export_is_read(tmp_path: Path) -> None:
    names = ("op_summary_20250615070512.csv", "op_summary_20250616000000.csv", "op_summary_20250101000000.csv")
    output(tmp_path / PROF, *names)
    (span,) = scan({"": tmp_path}).runs[0].workers[0].spans
    assert [file.name for file in span.files] == ["op_summary_20250616000000.csv"]
    assert [note.code for note in span.notes] == ["older_export", "older_export"]


def names(span: FoundSpan) -> list[str]:
    return [file.name for file in span.files]


def test_all_pieces_of_the_newest_export_are_read(tmp_path: Path) -> None:
    new = [f"op_summary_slice_{piece}_20250616000000.csv" for piece in (0, 1, 2, 10)]
    output(tmp_path / PROF, *new, "op_summary_slice_0_20250615070512.csv", "op_summary_20250101000000.csv")
    (span,) = scan({"": tmp_path}).runs[0].workers[0].spans
    assert names(span) == new
    assert sorted(note.code for note in span.notes) == ["missing_piece", "older_export", "older_export"]
    (gap,) = [note for note in span.notes if note.code == "missing_piece"]
    assert gap.found.startswith("4") and gap.expected.startswith("11")


@pytest.mark.parametrize("place", ["", PROF], ids=["above", "itself"])
def test_raw_data_names_the_command(tmp_path: Path, place: str) -> None:
    (tmp_path / PROF / "device_0").mkdir(parents=True)
    (tmp_path / PROF / "host").mkdir()
    found = scan({"": tmp_path / place})
    assert found.runs == ()
    assert [("msprof --export=on" in one.command, "never exported" in one.reason) for one in found.skipped] == [
        (True, True)
    ]


@pytest.mark.parametrize("kind", ["cluster_text", "cluster_db"])
def test_a_cluster_has_a_span_for_each_rank(tmp_path: Path, kind: str) -> None:
    shutil.copytree(FIXTURES / "recorded" / kind, tmp_path / "exp")
    (run,) = scan({"": tmp_path}).runs
    assert (run.label, [worker.label for worker in run.workers]) == (
        "exp/cluster_analysis_output",
        ["rank 0", "rank 1"],
    )
    spans = [worker.spans[0] for worker in run.workers]
    assert [span.part for span in spans] == ["0", "1"]
    assert spans[0].token != spans[1].token
    assert spans[0].files == spans[1].files


def test_ranks_of_a_cluster_without_steps(tmp_path: Path) -> None:
    shutil.copytree(FIXTURES / "recorded" / "cluster_text", tmp_path / "exp")
    (tmp_path / "exp" / "cluster_analysis_output" / "cluster_step_trace_time.csv").unlink()
    assert len(scan({"": tmp_path}).runs[0].workers) == 2
    (tmp_path / "exp" / "cluster_analysis_output" / "communication_group.json").write_text("[]")
    found = scan({"": tmp_path})
    assert found.runs == ()
    assert ["No rank found" in one.reason for one in found.skipped] == [True]


DATABASE = "msprof_20250615070512.db"


@pytest.mark.parametrize("place", ["", PROF], ids=["above", "itself"])
def test_a_database_alone_is_an_export(tmp_path: Path, place: str) -> None:
    (tmp_path / PROF / "device_3").mkdir(parents=True)
    (tmp_path / PROF / DATABASE).write_bytes(b"SQLite")
    (tmp_path / PROF / "msprof_20240101000000.db").write_bytes(b"SQLite")
    found = scan({"": tmp_path / place})
    (span,) = found.runs[0].workers[0].spans
    assert found.skipped == ()
    assert (span.format, span.folder.name, found.runs[0].workers[0].label) == ("msprof", PROF, "device 3")
    assert [(file.relative, file.fallback, file.stages) for file in span.files] == [
        (DATABASE, True, ("tables", "trace"))
    ]
    assert [note.code for note in span.notes] == ["older_export"]


@pytest.mark.parametrize(("own", "read"), [("", True), ("ascend_pytorch_profiler_0.db", False)])
def test_a_database_left_in_the_raw_data_of_a_framework(tmp_path: Path, own: str, read: bool) -> None:
    result = tmp_path / "node0_1_20250615070000123_ascend_pt"
    (result / "ASCEND_PROFILER_OUTPUT").mkdir(parents=True)
    (result / PROF).mkdir()
    for path in ("ASCEND_PROFILER_OUTPUT/kernel_details.csv", f"{PROF}/{DATABASE}"):
        (result / path).write_text("Name\n")
    if own:
        (result / "ASCEND_PROFILER_OUTPUT" / own).write_text("x")
    (span,) = scan({"": tmp_path}).runs[0].workers[0].spans
    assert span.format == "torch_npu"
    assert (f"{PROF}/{DATABASE}" in [file.relative for file in span.files]) is read
