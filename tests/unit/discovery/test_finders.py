"""What each finder takes, and what it says of the rest: traces of GPUs, msprof, clusters, MindSpore."""

from __future__ import annotations

import gzip
import json
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from tb_npu_plugin.discovery.kineto_head import MAX_HEAD, kineto_head
from tb_npu_plugin.discovery.model import Place
from tb_npu_plugin.discovery.scan import scan
from tb_npu_plugin.messages import Message
from tb_npu_plugin.problems import ProblemLog
from tb_npu_plugin.readers.kineto.head import read_capture
from tests.support.fixtures import FIXTURES
from tests.unit.discovery.test_layouts import MS, PROF, prof

RESULTS = FIXTURES / "results"
OTHER_MS = "node0_31786_20250615070000123_ascend_ms"
DATABASE = "msprof_20250615070512.db"
STEP_TRACE = "step_num,start_point,end_point,fp_point\n1,0,10,0\n"


def places(logdir: Path) -> list[Place]:
    return scan({"": logdir}).places()


def test_json_files_of_other_programs(tmp_path: Path) -> None:
    for number, content in enumerate(([], {"a": 1}, "text", {"schemaVersion": 1})):
        (tmp_path / f"config{number}.json").write_text(json.dumps(content))
    (tmp_path / "trace.json").write_text('{"name": "not ours"}')
    (tmp_path / "profile.json").write_text('{"displayTimeUnit": "ms", "traceEvents": []}')
    found = scan({"": tmp_path})
    assert found.runs == ()
    assert [(item.path, "another program" in item.reason) for item in found.skipped] == [("profile.json", True)]


def test_a_named_trace_is_taken_whatever_it_holds(tmp_path: Path) -> None:
    (tmp_path / "host1_42.pt.trace.json").write_text("[")
    assert len(places(tmp_path)) == 1


