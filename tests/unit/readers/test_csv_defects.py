"""Damaged CSV files: the damaged part is skipped and reported, everything else is read."""

from __future__ import annotations

import csv
import gzip
import os
from pathlib import Path

import numpy as np
import pytest

from tb_npu_plugin.analysis.memory import live_at
from tb_npu_plugin.problems import ProblemLog
from tb_npu_plugin.readers.shared.reading import Reading
from tb_npu_plugin.readers.text.reader import read_file
from tb_npu_plugin.tables import NULL_INT
from tests.support.scanners import both_scanners
from tests.unit.readers.files import KERNEL_HEADER, KERNELS, codes, kernel_row, kernels, read, read_path

pytestmark = both_scanners

A, B, C = kernel_row("a"), kernel_row("b"), kernel_row("c")
STACKS, STATISTIC = "operator_details.csv", "op_statistic.csv"
STACK_HEADER = b"Name,Call Stack,Host Total Duration(us)\n"
STACK = b'"f.py(1): f;\ng.py(2): g"'
OPEN_QUOTE = '50,"bad,Conv2D,AI_CORE,1,2,0,32'


def with_start(start: str) -> bytes:
    return kernels(A, kernel_row("bad", start=start), B)


def with_duration(duration: str) -> bytes:
    return kernels(A, kernel_row("bad", duration=duration), kernel_row("b", duration="9007199254740.991"))


#: Test id: (content, names of the rows that are read or None, problems: code, place, count).
KERNEL_CASES = {
    "empty": (b"", None, ["empty_file  1"]),
    "blank lines": (b"\n\r\n", None, ["empty_file  1"]),
    "byte order mark": (b"\xef\xbb\xbf", None, ["empty_file  1"]),
    "commas": (b",,\n", None, ["empty_file  1"]),
    "header alone": (kernels(), [], ["no_rows  1"]),
    "required column missing": (b"Name,Duration(us)\na,1\n", None, ["missing_column line 1 1"]),
    "rows of wrong width": (
        kernels(A, "50,short", B, C + ",extra", C + ", ,"),
        ["a", "b", "c"],
        ["short_row line 3 1", "long_row line 5 1"],
    ),
    "bad time": (with_start("17364O8883704643.212"), ["a", "b"], ["bad_required_cell line 3, Start Time(us) 1"]),
    "no time": (with_start(""), ["a", "b"], ["bad_required_cell line 3, Start Time(us) 1"]),
    "start in 1970": (with_start("0.000"), ["a", "b"], ["bad_required_cell line 3, Start Time(us) 1"]),
    "start before 1970": (with_start("-1.000"), ["a", "b"], ["bad_required_cell line 3, Start Time(us) 1"]),
    "negative duration": (with_duration("-0.001"), ["a", "b"], ["bad_required_cell line 3, Duration(us) 1"]),
    "too long": (with_duration("9007199254740.992"), ["a", "b"], ["bad_required_cell line 3, Duration(us) 1"]),
    "row cut at the end": (kernels(A, B)[:-30], ["a"], ["truncated_row line 3 1"]),
    "no final line break": (kernels(A, B).rstrip(), ["a", "b"], ["no_final_line_break line 3 1"]),
    "quote in an unquoted cell": (kernels(kernel_row('a"b'), B), ['a"b', "b"], []),
    "joined files": (kernels(A, KERNEL_HEADER, B), ["a", "b"], ["repeated_header line 3 1"]),
    "text after a quote": (
        kernels(A, '50,"bad" name,Conv2D,AI_CORE,1,2,0,32', B),
        ["a", "b"],
        ["bad_quotes line 3 1"],
    ),
    "quote that keeps the number of cells": (
        b'Name,Input Shapes,Start Time(us),Duration(us)\na,"1,2",1,1\n",2,2\nb,"1,2",3,3\nc,"1,2",4,4\n',
        ["a", "b", "c"],
        ["bad_quotes line 3 1"],
    ),
    "two open quotes": (
        kernels(A, OPEN_QUOTE, OPEN_QUOTE, B, C),
        ["a", "b", "c"],
        ["bad_quotes line 3 1"],
    ),
}
#: Test id: (file, content, first column of the rows that are read or None, problems).
OTHER_CASES = {
    "another file": ("l2_cache.csv", b"<html>\n<body>\n", None, ["missing_column line 1 1"]),
    "unknown file": ("notes.csv", b"a,b\n1,2\n", None, ["unknown_file  1"]),
    "cut inside a quoted cell": (
        STACKS,
        STACK_HEADER + b'a,"f;\ng",1\nb,"f;\ng',
        ["a"],
        ["truncated_row line 4 1"],
    ),
    "cut with all cells": (STATISTIC, b'OP Type,Core Type\nA,AI_CORE\nB,"AI_', ["A"], ["truncated_row line 3 1"]),
    "open quote at the end": (STATISTIC, b'OP Type,Core Type\nA,AI_CORE\nB,"AI_\n', ["A"], ["bad_quotes line 3 1"]),
    "header given twice": (STATISTIC, b"OP Type,Count,OP Type,Count\nA,1,B,2\n", ["A"], ["duplicate_header line 1 2"]),
    "bad cells after cells of several lines": (
        STACKS,
        STACK_HEADER + b"a," + STACK + b",1\nb," + STACK + b",x\nc,,y\n",
        ["a", "b", "c"],
        ["bad_cell line 4, Host Total Duration(us), line 6, Host Total Duration(us) 2"],
    ),
}


