"""Short tables survive their file, unknowns included; damage is reported."""

from __future__ import annotations

from pathlib import Path

import pytest

from tb_npu_plugin.store.tables.short import read_short, write_short
from tb_npu_plugin.tables import Table, empty, from_lists
from tests.unit.store.test_tables_db import COLUMNS, LISTS

TABLES = {"kernels": from_lists(COLUMNS, LISTS), "nothing": empty(COLUMNS), "bare": Table(())}


@pytest.fixture
def file(tmp_path: Path) -> Path:
    write_short(tmp_path / "tables", TABLES)
    return tmp_path / "tables"


def test_empty_and_absent_tables_differ(file: Path) -> None:
    nothing = read_short(file, "nothing")
    assert nothing is not None and len(nothing) == 0 and [c.key for c in nothing.columns] == [c.key for c in COLUMNS]
    bare = read_short(file, "bare")
    assert bare is not None and bare.columns == ()
    assert read_short(file, "absent") is None


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
