"""CSV files: columns by header, and damage, of which the damaged part is skipped and reported."""

from __future__ import annotations

import csv
import gzip
import os
from pathlib import Path
from typing import Any

import pytest

from tb_npu_plugin.analysis.memory import live_at
from tb_npu_plugin.problems import ProblemLog
from tb_npu_plugin.readers.shared.reading import Reading
from tb_npu_plugin.readers.shared.source import open_file, read_lines
from tb_npu_plugin.readers.text.reader import read_file
from tb_npu_plugin.tables import NULL_INT, Kind
from tests.support.scanners import both_scanners
from tests.unit.readers.files import KERNEL_HEADER, KERNELS, codes, kernel_row, kernels, read, read_path, rows

pytestmark = both_scanners

A, B, C = kernel_row("a"), kernel_row("b"), kernel_row("c")
STACKS, STATISTIC, ALLOCATIONS = "operator_details.csv", "op_statistic.csv", "operator_memory.csv"
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
    "mixed line ends": (kernels(A) + b"\r\n\n" + B.encode() + b"\n\n", ["a", "b"], []),
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
    "two open quotes": (kernels(A, OPEN_QUOTE, OPEN_QUOTE, B, C), ["a", "b", "c"], ["bad_quotes line 3 1"]),
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
    "unknown headers": (STACKS, b"Name,Colour,Mood,\na,red,good,\n", ["a"], ["unknown_headers line 1 1"]),
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


#: Test id: (file, content, {column: its values as text}, problems).
CELLS: dict[str, tuple[str, str, dict[str, str], list[str]]] = {
    "unit of the header": (KERNELS, "Name,Start Time(us),Duration(ns)\na,1,1.5\n", {"dur_ns": "[2]"}, []),
    "unit in capitals": (KERNELS, "Name,Start Time(us),DURATION (ms)\na,1,1.5\n", {"dur_ns": "[1500000]"}, []),
    "no unit": (KERNELS, "Name,Start Time(us),Duration\na,1,1.5\n", {"dur_ns": "[1500]"}, ["unit_assumed x1"]),
    "unknown": (
        KERNELS,
        "Name,Type,Start Time(us),Duration(us),Task ID,x_ratio\n"
        + "".join(f"a,{cell},1,2,{cell},{cell}\n" for cell in ("", "N/A", "N/A\t", "  ")),
        {"type": "[None, None, None, None]", "task_id": str([NULL_INT] * 4), "x_ratio": "[nan, nan, nan, nan]"},
        [],
    ),
    "quotes around shapes, of which an empty one is that of a scalar": (
        KERNELS,
        'Name,Start Time(us),Duration(us),Input Shapes\n"""n""",1,2,"""32,3;"""\nb,1,2,""""""\nc,1,2,""\n',
        {"input_shapes": "['32,3;', '', None]", "name": "['\"n\"', 'b', 'c']"},
        [],
    ),
    "metrics with one key": (
        KERNELS,
        "Name,Start Time(us),Duration(us),a_ratio,a_ratio,type-,name!(%)\nk,1,2,0.1,0.2,3,4\n",
        {"a_ratio": "[0.1]", "a_ratio_2": "[0.2]", "type_2": "[3.0]", "name_2": "[4.0]"},
        [],
    ),
    "bad optional cells": (
        KERNELS,
        "Name,Start Time(us),Duration(us),Wait Time(us),Task ID,x_rate\na,1,2,soon,1.5,inf\nb,1,2,3,4.0,0.5\n"
        "c,1,2,3,18446744073709551615,1\nd,1,2,3,9007199254740993,1\n",
        {
            "wait_ns": str([NULL_INT, 3000, 3000, 3000]),
            "task_id": str([NULL_INT, 4, NULL_INT, 9007199254740993]),
            "x_rate": "[nan, 0.5, 1.0, 1.0]",
        },
        ["bad_cell x1", "bad_cell x2", "not_a_number x1"],
    ),
    "no numbers": (
        STATISTIC,
        "OP Type,Total Time(us),Ratio(%)\n" + "".join(f"a,{text},{text}\n" for text in ("nan", "NaN", "-Infinity")),
        {"total_ns": str([NULL_INT] * 3), "ratio": "[nan, nan, nan]"},
        ["not_a_number x3", "not_a_number x3"],
    ),
    "longest time": (
        KERNELS,
        with_duration("-1").decode(),
        {"dur_ns": f"[53741, {2**53 - 1}]"},
        ["bad_required_cell x1"],
    ),
    "released in 1970": (
        ALLOCATIONS,
        "Name,Size(KB),Allocation Time(us),Release Time(us)\na,1,1736408883704643.212,0\n",
        {"release_ns": f"[{NULL_INT}]"},
        ["bad_cell x1"],
    ),
    "rounded time": (
        KERNELS,
        kernels(kernel_row("b", start="1.69512E+15")).decode(),
        {"start_ns": "[1695120000000000000]"},
        ["precision_lost x1"],
    ),
    "steps without a number lose their rows": (
        "step_trace_time.csv",
        "Step,Computing,Free\r\n11,12.0,1\r\n#&x,12.0,1\r\n,12.0,1\r\n12.0,12.0,1\r\n1e3,12.0,1\r\n",
        {"step": "['11', None, '12.0']"},
        ["bad_required_cell x2"],
    ),
    "kernels without a step keep their rows": (
        KERNELS,
        kernels(A, A.replace("50,", ",", 1), A.replace("50,", "5O,", 1)).decode(),
        {"step": "['50', None, None]", "name": "['a', 'a', 'a']"},
        ["bad_cell x1"],
    ),
}