@pytest.mark.parametrize("case", [*KERNEL_CASES, *OTHER_CASES])
def test_rows_that_are_read_and_problems(tmp_path: Path, case: str) -> None:
    name, content, kept, expected = OTHER_CASES.get(case) or (KERNELS, *KERNEL_CASES[case])
    tables, problems = read(tmp_path, name, content)
    assert [f"{one.code} {one.where} {one.count}" for one in problems] == expected
    if kept is None:
        assert tables == {}
    else:
        ((_, table),) = tables.items()
        assert table.text(table.columns[0].key if name != KERNELS else "name").tolist() == kept


def test_limits_of_times_are_exact(tmp_path: Path) -> None:
    table = read(tmp_path, KERNELS, with_duration("-1"))[0]["kernels"]
    assert table.ints("dur_ns").tolist()[1] == 2**53 - 1
    rows = b"Name,Size(KB),Allocation Time(us),Release Time(us)\na,1,1736408883704643.212,0\n"
    tables, problems = read(tmp_path, "operator_memory.csv", rows)
    assert tables["op_memory"].ints("release_ns").tolist() == [NULL_INT]
    assert codes(problems) == ["bad_cell x1"]


def test_bad_optional_cells_are_unknown(tmp_path: Path) -> None:
    rows = ["Name,Start Time(us),Duration(us),Wait Time(us),Task ID,x_rate", "a,1,2,soon,1.5,inf", "b,1,2,3,4,0.5"]
    rows += ["c,1,2,3,18446744073709551615,1"]
    tables, problems = read(tmp_path, KERNELS, "\n".join([*rows, ""]).encode())
    assert tables["kernels"].ints("wait_ns").tolist() == [NULL_INT, 3000, 3000]
    assert tables["kernels"].ints("task_id").tolist() == [NULL_INT, 4, NULL_INT]
    assert np.isnan(tables["kernels"].floats("x_rate")).tolist() == [True, False, False]
    assert [(p.code, p.found) for p in problems] == [("bad_cell", "soon"), ("bad_cell", "1.5"), ("not_a_number", "inf")]
    assert [problem.count for problem in problems] == [1, 2, 1]


@pytest.mark.parametrize("text", ["nan", "NaN", "-Infinity"])
def test_nan_and_infinity_are_unknown(tmp_path: Path, text: str) -> None:
    tables, problems = read(tmp_path, STATISTIC, f"OP Type,Total Time(us),Ratio(%)\nMatMul,{text},{text}\n".encode())
    assert tables["op_statistic"].ints("total_ns").tolist() == [NULL_INT]
    assert np.isnan(tables["op_statistic"].floats("ratio")[0])
    assert codes(problems) == ["not_a_number x1", "not_a_number x1"]


def test_rounded_times_are_kept_with_a_warning(tmp_path: Path) -> None:
    tables, problems = read(tmp_path, KERNELS, kernels(A, kernel_row("b", start="1.69512E+15")))
    assert tables["kernels"].ints("start_ns").tolist() == [1736408883704643212, 1695120000000000000]
    assert [(p.code, p.where, p.severity) for p in problems] == [
        ("precision_lost", "line 3, Start Time(us)", "warning")
    ]


