"""What good CSV files give: columns by header, units, kinds, unknown cells."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tb_npu_plugin.tables import NULL_INT, Kind
from tests.support.scanners import both_scanners
from tests.unit.readers.files import KERNELS, codes, kernel_row, kernels, read

pytestmark = both_scanners


@pytest.mark.parametrize(
    ("header", "expected"), [("Duration(us)", 1500), ("Duration(ns)", 2), ("DURATION (ms)", 1_500_000)]
)
def test_the_unit_is_that_of_the_header(tmp_path: Path, header: str, expected: int) -> None:
    table = read(tmp_path, KERNELS, f"Name,Start Time(us),{header}\na,1,1.5\n".encode())[0]["kernels"]
    assert table.ints("dur_ns").tolist() == [expected]


def test_a_missing_unit_is_assumed_and_reported(tmp_path: Path) -> None:
    tables, problems = read(tmp_path, KERNELS, b"Name,Start Time(us),Duration\na,1,1.5\n")
    assert tables["kernels"].ints("dur_ns").tolist() == [1500]
    assert codes(problems) == ["unit_assumed x1"]


@pytest.mark.parametrize("unknown", ["", "N/A", "N/A\t", "  "])
def test_unknown_is_null_and_no_problem(tmp_path: Path, unknown: str) -> None:
    content = f"Name,Type,Start Time(us),Duration(us),Task ID,x_ratio\na,{unknown},1,2,{unknown},{unknown}\n"
    tables, problems = read(tmp_path, KERNELS, content.encode())
    table = tables["kernels"]
    assert table.text("type").tolist() == [None]
    assert table.ints("task_id").tolist() == [NULL_INT]
    assert np.isnan(table.floats("x_ratio")).all()
    assert problems == []


def test_one_pair_of_quotes_is_taken_off_shapes_only(tmp_path: Path) -> None:
    content = b'Name,Start Time(us),Duration(us),Input Shapes\n"""n""",1,2,"""32,3;"""\nb,1,2,""""""\nc,1,2,""\n'
    table = read(tmp_path, KERNELS, content)[0]["kernels"]
    assert table.text("input_shapes").tolist() == ["32,3;", "", None]  # a scalar's shape is empty, not unknown
    assert table.text("name").tolist() == ['"n"', "b", "c"]


def test_metrics_are_kept_with_the_kind_of_their_header(tmp_path: Path) -> None:
    header = "Name,Start Time(us),Duration(us),aic_mac_time(us),aic_total_cycles,aic_fops,new,mode,bw(MB/s),Task ID 2"
    rows = ["a,1,2,9.406,10,1.5,3,fast,500,7", "b,1,2,N/A,N/A,N/A,N/A,N/A,N/A,N/A"]
    tables, problems = read(tmp_path, KERNELS, "\n".join([header, *rows, ""]).encode())
    table = tables["kernels"]
    kinds = {column.key: column.kind for column in table.columns if column.group == "metric"}
    assert kinds == {
        "aic_mac_time": Kind.DURATION,
        "aic_total_cycles": Kind.INT,
        "aic_fops": Kind.FLOAT,
        "new": Kind.FLOAT,
        "mode": Kind.TEXT,
        "bw": Kind.BANDWIDTH,
        "task_id_2": Kind.FLOAT,
    }
    assert table.ints("aic_mac_time").tolist() == [9406, NULL_INT]
    assert table.ints("aic_total_cycles").tolist() == [10, NULL_INT]
    assert table.floats("aic_fops")[0] == 1.5
    assert table.floats("new")[0] == 3.0
    assert np.isnan(table.floats("new")[1])
    assert table.text("mode").tolist() == ["fast", None]
    assert table.floats("bw")[0] == 0.5
    assert problems == []


def test_metrics_with_one_key_differ(tmp_path: Path) -> None:
    content = b"Name,Start Time(us),Duration(us),a_ratio,a_ratio,type-,name!(%)\nk,1,2,0.1,0.2,3,4\n"
    table = read(tmp_path, KERNELS, content)[0]["kernels"]
    assert [column.key for column in table.columns][3:] == ["a_ratio", "a_ratio_2", "type_2", "name_2"]
    assert table.floats("a_ratio_2").tolist() == [0.2]


def test_undeclared_columns_of_other_files_are_named_and_left_out(tmp_path: Path) -> None:
    tables, problems = read(tmp_path, "operator_details.csv", b"Name,Colour,Mood,\na,red,good,\n")
    assert [column.key for column in tables["operators"].columns] == ["name"]
    assert [(p.code, p.found, p.severity) for p in problems] == [("unknown_headers", "Colour, Mood", "info")]


def test_mixed_line_ends_and_blank_lines(tmp_path: Path) -> None:
    content = kernels(kernel_row("a")) + b"\r\n\n" + kernel_row("b").encode() + b"\n\n"
    tables, problems = read(tmp_path, KERNELS, content)
    assert tables["kernels"].text("name").tolist() == ["a", "b"]
    assert problems == []


def test_text_of_large_files_is_coded_across_chunks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tb_npu_plugin.readers.shared.csv_rows.CHUNK_ROWS", 3)
    rows = [kernel_row(f"k{n % 4}", start=f"{n}.5", duration=str(n)) for n in range(20)]
    table = read(tmp_path, KERNELS, kernels(*rows))[0]["kernels"]
    assert table.text("name").values == ["k0", "k1", "k2", "k3"]
    assert table.text("name").tolist() == [f"k{n % 4}" for n in range(20)]
    assert table.ints("start_ns").tolist() == [n * 1000 + 500 for n in range(20)]


def test_large_integers_are_exact(tmp_path: Path) -> None:
    content = b"Name,Start Time(us),Duration(us),Task ID\na,1,2,9007199254740993\nb,1,2,3.0\n"
    table = read(tmp_path, KERNELS, content)[0]["kernels"]
    assert table.ints("task_id").tolist() == [9007199254740993, 3]