@pytest.mark.parametrize("case", CELLS)
def test_values_of_cells(tmp_path: Path, case: str) -> None:
    name, content, expected, problems = CELLS[case]
    tables, found = read(tmp_path, name, content.encode())
    ((_, table),) = tables.items()
    assert {key: str(table.data[key].tolist()) for key in expected} == expected
    assert codes(found) == problems


def test_metrics_are_kept_with_the_kind_of_their_header(tmp_path: Path) -> None:
    header = "Name,Start Time(us),Duration(us),aic_mac_time(us),aic_total_cycles,aic_fops,new,mode,bw(MB/s),Task ID 2"
    lines = [header, "a,1,2,9.406,10,1.5,3,fast,500,7", "b,1,2,N/A,N/A,N/A,N/A,N/A,N/A,N/A", ""]
    tables, problems = read(tmp_path, KERNELS, "\n".join(lines).encode())
    table = tables["kernels"]
    kinds: dict[str, tuple[Kind, Any]] = {
        "aic_mac_time": (Kind.DURATION, 9406),
        "aic_total_cycles": (Kind.INT, 10),
        "aic_fops": (Kind.FLOAT, 1.5),
        "new": (Kind.FLOAT, 3.0),
        "mode": (Kind.TEXT, "fast"),
        "bw": (Kind.BANDWIDTH, 0.5),
        "task_id_2": (Kind.FLOAT, 7.0),
    }
    first, second = rows(table)
    assert {
        column.key: (column.kind, first[column.key]) for column in table.columns if column.group == "metric"
    } == kinds
    assert {str(second[key]) for key in kinds} == {"None", "nan", str(NULL_INT)}
    assert problems == []


def test_text_of_large_files_is_coded_across_chunks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tb_npu_plugin.readers.shared.csv_rows.CHUNK_ROWS", 3)
    lines = [kernel_row(f"k{n % 4}", start=f"{n}.5", duration=str(n)) for n in range(20)]
    table = read(tmp_path, KERNELS, kernels(*lines))[0]["kernels"]
    assert table.text("name").values == ["k0", "k1", "k2", "k3"]
    assert table.text("name").tolist() == [f"k{n % 4}" for n in range(20)]
    assert table.ints("start_ns").tolist() == [n * 1000 + 500 for n in range(20)]


@pytest.mark.parametrize("chunk_rows", [2, 8192])
def test_open_quote_loses_its_row(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, chunk_rows: int) -> None:
    monkeypatch.setattr("tb_npu_plugin.readers.shared.csv_rows.CHUNK_ROWS", chunk_rows)
    tables, problems = read(tmp_path, KERNELS, kernels(A, OPEN_QUOTE, B, '50,"q,r",Conv2D,AI_CORE,1,2,0,32', C, C, C))
    assert tables["kernels"].text("name").tolist() == ["a", "b", "q,r", "c", "c", "c"]
    assert [(p.code, p.where) for p in problems] == [("bad_quotes", "line 3")]


