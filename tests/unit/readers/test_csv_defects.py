"""What broken CSV files cost: the broken part, a problem, and nothing else."""

from __future__ import annotations

import gzip
import os
from pathlib import Path

import numpy as np
import pytest

from tb_npu_plugin.analysis.memory import live_at
from tb_npu_plugin.problems import ProblemLog
from tb_npu_plugin.readers.registry import read_file
from tb_npu_plugin.readers.shared.reading import Reading
from tb_npu_plugin.tables import NULL_INT
from tests.support.scanners import both_scanners
from tests.unit.readers.files import KERNEL_HEADER, KERNELS, codes, kernel_row, kernels, read, read_path

pytestmark = both_scanners

A, B, C = kernel_row("a"), kernel_row("b"), kernel_row("c")


def names(tables) -> list[str | None]:
    return tables["kernels"].text("name").tolist()


@pytest.mark.parametrize("content", [b"", b"\n\r\n", b"\xef\xbb\xbf", b",,\n"])
def test_an_empty_file(tmp_path: Path, content: bytes) -> None:
    tables, problems = read(tmp_path, KERNELS, content)
    assert tables == {}
    assert codes(problems) == ["empty_file x1"]


def test_a_header_alone_is_a_table_without_rows(tmp_path: Path) -> None:
    tables, problems = read(tmp_path, KERNELS, kernels())
    assert len(tables["kernels"]) == 0
    assert tables["kernels"].has("start_ns")
    assert [(problem.code, problem.severity) for problem in problems] == [("no_rows", "info")]


def test_a_missing_required_column_is_named(tmp_path: Path) -> None:
    tables, problems = read(tmp_path, KERNELS, b"Name,Duration(us)\na,1\n")
    assert tables == {}
    assert [(p.code, p.where, p.expected) for p in problems] == [("missing_column", "line 1", "Start Time(us)")]


def test_a_file_of_something_else(tmp_path: Path) -> None:
    tables, problems = read(tmp_path, "l2_cache.csv", b"<html>\n<body>\n")
    assert tables == {}
    assert codes(problems) == ["missing_column x1"]


def test_rows_of_wrong_width_are_lost_alone(tmp_path: Path) -> None:
    tables, problems = read(tmp_path, KERNELS, kernels(A, "50,short", B, C + ",extra", C + ", ,"))
    assert names(tables) == ["a", "b", "c"]  # empty cells after the last column do no harm
    assert [(p.code, p.where, p.expected) for p in problems] == [
        ("short_row", "line 3", "8 cells"),
        ("long_row", "line 5", "8 cells"),
    ]


def test_a_bad_time_costs_its_row(tmp_path: Path) -> None:
    rows = kernels(A, kernel_row("bad", start="17364O8883704643.212"), kernel_row("none", start=""), B)
    tables, problems = read(tmp_path, KERNELS, rows)
    assert names(tables) == ["a", "b"]
    assert codes(problems) == ["bad_required_cell x2"]
    assert problems[0].where == "line 3, Start Time(us), line 4, Start Time(us)"


@pytest.mark.parametrize("dur", ["-0.001", "-5.5", "9007199254740.992", "9000000000000000"])
def test_a_kernel_that_took_less_than_nothing_or_ages_is_lost(tmp_path: Path, dur: str) -> None:
    longest = kernel_row("longest", duration="9007199254740.991")
    tables, problems = read(tmp_path, KERNELS, kernels(A, kernel_row("bad", duration=dur), longest))
    assert names(tables) == ["a", "longest"]
    assert tables["kernels"].ints("dur_ns").tolist()[1] == 2**53 - 1
    assert [(p.code, p.where, p.found) for p in problems] == [("bad_required_cell", "line 3, Duration(us)", dur)]


@pytest.mark.parametrize("start", ["0", "0.000", "-1.000"])
def test_a_kernel_that_started_before_1970_is_lost(tmp_path: Path, start: str) -> None:
    tables, problems = read(tmp_path, KERNELS, kernels(A, kernel_row("bad", start=start), B))
    assert names(tables) == ["a", "b"]
    assert [(p.code, p.where, p.found) for p in problems] == [("bad_required_cell", "line 3, Start Time(us)", start)]


def test_a_release_before_1970_is_unknown(tmp_path: Path) -> None:
    rows = [
        "Name,Size(KB),Allocation Time(us),Release Time(us)",
        "a,1,1736408883704643.212,0",
        "b,1,1736408883704643.212,",
    ]
    tables, problems = read(tmp_path, "operator_memory.csv", "\n".join([*rows, ""]).encode())
    assert tables["op_memory"].ints("release_ns").tolist() == [NULL_INT, NULL_INT]
    assert codes(problems) == ["bad_cell x1"]