def test_a_head_without_end_is_not_read_for_ever(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_bytes(b'{"schemaVersion": 1, "x": "' + b"x" * (3 * MAX_HEAD))
    assert kineto_head(str(path)) == ({"schemaVersion": 1}, False, "torch.profiler", True)
    broken = tmp_path / "b.json.gz"
    broken.write_bytes(b"\x1f\x8b nothing")
    assert kineto_head(str(broken)) == ({}, False, "", True)


@pytest.mark.parametrize(
    ("name", "content", "part"),
    [
        ("my_trace.json.gz", b"", "empty, cut or damaged"),
        ("rank3_trace.json", b"\0" * 99, "empty, cut or damaged"),
        ("trace.json.gz", b"\x1f\x8b\x08 nothing", "empty, cut or damaged"),
        ("a.json", b'{"schemaVersion": 1, "distrib', "empty, cut or damaged"),
    ],
)
def test_a_trace_that_is_damaged_does_not_vanish(tmp_path: Path, name: str, content: bytes, part: str) -> None:
    (tmp_path / name).write_bytes(content)
    assert [(one.path, part in one.reason) for one in scan({"": tmp_path}).skipped] == [(name, True)]


@pytest.mark.parametrize(
    ("head", "rank"),
    [
        ('{"schemaVersion": 1,, "distributedInfo": {"backend": "nccl", "rank": 34, "pg_config": []}, ', 34),
        ('{"distributedInfo": {"rank": 34, "ranks": [1 2]}, "schemaVersion": 1,', 34),
        ('{"schemaVersion": 1, "distributedInfo": {"groups": [{"rank": 5}], "rank" 34}, ', None),
        (
            '{"schemaVersion": 1, "deviceProperties": [], "distributedInfo": {"backend": "gloo", "rank": 34, "world_size": 64}, ',
            34,
        ),
    ],
)
def test_the_rank_of_a_trace_whose_head_is_damaged(tmp_path: Path, head: str, rank: int | None) -> None:
    (tmp_path / "host_1.pt.trace.json").write_text(head + '"traceEvents": []}')
    (place,) = places(tmp_path)
    assert place.worker.rank == rank
    assert [note.code for note in place.span.notes] == ([] if "64" in head else ["damaged_head"])
    log = ProblemLog()
    assert read_capture(tmp_path, [place.span.files[0].relative], log).rank == rank
    assert not log.list(), "the reader does not say it again"


def test_all_pieces_of_the_newest_export_are_read(tmp_path: Path) -> None:
    new = [f"op_summary_slice_{piece}_20250616000000.csv" for piece in (0, 1, 2, 10)]
    prof(tmp_path / PROF, *new, "op_summary_slice_0_20250615070512.csv", "op_summary_20250101000000.csv")
    (place,) = places(tmp_path)
    assert (place.span.format, place.span.label) == ("msprof", "2025-06-15 07:00:00")
    assert [file.name for file in place.span.files] == new
    assert sorted(note.code for note in place.span.notes) == ["missing_piece", "older_export", "older_export"]
    (gap,) = [note for note in place.span.notes if note.code == "missing_piece"]
    assert gap.found.startswith("4") and gap.expected.startswith("11")


@pytest.mark.parametrize("below", ["", PROF], ids=["above", "itself"])
def test_raw_data_of_msprof_names_the_command(tmp_path: Path, below: str) -> None:
    (tmp_path / PROF / "device_0").mkdir(parents=True)
    (tmp_path / PROF / "host").mkdir()
    found = scan({"": tmp_path / below})
    assert found.runs == ()
    (item,) = found.skipped
    assert "msprof --export=on" in item.command and "never exported" in item.reason


@pytest.mark.parametrize("below", ["", PROF], ids=["above", "itself"])
def test_a_database_alone_is_an_export(tmp_path: Path, below: str) -> None:
    (tmp_path / PROF / "device_3").mkdir(parents=True)
    (tmp_path / PROF / DATABASE).write_bytes(b"SQLite")
    (tmp_path / PROF / "msprof_20240101000000.db").write_bytes(b"SQLite")
    found = scan({"": tmp_path / below})
    (place,) = found.places()
    span = place.span
    assert (span.format, span.folder.name, place.worker.label, found.skipped) == ("msprof", PROF, "device 3", ())
    (file,) = span.files
    assert (file.relative, file.fallback, file.stages) == (DATABASE, True, ("tables", "trace"))
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
    (place,) = places(tmp_path)
    assert place.span.format == "torch_npu"
    assert (f"{PROF}/{DATABASE}" in [file.relative for file in place.span.files]) is read


@pytest.mark.parametrize("kind", ["cluster_text", "cluster_db"])
def test_a_cluster_has_a_span_for_each_rank(tmp_path: Path, kind: str) -> None:
    shutil.copytree(FIXTURES / "recorded" / kind, tmp_path / "exp")
    first, second = places(tmp_path)
    assert {place.run.label for place in (first, second)} == {"exp/cluster_analysis_output"}
    assert [(place.worker.label, place.span.part) for place in (first, second)] == [("rank 0", "0"), ("rank 1", "1")]
    assert first.span.token != second.span.token and first.span.files == second.span.files


def test_ranks_of_a_cluster_without_steps(tmp_path: Path) -> None:
    shutil.copytree(FIXTURES / "recorded" / "cluster_text", tmp_path / "exp")
    (tmp_path / "exp" / "cluster_analysis_output" / "cluster_step_trace_time.csv").unlink()
    assert len(places(tmp_path)) == 2
    (tmp_path / "exp" / "cluster_analysis_output" / "communication_group.json").write_text("[]")
    found = scan({"": tmp_path})
    assert found.runs == ()
    assert ["No rank found" in one.reason for one in found.skipped] == [True]


def test_a_flat_folder_of_mindinsight_holds_a_span_for_each_rank() -> None:
    found = places(RESULTS / "mindinsight_cluster")
    assert {(place.run.label, place.span.format) for place in found} == {("mindinsight_cluster", "mindinsight")}
    assert [place.worker.label for place in found] == ["rank 0", "rank 1", "rank 2", "rank 3"]
    names = [file.relative for file in found[2].span.files]
    assert len(names) == 7
    assert all("_2." in name or "_2_" in name for name in names)


def test_ranks_of_hosts_come_from_the_rank_table() -> None:
    # Named by the numbers of host_ips_mapping.txt, which hides their addresses.
    found = places(RESULTS / "mindinsight_hosts")
    assert [(place.worker.rank, place.worker.rank_source, place.worker.host) for place in found] == [
        (rank, "hccl.json", host) for rank, host in enumerate(("host 2", "host 2", "host 1", "host 1"))
    ]
    assert found[2].span.files[0].relative == "cluster_profiler/1/profiler/step_trace_raw_0_detail_time.csv"


def test_a_rank_of_the_table_without_files_is_told(tmp_path: Path) -> None:
    shutil.copytree(RESULTS / "mindinsight_hosts", tmp_path / "logs")
    (tmp_path / "logs/run/cluster_profiler/1/profiler/step_trace_raw_1_detail_time.csv").unlink()
    found = scan({"": tmp_path / "logs"})
    assert [(one.path, one.reason.params) for one in found.skipped if isinstance(one.reason, Message)] == [
        ("run/cluster_profiler/1/profiler/", {"table": "hccl.json", "ranks": "3"})
    ]


def test_ranks_without_a_table_are_assumed_and_reported_to_be() -> None:
    found = places(RESULTS / "mindinsight_hosts_assumed")
    assert [place.worker.rank for place in found] == [0, 1, 8, 9]
    assert {place.worker.rank_source for place in found} == {"assumed from the order of the hosts"}
    assert [note.code for place in found for note in place.span.notes] == ["assumed_rank"] * 4


@pytest.mark.parametrize(
    "table", [b"[1, 2", b"[]", b'{"server_list": [3, {"device": [{"device_id": "x", "rank_id": 1}]}]}', b"\xff" * 9]
)
def test_a_broken_rank_table_is_ignored(tmp_path: Path, table: bytes) -> None:
    folder = tmp_path / "cluster_profiler" / "1" / "profiler"
    folder.mkdir(parents=True)
    (folder / "step_trace_raw_5_detail_time.csv").write_text(STEP_TRACE)
    (tmp_path / "hccl.json").write_bytes(table)
    (place,) = places(tmp_path)
    assert (place.worker.rank, place.worker.rank_source) == (5, "assumed from the order of the hosts")


def test_folders_side_by_side_that_hold_the_same_rank_are_different_jobs(tmp_path: Path) -> None:
    """ "5 of 4 ranks profiled": a rank of another job was judged with them."""
    shutil.copytree(RESULTS / "mindinsight_cluster" / "profiler", tmp_path / "job" / "cluster_propose")
    (tmp_path / "job" / "profiler").mkdir()
    (tmp_path / "job" / "profiler" / "step_trace_raw_0_detail_time.csv").write_text(STEP_TRACE)
    found = {run.label: [worker.rank for worker in run.workers] for run in scan({"": tmp_path}).runs}
    assert found == {"job/cluster_propose": [0, 1, 2, 3], "job/profiler": [0]}


@pytest.mark.parametrize("source", ["mindspore_two_ranks", "mindspore_db", "mindspore_data"])
def test_a_renamed_folder_of_mindspore_is_known_by_what_it_holds(tmp_path: Path, source: str) -> None:
    shutil.copytree(RESULTS / source / MS, tmp_path / "exp" / "mine")
    if source != "mindspore_two_ranks":  # known by its settings alone
        (tmp_path / "exp" / "mine" / "profiler_info_0.json").unlink()
    (place,) = places(tmp_path)
    assert place.span.format == "mindspore"
    (note,) = [note for note in place.span.notes if note.code == "renamed_result"]
    assert note.expected == "a folder name that ends in _ascend_ms"


def test_raw_data_of_mindspore_are_listed_with_the_call_that_parses_them() -> None:
    found = scan({"": RESULTS / "mindspore_raw"})
    assert found.runs == ()
    assert [entry.path for entry in found.skipped] == [MS, OTHER_MS]
    call = f'from mindspore.profiler.profiler import analyse; analyse("{RESULTS / "mindspore_raw" / MS}")'
    assert call in found.skipped[0].command


def test_raw_data_beside_results_of_2_3_is_not_missed() -> None:
    found = scan({"": RESULTS / "mindspore_mixed"})
    assert found.skipped == ()
    ranks = [(place.span.format, place.worker.rank) for place in found.places()]
    assert sorted(ranks) == [("mindinsight", 0), ("mindinsight", 1), ("mindspore", 0), ("mindspore", 1)]


def test_processes_that_all_say_rank_0_are_separate_and_flagged(tmp_path: Path) -> None:
    found = places(RESULTS / "mindspore_same_rank")
    names = ["rank 0 · node0_31780 · device 0", "rank 0 · node0_31786 · device 1"]
    assert [place.worker.label for place in found] == names
    assert [[note.code for note in place.span.notes] for place in found] == [["shared_rank"], ["shared_rank"]]
    assert found[0].span.notes[0].found == "2 processes with rank 0"
    for folder, name in ((MS, "rank0"), (OTHER_MS, "rank_0")):
        shutil.copytree(RESULTS / "mindspore_same_rank" / folder, tmp_path / "exp" / name)
    assert [place.worker.label for place in places(tmp_path)] == ["rank 0 · device 0", "rank 0 · device 1"]


KERNEL = {"ph": "X", "cat": "kernel", "name": "gemm", "pid": 0, "tid": 7, "ts": 1, "dur": 4, "args": {"device": 0}}
NPU_TASK = {"ph": "s", "cat": "async_npu", "name": "torch_to_npu", "id": 1, "pid": 1, "tid": 1, "ts": "1.000"}
SETTINGS = {"schemaVersion": 1, "deviceProperties": [{"id": 0}], "distributedInfo": {"backend": "nccl", "rank": 5}}
#: More than what is read of a file's beginning, and of an event list before its settings.
FILLER = [{"ph": "X", "name": "x", "pid": 1, "tid": 1, "ts": 1, "dur": 1, "args": {"text": "y" * 999}}] * 300


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize(
    ("content", "format", "rank"),
    [
        ({"metadata": {}, "traceEvents": [*FILLER, KERNEL], **SETTINGS}, "kineto", 5),  # settings behind the events
        ({"traceEvents": [KERNEL]}, "kineto", None),  # without settings
        ([KERNEL], "kineto", None),
        ([*FILLER, NPU_TASK], "torch_npu", None),
        ({"traceEvents": [*FILLER, NPU_TASK, *FILLER]}, "torch_npu", None),
        ({"traceEvents": FILLER}, None, None),  # of another program
    ],
)
def test_the_content_tells_who_wrote_a_trace(
    tmp_path: Path, content: object, format: str | None, rank: int | None, packed: bool
) -> None:
    text = json.dumps(content).encode()
    (tmp_path / ("a.json" + ".gz" * packed)).write_bytes(gzip.compress(text) if packed else text)
    found = places(tmp_path)
    assert [(one.span.format, one.worker.rank) for one in found] == ([(format, rank)] if format else [])


def test_a_damaged_byte_costs_one_setting(tmp_path: Path) -> None:
    text = json.dumps({**SETTINGS, "traceEvents": [KERNEL]}).replace('"distributedInfo"', '\0"distributedInfo"')
    (tmp_path / "a.json").write_text(text)
    (place,) = places(tmp_path)
    assert (place.worker.rank, [note.code for note in place.span.notes]) == (5, ["damaged_head"])


KERNEL_CSV = "Step Id,Name,Type,Accelerator Core,Start Time(us),Duration(us),Wait Time(us),Block Dim,aic_mac_time(us)\n"
STEP_CSV = "Step;Computing;Communication(Not Overlapped);Overlapped;Communication;Free;Stage;Bubble\n"
OTHER_CSV = "Name,Type,Start Time,Duration\n"


def test_tables_are_known_by_their_header(tmp_path: Path) -> None:
    folder = tmp_path / "job" / "rank_7"
    folder.mkdir(parents=True)
    for name, text in (("kernels (1)", KERNEL_CSV), ("times", STEP_CSV), ("loss", OTHER_CSV), ("zoo", KERNEL_CSV)):
        (folder / f"{name}.csv").write_text(text)
    first, other = places(tmp_path)
    assert (first.worker.rank, first.span.format, first.run.label) == (7, "torch_npu", "job")
    assert [(file.relative, file.name) for file in first.span.files] == [
        ("kernels (1).csv", "kernel_details.csv"),
        ("times.csv", "step_trace_time.csv"),
    ]
    assert [file.relative for file in other.span.files] == ["zoo.csv"]


def test_names_of_other_systems_and_packed_tables_are_known_by_what_they_hold(tmp_path: Path) -> None:
    """They were files that nothing reads."""
    for folder in ("csv", "gz", "trace", "cut"):
        (tmp_path / folder).mkdir()
    (tmp_path / "csv" / "KERNELS.CSV").write_text(KERNEL_CSV)
    (tmp_path / "gz" / "mine.csv.gz").write_bytes(gzip.compress(KERNEL_CSV.encode() * 9999))
    (tmp_path / "trace" / "TRACE_VIEW.JSON").write_text(
        '[{"ph": "X", "name": "async_npu", "cat": "async_npu", "ts": 1}]'
    )
    (tmp_path / "cut" / "mine.csv.gz").write_bytes(gzip.compress(KERNEL_CSV.encode())[:8] + b"odd")
    found = {place.span.folder.name: place.span.files[0].name for place in places(tmp_path)}
    assert found == {"csv": "kernel_details.csv", "gz": "kernel_details.csv", "trace": "trace_view.json"}


@pytest.mark.parametrize(
    ("names", "tables", "expected"),
    [
        ("mine.db", ["PYTORCH_API", "STRING_IDS"], [("torch_npu", 3, "ascend_pytorch_profiler_3.db")]),
        ("analysis1.db", ["PYTORCH_API"], [("torch_npu", 3, "ascend_pytorch_profiler_3.db")]),
        ("analysis1.db", ["StepTraceTime"], [("torch_npu", 1, "analysis1.db")]),
        ("a.db b.db", ["PYTORCH_API"], [("torch_npu", 3, "ascend_pytorch_profiler_3.db")] * 2),
        ("device.db", ["STRING_IDS", "TASK"], [("msprof", None, "msprof.db")]),
        ("mine.db", ["CommAnalyzerTime"], [("torch_npu", 3, "analysis_3.db")]),
        ("notes.db", ["things"], []),
    ],
)
def test_databases_are_known_by_their_tables(tmp_path: Path, names: str, tables: list[str], expected: Any) -> None:
    """Only those with a name of the profiler were opened."""
    for name in names.split():
        with closing(sqlite3.connect(tmp_path / name)) as database:
            for table in (*tables, "RANK_DEVICE_MAP"):
                database.execute(f"CREATE TABLE {table} (rankId INTEGER)")
            database.execute("INSERT INTO RANK_DEVICE_MAP VALUES (3)")
            database.commit()
    found = [(one.span.format, one.worker.rank, one.span.files[0].name) for one in places(tmp_path)]
    assert found == expected


def test_files_of_msprof_that_were_copied_out_of_their_folder_are_an_export(tmp_path: Path) -> None:
    """Under another name they were opened, under their own they were not. Some names say nothing."""
    for name in ("op_summary_20250615070512.csv", "msprof_20250615070512.json", "step_trace_1.csv", "notes.txt"):
        (tmp_path / "bare").mkdir(exist_ok=True)
        (tmp_path / "bare" / name).write_text("")
    prof(tmp_path / "bare" / "below" / PROF, "op_summary_20250615070512.csv")
    (tmp_path / "none").mkdir()
    (tmp_path / "none" / "step_trace_1.csv").write_text("")
    found = scan({"": tmp_path})
    assert sorted((place.span.format, place.span.folder.name, len(place.span.files)) for place in found.places()) == [
        ("msprof", PROF, 1),
        ("msprof", "bare", 3),
    ]
    others = {(one.path, one.names) for one in found.others}
    assert others >= {("bare", ("notes.txt",)), ("none", ("step_trace_1.csv",))}


def test_a_renamed_table_completes_its_result(tmp_path: Path) -> None:
    output = tmp_path / "host_1_20250615070000123_ascend_pt" / "ASCEND_PROFILER_OUTPUT"
    output.mkdir(parents=True)
    (output / "step_trace_time.csv").write_text(STEP_CSV)
    (output / "kernel_details - Copy.csv").write_text(KERNEL_CSV)
    (output / "step_trace_time (1).csv").write_text(STEP_CSV)
    (place,) = places(tmp_path)
    assert sorted(file.name for file in place.span.files) == ["kernel_details.csv", "step_trace_time.csv"]
    assert [note.code for note in place.span.notes] == ["known_by_header"]
    assert [name for name, _ in place.span.unread.files] == ["ASCEND_PROFILER_OUTPUT/step_trace_time (1).csv"]
