"""Columns that grow into files."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tb_npu_plugin.readers.shared.spool import IN_MEMORY, Spool


def test_long_columns_are_whole_whatever_a_write_takes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The system may take a part only: two gigabytes at most, or what a disk has left."""

    class Sparing(io.FileIO):
        def write(self, data: Any) -> int:
            return super().write(bytes(data[:100_000]))

    monkeypatch.setattr(Path, "open", lambda path, mode, buffering: Sparing(path, mode))
    column = Spool(tmp_path).column(np.int64)
    values = np.arange(IN_MEMORY // 4)
    column.append(values[:7])
    column.append(values[7:])
    assert np.array_equal(column.values(), values)


def test_short_columns_make_no_file(tmp_path: Path) -> None:
    column = Spool(tmp_path).column(np.int32)
    column.append(np.arange(3))
    assert column.values().tolist() == [0, 1, 2] and not any(tmp_path.iterdir())
