"""Short tables survive their file, unknowns included; damage is told."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tb_npu_plugin.store.tables.short import read_short, write_short
from tb_npu_plugin.tables import Column, Kind, Table, Text, empty, from_lists
from tests.unit.store.test_tables_db import COLUMNS, LISTS

TABLES = {"kernels": from_lists(COLUMNS, LISTS), "nothing": empty(COLUMNS), "bare": Table(())}


@pytest.fixture
def file(tmp_path: Path) -> Path:
    write_short(tmp_path / "tables", TABLES)
    return tmp_path / "tables"


def test_every_value_comes_back_and_unknown_stays_unknown(file: Path) -> None:
    table = read_short(file, "kernels")
    assert table is not None
    assert [(c.key, c.kind, c.title, c.doc, c.group) for c in table.columns] == [
        (c.key, c.kind, c.title, c.doc, c.group) for c in COLUMNS
    ]
    for key, before in TABLES["kernels"].data.items():
        after = table.data[key]
        if isinstance(before, Text):
            assert isinstance(after, Text) and after.codes.dtype == np.int32
            assert after.codes.tolist() == before.codes.tolist() and after.values == before.values
        else:
            assert isinstance(after, np.ndarray) and after.dtype == before.dtype
            assert after.tobytes() == before.tobytes(), "to the last bit"
            after[0] = 1  # as any other array


def test_empty_and_absent_tables_differ(file: Path) -> None:
    nothing = read_short(file, "nothing")
    assert nothing is not None and len(nothing) == 0 and [c.key for c in nothing.columns] == [c.key for c in COLUMNS]
    bare = read_short(file, "bare")
    assert bare is not None and bare.columns == ()
    assert read_short(file, "absent") is None


def test_no_tables_are_a_file_too(tmp_path: Path) -> None:
    write_short(tmp_path / "tables", {})
    assert read_short(tmp_path / "tables", "kernels") is None


def test_half_surrogates_do_not_stop_it(tmp_path: Path) -> None:
    write_short(tmp_path / "tables", {"k": from_lists(COLUMNS[:1], {"name": ["a\ud800b"]})})
    table = read_short(tmp_path / "tables", "k")
    assert table is not None and table.text("name").tolist() == ["a?b"]


def test_odd_lengths_stay_apart(tmp_path: Path) -> None:
    columns = (Column("a", Kind.TEXT), Column("b", Kind.INT), Column("c", Kind.TEXT))
    for rows in range(5):
        words = [f"{'x' * n}é" for n in range(rows)]
        lists = {"a": words, "b": list(range(rows)), "c": [*words[1:], *words[:1]]}
        write_short(tmp_path / "tables", {"t": from_lists(columns, lists)})
        back = read_short(tmp_path / "tables", "t")
        assert back is not None and back.text("a").tolist() == words and back.text("c").tolist() == lists["c"]
        assert back.ints("b").tolist() == lists["b"]


@pytest.mark.parametrize("place", [0, 3, 12, -1, -40])
def test_a_damaged_file_raises(file: Path, place: int) -> None:
    content = bytearray(file.read_bytes())
    content[place] ^= 0xFF
    file.write_bytes(content)
    with pytest.raises(ValueError):
        for name in TABLES:
            read_short(file, name)


@pytest.mark.parametrize("kept", [0, 4, 20, -8])
def test_a_cut_file_raises(file: Path, kept: int) -> None:
    file.write_bytes(file.read_bytes()[:kept])
    with pytest.raises(ValueError):
        for name in TABLES:
            read_short(file, name)