def test_a_bad_optional_cell_costs_itself(tmp_path: Path) -> None:
    rows = ["Name,Start Time(us),Duration(us),Wait Time(us),Task ID,x_rate", "a,1,2,soon,1.5,inf", "b,1,2,3,4,0.5"]
    tables, problems = read(tmp_path, KERNELS, "\n".join([*rows, ""]).encode())
    assert names(tables) == ["a", "b"]
    assert tables["kernels"].ints("wait_ns").tolist() == [NULL_INT, 3000]
    assert tables["kernels"].ints("task_id").tolist() == [NULL_INT, 4]
    assert np.isnan(tables["kernels"].floats("x_rate")[0])
    assert [(p.code, p.found) for p in problems] == [("bad_cell", "soon"), ("bad_cell", "1.5"), ("not_a_number", "inf")]


@pytest.mark.parametrize("text", ["nan", "NaN", "inf", "-Infinity"])
def test_nan_and_infinity_are_unknown(tmp_path: Path, text: str) -> None:
    content = f"OP Type,Total Time(us),Ratio(%)\nMatMul,{text},{text}\n"
    tables, problems = read(tmp_path, "op_statistic.csv", content.encode())
    assert tables["op_statistic"].ints("total_ns").tolist() == [NULL_INT]
    assert np.isnan(tables["op_statistic"].floats("ratio")[0])
    assert codes(problems) == ["not_a_number x1", "not_a_number x1"]


def test_figures_beyond_int64_are_bad(tmp_path: Path) -> None:
    content = b"Name,Start Time(us),Duration(us),Stream ID\na,1,2,18446744073709551615\n"
    tables, problems = read(tmp_path, KERNELS, content)
    assert tables["kernels"].ints("stream_id").tolist() == [NULL_INT]
    assert codes(problems) == ["bad_cell x1"]


def test_times_that_a_spreadsheet_rounded(tmp_path: Path) -> None:
    tables, problems = read(tmp_path, KERNELS, kernels(A, kernel_row("b", start="1.69512E+15")))
    assert tables["kernels"].ints("start_ns").tolist() == [1736408883704643212, 1695120000000000000]
    assert [(p.code, p.where, p.severity) for p in problems] == [
        ("precision_lost", "line 3, Start Time(us)", "warning")
    ]


def test_a_row_cut_at_the_end(tmp_path: Path) -> None:
    tables, problems = read(tmp_path, KERNELS, kernels(A, B)[:-30])
    assert names(tables) == ["a"]
    assert [(p.code, p.where) for p in problems] == [("truncated_row", "line 3")]


def test_a_last_line_without_line_break_is_kept_with_a_warning(tmp_path: Path) -> None:
    tables, problems = read(tmp_path, KERNELS, kernels(A, B).rstrip())
    assert names(tables) == ["a", "b"]
    assert [(p.code, p.severity) for p in problems] == [("no_final_line_break", "warning")]


def test_a_file_cut_inside_a_quoted_cell(tmp_path: Path) -> None:
    content = b'Name,Call Stack,Host Total Duration(us)\na,"f;\ng",1\nb,"f;\ng'
    tables, problems = read(tmp_path, "operator_details.csv", content)
    assert tables["operators"].text("name").tolist() == ["a"]
    assert codes(problems) == ["truncated_row x1"]


def test_a_cut_that_leaves_the_right_number_of_cells(tmp_path: Path) -> None:
    content = b'OP Type,Core Type\nA,AI_CORE\nB,"AI_'
    tables, problems = read(tmp_path, "op_statistic.csv", content)
    assert tables["op_statistic"].text("type").tolist() == ["A"]
    assert codes(problems) == ["truncated_row x1"]


@pytest.mark.parametrize("chunk_rows", [2, 8192])
def test_a_quote_that_is_never_closed_costs_its_row(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, chunk_rows: int
) -> None:
    monkeypatch.setattr("tb_npu_plugin.readers.shared.csv_rows.CHUNK_ROWS", chunk_rows)
    shaped = '50,"q,r",Conv2D,AI_CORE,1,2,0,32'
    tables, problems = read(tmp_path, KERNELS, kernels(A, '50,"bad,Conv2D,AI_CORE,1,2,0,32', B, shaped, C, C, C))
    assert names(tables) == ["a", "b", "q,r", "c", "c", "c"]
    assert [(p.code, p.where) for p in problems] == [("bad_quotes", "line 3")]


