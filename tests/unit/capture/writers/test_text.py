from __future__ import annotations

import csv
import io
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from tb_npu_plugin.capture.writers.text import CsvFile, cell, mb_text, shapes_cell, time_text, us_text


@given(st.text(alphabet=st.characters(blacklist_categories=("Cs",), blacklist_characters="\x00")))
def test_a_cell_reads_back(text: str) -> None:
    line = f"{cell(text)},next\r\n"
    assert next(csv.reader(io.StringIO(line, newline=""))) == [text, "next"]


@given(st.integers(min_value=10**18, max_value=2 * 10**18))
def test_a_stamp_has_every_digit_and_a_tab(ns: int) -> None:
    text = time_text(ns)
    assert text.endswith("\t") and int(text.strip().replace(".", "")) == ns and text.strip()[-4] == "."


def test_missing_and_zero_figures() -> None:
    assert (time_text(None), mb_text(None), us_text(0), us_text(1500)) == ("", "", "0", "1.5")
    assert shapes_cell("") == "N/A"
    assert shapes_cell("2,3;4") == '"""2,3;4"""'


def test_a_file_without_rows_is_not_made(tmp_path: Path) -> None:
    file = CsvFile(tmp_path / "a.csv", ["Name", "Time(us)"], "\r\n")
    file.add([])
    file.close()
    assert list(tmp_path.iterdir()) == []


def test_kept_rows_stand_behind_the_others(tmp_path: Path) -> None:
    file = CsvFile(tmp_path / "a.csv", ["Name"], "\n")
    kept = file.part()
    kept.add(["c", "d"])
    file.add(["a", "b"])
    file.append(kept)
    file.close()
    assert (tmp_path / "a.csv").read_text() == "Name\na\nb\nc\nd\n"
    assert len(list(tmp_path.iterdir())) == 1
