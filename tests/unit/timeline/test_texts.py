"""Search in the texts of a timeline folder."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from tb_npu_plugin.store.timeline import files


@pytest.mark.parametrize("letters", ["aAb", "aAbß中"])
def test_containing_finds_what_python_finds(letters: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also matches that overlap one that lies in two texts."""
    monkeypatch.setattr(files, "_PIECE", 7)
    draw = random.Random(1)
    texts = ["".join(draw.choices(letters, k=draw.randrange(6))) for _ in range(200)]
    files.save_texts(tmp_path, "names", texts)
    found = files.Texts(tmp_path, "names")
    for part in ("a", "AA", "aba", "ss", "中a", ""):
        assert found.containing(part).tolist() == [part.casefold() in text.casefold() for text in texts]


def test_no_texts_contain_nothing(tmp_path: Path) -> None:
    files.save_texts(tmp_path, "names", [])
    assert files.Texts(tmp_path, "names").containing("a").tolist() == []