def test_a_quote_that_is_never_closed_before_cells_of_several_lines(tmp_path: Path) -> None:
    stack = '"f.py(1): f;\ng.py(2): g"'
    rows = [f"a,{stack},1", f'"bad,{stack},1', f"b,{stack},1", f"c,{stack},1"]
    content = "\n".join(["Name,Call Stack,Host Total Duration(us)", *rows, ""])
    tables, problems = read(tmp_path, "operator_details.csv", content.encode())
    assert tables["operators"].text("name").tolist() == ["a", "b", "c"]
    assert {problem.code for problem in problems} <= {"bad_quotes", "short_row", "long_row"}
    assert problems


def test_a_quote_that_is_never_closed_in_a_long_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tb_npu_plugin.readers.shared.csv_rows.MAX_CELL", 1000)
    import csv

    limit = csv.field_size_limit(1000)
    try:
        tables, problems = read(tmp_path, KERNELS, kernels(A, '50,"bad,x,x,1,2,0,32', *[B] * 200))
    finally:
        csv.field_size_limit(limit)
    assert names(tables) == ["a", *["b"] * 200]
    assert codes(problems) == ["bad_quotes x1"]


def test_a_quote_inside_an_unquoted_cell_is_text(tmp_path: Path) -> None:
    tables, problems = read(tmp_path, KERNELS, kernels(kernel_row('a"b'), B))
    assert names(tables) == ['a"b', "b"]
    assert problems == []


def test_a_header_given_twice(tmp_path: Path) -> None:
    content = b"OP Type,Count,OP Type,Count\nA,1,B,2\n"
    tables, problems = read(tmp_path, "op_statistic.csv", content)
    assert tables["op_statistic"].text("type").tolist() == ["A"]
    assert tables["op_statistic"].ints("calls").tolist() == [1]
    assert codes(problems) == ["duplicate_header x2"]


def test_files_that_were_joined(tmp_path: Path) -> None:
    tables, problems = read(tmp_path, KERNELS, kernels(A, KERNEL_HEADER, B))
    assert names(tables) == ["a", "b"]
    assert [(p.code, p.where) for p in problems] == [("repeated_header", "line 3")]


def test_bytes_that_are_no_text_cost_themselves(tmp_path: Path) -> None:
    content = kernels(A, "50,na\0me,Conv2D,AI_CORE,1,2,0,32", "50,x,Conv2D,AI_CORE,1,2,0,3\0", B)
    tables, problems = read(tmp_path, KERNELS, content.replace(b"50,a,", b"50,\xff\xfea,"))
    assert names(tables) == ["\ufffd\ufffda", "na\ufffdme", "x", "b"]
    assert tables["kernels"].ints("block_dim").tolist() == [32, 32, NULL_INT, 32]
    assert codes(problems) == ["bad_bytes x2", "bad_cell x1"]


