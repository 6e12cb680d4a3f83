"""Files are written whole or not at all."""

from __future__ import annotations

from pathlib import Path

import pytest

from tb_npu_plugin.whole_files import write_whole


def test_a_file_is_replaced_whole(tmp_path: Path) -> None:
    write_whole(tmp_path / "a.json", b"old")
    write_whole(tmp_path / "a.json", b"new")
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == {"a.json": b"new"}


def test_what_cannot_be_written_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a.json").write_bytes(b"old")

    def fill_the_disk(path: Path, target: Path) -> Path:
        raise OSError("no space")

    monkeypatch.setattr(Path, "replace", fill_the_disk)
    with pytest.raises(OSError, match="no space"):
        write_whole(tmp_path / "a.json", b"new")
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == {"a.json": b"old"}