@pytest.mark.parametrize("chunk_rows", [2, 8192])
def test_open_quote_loses_its_row(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, chunk_rows: int) -> None:
    monkeypatch.setattr("tb_npu_plugin.readers.shared.csv_rows.CHUNK_ROWS", chunk_rows)
    tables, problems = read(tmp_path, KERNELS, kernels(A, OPEN_QUOTE, B, '50,"q,r",Conv2D,AI_CORE,1,2,0,32', C, C, C))
    assert tables["kernels"].text("name").tolist() == ["a", "b", "q,r", "c", "c", "c"]
    assert [(p.code, p.where) for p in problems] == [("bad_quotes", "line 3")]


def test_open_quote_before_cells_of_several_lines(tmp_path: Path) -> None:
    rows = (b"a," + STACK + b",1", b'"bad,' + STACK + b",1", b"b," + STACK + b",1", b"c," + STACK + b",1\n")
    tables, problems = read(tmp_path, STACKS, STACK_HEADER + b"\n".join(rows))
    assert tables["operators"].text("name").tolist() == ["a", "b", "c"]
    assert problems and {problem.code for problem in problems} <= {"bad_quotes", "short_row", "long_row"}


def test_open_quote_in_a_long_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tb_npu_plugin.readers.shared.csv_rows.MAX_CELL", 1000)
    limit = csv.field_size_limit(1000)
    try:
        tables, problems = read(tmp_path, KERNELS, kernels(A, '50,"bad,x,x,1,2,0,32', *[B] * 200))
    finally:
        csv.field_size_limit(limit)
    assert tables["kernels"].text("name").tolist() == ["a", *["b"] * 200]
    assert codes(problems) == ["bad_quotes x1"]