def test_gzip_that_is_cut(tmp_path: Path) -> None:
    packed = gzip.compress(kernels(*[kernel_row(f"k{n}") for n in range(5000)]))
    path = tmp_path / (KERNELS + ".gz")
    path.write_bytes(packed[: len(packed) // 2])
    tables, problems = read_path(path)
    assert 0 < len(tables["kernels"]) < 5000
    assert "file_cut x1" in codes(problems)


def test_gzip_that_is_none(tmp_path: Path) -> None:
    path = tmp_path / (KERNELS + ".gz")
    path.write_bytes(kernels(A))
    tables, problems = read_path(path)
    assert tables == {}
    assert codes(problems) == ["file_cut x1", "empty_file x1"]


def test_no_file(tmp_path: Path) -> None:
    assert codes(read_path(tmp_path / KERNELS)[1]) == ["missing_file x1"]


def test_a_folder_and_a_pipe_in_place_of_a_file(tmp_path: Path) -> None:
    (tmp_path / KERNELS).mkdir()
    os.mkfifo(tmp_path / "l2_cache.csv")
    assert codes(read_path(tmp_path / KERNELS)[1]) == ["not_a_file x1"]
    assert codes(read_path(tmp_path / "l2_cache.csv")[1]) == ["not_a_file x1"]


def test_a_file_that_may_not_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*args: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("tb_npu_plugin.readers.shared.source._Counting.__init__", refuse)  # root may read everything
    tables, problems = read(tmp_path, KERNELS, kernels(A))
    assert tables == {}
    assert codes(problems) == ["no_permission x1"]


def test_a_disk_that_fails_while_reading(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    reads = []

    def fail(self: object, buffer: bytearray) -> int:
        if reads:
            raise OSError(5, "Input/output error")
        reads.append(1)
        content = kernels(A, B)
        buffer[: len(content)] = content
        return len(content)

    monkeypatch.setattr("tb_npu_plugin.readers.shared.source._Counting.readinto", fail)
    tables, problems = read(tmp_path, KERNELS, b"")
    assert names(tables) == ["a", "b"]
    assert codes(problems) == ["unreadable_file x1"]


def test_progress_counts_the_bytes_of_the_file(tmp_path: Path) -> None:
    for name, content in (
        (KERNELS, kernels(A)),
        (KERNELS + ".gz", gzip.compress(kernels(A))),
        ("communication.json", b"{}"),
    ):
        (tmp_path / name).write_bytes(content)
        counts: list[int] = []
        read_file(Reading(tmp_path / name, name, ProblemLog(), counts.append))
        assert sum(counts) == len(content)


def test_a_file_that_no_reader_knows(tmp_path: Path) -> None:
    tables, problems = read(tmp_path, "notes.csv", b"a,b\n1,2\n")
    assert tables == {}
    assert codes(problems) == ["unknown_file x1"]


def test_text_after_a_closing_quote(tmp_path: Path) -> None:
    tables, problems = read(tmp_path, KERNELS, kernels(A, '50,"bad" name,Conv2D,AI_CORE,1,2,0,32', B))
    assert names(tables) == ["a", "b"]
    assert [(p.code, p.where) for p in problems] == [("bad_quotes", "line 3")]


def test_a_stray_quote_that_leaves_the_right_number_of_cells(tmp_path: Path) -> None:
    content = b'Name,Input Shapes,Start Time(us),Duration(us)\na,"1,2",1,1\n",2,2\nb,"1,2",3,3\nc,"1,2",4,4\n'
    tables, problems = read(tmp_path, KERNELS, content)
    assert names(tables) == ["a", "b", "c"]
    assert codes(problems) == ["bad_quotes x1"]


def test_two_quotes_that_are_never_closed(tmp_path: Path) -> None:
    bad = '50,"bad,Conv2D,AI_CORE,1,2,0,32'
    tables, problems = read(tmp_path, KERNELS, kernels(A, bad, bad, B, C))
    assert names(tables) == ["a", "b", "c"]
    assert {problem.code for problem in problems} == {"bad_quotes"}


def test_line_numbers_count_the_lines_of_cells(tmp_path: Path) -> None:
    stack = '"f.py(1): f;\ng.py(2): g"'
    content = f"Name,Call Stack,Host Total Duration(us)\na,{stack},1\nb,{stack},x\nc,,y\n"
    _, problems = read(tmp_path, "operator_details.csv", content.encode())
    assert problems[0].where == "line 4, Host Total Duration(us), line 6, Host Total Duration(us)"


def test_a_long_broken_row_is_one_problem(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tb_npu_plugin.readers.shared.csv_rows._MAX_RESTARTS", 1)
    content = 'Name,Call Stack,Host Total Duration(us)\na,"1\n2\n3\n4\n5"\nb,,1\n'
    tables, problems = read(tmp_path, "operator_details.csv", content.encode())
    assert tables["operators"].text("name").tolist() == ["b"]
    assert [(p.code, p.where, p.count) for p in problems] == [("short_row", "line 2", 1)]


def test_a_last_cell_that_is_open_at_the_end(tmp_path: Path) -> None:
    tables, problems = read(tmp_path, "op_statistic.csv", b'OP Type,Core Type\nA,AI_CORE\nB,"AI_\n')
    assert tables["op_statistic"].text("type").tolist() == ["A"]
    assert codes(problems) == ["bad_quotes x1"]


def test_memory_allocated_before_the_capture_is_no_damage(tmp_path: Path) -> None:
    """The vendor documents both: no allocation time, and releases with a negative size."""
    rows = ["Name,Size(KB),Allocation Time(us),Release Time(us)", "a,4,,20.5", "b,-8,10.5,", "c,1,11.5,", "d,1,x,"]
    tables, problems = read(tmp_path, "operator_memory.csv", "\n".join([*rows, ""]).encode())
    assert tables["op_memory"].text("name").tolist() == ["a", "b", "c", "d"]
    assert [(p.code, p.severity, p.count) for p in problems] == [
        ("bad_cell", "error", 1),
        ("before_capture", "info", 3),
    ]
    assert live_at(tables["op_memory"], 12_000).text("name").tolist() == ["a", "c", "d"]