def test_open_quote_before_cells_of_several_lines(tmp_path: Path) -> None:
    lines = (b"a," + STACK + b",1", b'"bad,' + STACK + b",1", b"b," + STACK + b",1", b"c," + STACK + b",1\n")
    tables, problems = read(tmp_path, STACKS, STACK_HEADER + b"\n".join(lines))
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


def test_gzip_that_unpacks_to_more_than_any_result(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # A few megabytes of zeros, packed, filled the memory.
    monkeypatch.setattr("tb_npu_plugin.scan.source._ALWAYS_ALLOWED", 100_000)
    tables, problems = read(tmp_path, f"{KERNELS}.gz", kernels(*[kernel_row("k" * 1000)] * 2000))
    assert codes(problems) == ["file_cut x1"] and "120 times" in problems[0].found
    assert 0 < len(tables["kernels"]) < 2000
    tables, problems = read(tmp_path, "communication.json.gz", b'{"step1": {"p2p": "' + b"x" * 2_000_000 + b'"}}')
    assert tables == {} and "file_cut x1" in codes(problems)


def test_lines_and_json_that_are_too_long(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # A crash leaves files full of zeros: one line, read as a whole.
    monkeypatch.setattr("tb_npu_plugin.readers.shared.source.MAX_LINE", 1000)
    monkeypatch.setattr("tb_npu_plugin.readers.shared.source.MAX_JSON", 1000)
    tables, problems = read(tmp_path, KERNELS, kernels(A) + b"\0" * 5000)
    assert tables["kernels"].text("name").tolist() == ["a"] and codes(problems) == ["long_line x1"]
    tables, problems = read(tmp_path, "communication.json", b" " * 1001 + b"{}")
    assert tables == {} and codes(problems) == ["too_large x1"]


def test_what_is_no_file(tmp_path: Path) -> None:
    assert codes(read_path(tmp_path / KERNELS)[1]) == ["missing_file x1"]
    (tmp_path / KERNELS).mkdir()
    os.mkfifo(tmp_path / "l2_cache.csv")
    assert codes(read_path(tmp_path / KERNELS)[1]) == ["not_a_file x1"]
    assert codes(read_path(tmp_path / "l2_cache.csv")[1]) == ["not_a_file x1"]


def test_files_that_cannot_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    errors: list[OSError | None] = [None, OSError(5, "Input/output error")]

    def fail(self: object, buffer: bytearray) -> int:
        error = errors.pop(0)
        if error is not None:
            raise error
        buffer[: len(kernels(A))] = kernels(A)
        return len(kernels(A))

    def refuse(*args: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("tb_npu_plugin.readers.shared.source._Counting.readinto", fail)
    tables, problems = read(tmp_path, KERNELS, b"")
    assert tables["kernels"].text("name").tolist() == ["a"] and codes(problems) == ["unreadable_file x1"]
    monkeypatch.setattr("tb_npu_plugin.readers.shared.source._Counting.__init__", refuse)  # root may read everything
    tables, problems = read(tmp_path, KERNELS, kernels(A))
    assert tables == {} and codes(problems) == ["no_permission x1"]


@pytest.mark.parametrize("name", [KERNELS, KERNELS + ".gz", "communication.json"])
def test_progress_counts_the_bytes_of_the_file(tmp_path: Path, name: str) -> None:
    content = gzip.compress(kernels(A)) if name.endswith(".gz") else b"{}" if name.endswith(".json") else kernels(A)
    (tmp_path / name).write_bytes(content)
    counts: list[int] = []
    read_file(Reading(tmp_path / name, name, ProblemLog(), counts.append))
    assert sum(counts) == len(content)


def test_memory_allocated_before_the_capture(tmp_path: Path) -> None:
    """The vendor documents both: no allocation time, and releases with a negative size."""
    content = b"Name,Size(KB),Allocation Time(us),Release Time(us)\na,4,,20.5\nb,-8,10.5,\nc,1,11.5,\nd,1,x,\n"
    tables, problems = read(tmp_path, ALLOCATIONS, content)
    assert tables["op_memory"].text("name").tolist() == ["a", "b", "c", "d"]
    assert [(p.code, p.severity, p.count) for p in problems] == [
        ("bad_cell", "error", 1),
        ("before_capture", "info", 3),
    ]
    assert live_at(tables["op_memory"], 12_000).text("name").tolist() == ["a", "c", "d"]


def test_tasks_without_a_kernel_are_named_by_their_type(tmp_path: Path) -> None:
    """CANN writes N/A as the name of copies, events and callbacks."""
    content = b"""Device_id,kernel_name,kernel_type,stream_id,task_id,task_time(us),task_start(us),task_stop(us)
0,N/A,MEMCPY_ASYNC,46,0,2.1,1783953217057906.950\t,1783953217057909.050\t
0,Cast_1f_high,AI_VECTOR_CORE,46,2,18.76,1783953217059409.080\t,1783953217059427.840\t
0,N/A,N/A,46,3,1,1783953217059430.000\t,1783953217059431.000\t
"""
    tables, problems = read(tmp_path, "task_time.csv", content)
    assert problems == []
    assert tables["task_time"].text("name").tolist() == ["MEMCPY_ASYNC", "Cast_1f_high", None]
    assert tables["task_time"].text("type").tolist() == ["MEMCPY_ASYNC", "AI_VECTOR_CORE", None]


@pytest.mark.parametrize("name", ["a", "a{0}"])
def test_a_header_of_too_many_columns_is_one_problem(tmp_path: Path, name: str) -> None:
    """60,000 columns took 1 GB; names that are all the same took quadratic time."""
    many = ",".join([KERNEL_HEADER, *(name.format(number) for number in range(60_000))])
    tables, problems = read(tmp_path, KERNELS, f"{many}\n{A}\n".encode())
    assert not tables and codes(problems) == ["too_many_columns x1"] and len(problems[0].found) < 100


def test_lines_leave_the_file_to_who_opened_it(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("a\nb")
    reading = Reading(tmp_path / "a.csv", "a.csv", ProblemLog())
    with open_file(reading) as stream:
        assert stream is not None
        assert list(read_lines(stream, reading.report)) == ["a\n", "b"]
        assert not stream.closed


def test_a_file_that_windows_saved_is_decoded(tmp_path: Path) -> None:
    text = kernels(A, *[kernel_row("算子::线性")] * 20, kernel_row("镕")).decode()
    tables, problems = read(tmp_path, KERNELS, text.encode("gbk"))
    assert tables["kernels"].text("name").tolist() == ["a", *["算子::线性"] * 20, "镕"]
    assert codes(problems) == ["other_encoding x1"]
    marked = b"\xef\xbb\xbf" + text.encode()
    tables, problems = read(tmp_path, KERNELS, marked)
    assert tables["kernels"].text("name").tolist()[-1] == "镕" and not problems


@pytest.mark.parametrize("damaged", [b"\xe1dd", b"\xb4", "算子".encode() + b"\xb4\xf3"])
def test_single_damaged_bytes_are_no_gbk(tmp_path: Path, damaged: bytes) -> None:
    content = kernels(kernel_row("算子"), kernel_row("?")).replace(b"?", damaged)
    _, problems = read(tmp_path, KERNELS, content)
    assert codes(problems) == ["bad_bytes x1"]


def test_semicolons_and_decimal_commas_of_a_spreadsheet(tmp_path: Path) -> None:
    header = KERNEL_HEADER.replace(",", ";") + ";Input Shapes"
    row = '50;a;Conv2D;AI_CORE;1736408883704643,212;53,741;0;32;"4,8"'
    tables, problems = read(tmp_path, KERNELS, f"{header}\r\n{row}\r\n".encode())
    (found,) = rows(tables["kernels"])
    assert (found["start_ns"], found["dur_ns"], found["input_shapes"]) == (1736408883704643212, 53741, "4,8")
    assert codes(problems) == ["other_delimiter x1"]