def test_long_broken_row_is_one_problem(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tb_npu_plugin.readers.shared.csv_rows._MAX_RESTARTS", 1)
    tables, problems = read(tmp_path, STACKS, STACK_HEADER + b'a,"1\n2\n3\n4\n5"\nb,,1\n')
    assert tables["operators"].text("name").tolist() == ["b"]
    assert [(p.code, p.where, p.count) for p in problems] == [("short_row", "line 2", 1)]


def test_invalid_bytes_are_replaced(tmp_path: Path) -> None:
    content = kernels(A, "50,na\0me,Conv2D,AI_CORE,1,2,0,32", "50,x,Conv2D,AI_CORE,1,2,0,3\0", B)
    tables, problems = read(tmp_path, KERNELS, content.replace(b"50,a,", b"50,\xff\xfea,"))
    assert tables["kernels"].text("name").tolist() == ["\ufffd\ufffda", "na\ufffdme", "x", "b"]
    assert tables["kernels"].ints("block_dim").tolist() == [32, 32, NULL_INT, 32]
    assert codes(problems) == ["bad_bytes x2", "bad_cell x1"]


def test_damaged_gzip_keeps_the_rows_before(tmp_path: Path) -> None:
    path = tmp_path / (KERNELS + ".gz")
    packed = gzip.compress(kernels(*[kernel_row(f"k{n}") for n in range(5000)]))
    path.write_bytes(packed[: len(packed) // 2])
    tables, problems = read_path(path)
    assert 0 < len(tables["kernels"]) < 5000 and "file_cut x1" in codes(problems)
    path.write_bytes(kernels(A))
    assert codes(read_path(path)[1]) == ["file_cut x1", "empty_file x1"]


def test_missing_folder_and_pipe(tmp_path: Path) -> None:
    assert codes(read_path(tmp_path / KERNELS)[1]) == ["missing_file x1"]
    (tmp_path / KERNELS).mkdir()
    os.mkfifo(tmp_path / "l2_cache.csv")
    assert codes(read_path(tmp_path / KERNELS)[1]) == ["not_a_file x1"]
    assert codes(read_path(tmp_path / "l2_cache.csv")[1]) == ["not_a_file x1"]


def test_file_without_permission(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*args: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("tb_npu_plugin.readers.shared.source._Counting.__init__", refuse)  # root may read everything
    tables, problems = read(tmp_path, KERNELS, kernels(A))
    assert tables == {} and codes(problems) == ["no_permission x1"]


def test_disk_that_fails_while_reading(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
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
    assert tables["kernels"].text("name").tolist() == ["a", "b"] and codes(problems) == ["unreadable_file x1"]


@pytest.mark.parametrize("name", [KERNELS, KERNELS + ".gz", "communication.json"])
def test_progress_counts_the_bytes_of_the_file(tmp_path: Path, name: str) -> None:
    content = gzip.compress(kernels(A)) if name.endswith(".gz") else b"{}" if name.endswith(".json") else kernels(A)
    (tmp_path / name).write_bytes(content)
    counts: list[int] = []
    read_file(Reading(tmp_path / name, name, ProblemLog(), counts.append))
    assert sum(counts) == len(content)


def test_memory_allocated_before_the_capture(tmp_path: Path) -> None:
    """The vendor documents both: no allocation time, and releases with a negative size."""
    rows = ["Name,Size(KB),Allocation Time(us),Release Time(us)", "a,4,,20.5", "b,-8,10.5,", "c,1,11.5,", "d,1,x,"]
    tables, problems = read(tmp_path, "operator_memory.csv", "\n".join([*rows, ""]).encode())
    assert tables["op_memory"].text("name").tolist() == ["a", "b", "c", "d"]
    assert [(p.code, p.severity, p.count) for p in problems] == [
        ("bad_cell", "error", 1),
        ("before_capture", "info", 3),
    ]
    assert live_at(tables["op_memory"], 12_000).text("name").tolist() == ["a", "c", "d"]


def test_gzip_that_unpacks_to_more_than_any_result(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # A few megabytes of zeros, packed, filled the memory.
    monkeypatch.setattr("tb_npu_plugin.scan.source._ALWAYS_ALLOWED", 100_000)
    rows = kernels(*[kernel_row("k" * 1000)] * 2000)
    tables, problems = read(tmp_path, f"{KERNELS}.gz", rows)
    assert codes(problems) == ["file_cut x1"] and "300 times" in problems[0].found
    assert 0 < len(tables["kernels"]) < 2000
    tables, problems = read(tmp_path, "communication.json.gz", b'{"step1": {"p2p": "' + b"x" * 2_000_000 + b'"}}')
    assert tables == {} and "file_cut x1" in codes(problems)


def test_a_line_without_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # A crash leaves files full of zeros: one line, read as a whole.
    monkeypatch.setattr("tb_npu_plugin.readers.shared.source.MAX_LINE", 1000)
    tables, problems = read(tmp_path, KERNELS, kernels(kernel_row("a")) + b"\0" * 5000)
    assert tables["kernels"].text("name").tolist() == ["a"] and codes(problems) == ["long_line x1"]


def test_a_json_file_that_is_too_large_to_decode(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tb_npu_plugin.readers.shared.source.MAX_JSON", 1000)
    tables, problems = read(tmp_path, "communication.json", b" " * 1001 + b"{}")
    assert tables == {} and codes(problems) == ["too_large x1"]


STEP_ROWS = "Step,Computing,Free\r\n11,12.0,1\r\n#&x,12.0,1\r\n,12.0,1\r\n12.0,12.0,1\r\n1e3,12.0,1\r\n"


def test_rows_of_step_times_are_lost(tmp_path: Path) -> None:
    tables, problems = read(tmp_path, "step_trace_time.csv", STEP_ROWS.encode())
    assert tables["step_trace"].text("step").tolist() == ["11", None, "12.0"]
    assert codes(problems) == ["bad_required_cell x2"]
    assert [(problem.where, problem.found) for problem in problems] == [("Step and 1 more", "#&x")]


@pytest.mark.parametrize("step", ["50", ""])
def test_a_kernel_keeps_its_row(tmp_path: Path, step: str) -> None:
    rows = [kernel_row("a"), kernel_row("b")]
    assert rows[0].startswith("50,")
    tables, problems = read(tmp_path, KERNELS, kernels(rows[0], rows[1].replace("50,", f"{step},", 1)))
    assert tables["kernels"].text("step").tolist() == ["50", step or None]
    assert codes(problems) == []
    tables, problems = read(tmp_path, KERNELS, kernels(rows[0], rows[1].replace("50,", "5O,", 1)))
    assert tables["kernels"].text("step").tolist() == ["50", None]
    assert tables["kernels"].text("name").tolist() == ["a", "b"]
    assert codes(problems) == ["bad_cell x1"]
