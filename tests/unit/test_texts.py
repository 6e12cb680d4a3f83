"""TextList is a sequence of the texts that went in."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from tb_npu_plugin.tables import StringColumn
from tb_npu_plugin.texts import TextList

TEXTS = ["", "aten::add", "核函数", "a\nb", "aten::add"]


def test_reads_back_what_went_in() -> None:
    packed = TextList.of(TEXTS)
    assert list(packed) == TEXTS and packed == TEXTS
    assert len(packed) == 5 and packed[2] == "核函数" and packed[-1] == "aten::add" and packed[1:3] == TEXTS[1:3]
    assert packed.index("a\nb") == 3 and "none" not in packed
    assert packed != TEXTS[:4] and TextList.of(["a"]) != ["b"] and TextList.of(["a"]) != 1
    with pytest.raises(IndexError):
        packed[5]


@pytest.mark.parametrize("pieces", [1, 2, 1 << 14])
def test_reads_in_pieces(pieces: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tb_npu_plugin.texts._PIECES", pieces)
    packed = TextList.of(TEXTS)
    assert list(packed) == TEXTS and list(TextList.of([])) == []
    for cut in (slice(None), slice(1, 4), slice(3, 1), slice(7, 9), slice(None, None, 2), slice(None, None, -1)):
        assert packed[cut] == TEXTS[cut]


def test_a_few_rows_of_many_texts() -> None:
    assert StringColumn(np.array([2, -1], dtype=np.int32), TextList.of(TEXTS)).tolist() == ["核函数", None]


@pytest.mark.parametrize("pieces", [1, 2, 3, 1 << 14])
@pytest.mark.parametrize("passed", [0, 3, 256])
def test_takes_pieces_one_by_one_or_together(pieces: int, passed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tb_npu_plugin.texts._PIECES", pieces)
    monkeypatch.setattr("tb_npu_plugin.texts._PASSED", passed)
    for texts in (TEXTS[:-1], [""] * 3):
        for count in range(len(texts) + 1):
            for chosen in itertools.product(range(len(texts)), repeat=count):
                taken = TextList.of(texts).take(np.array(chosen, dtype=np.int64))
                assert taken == [texts[at] for at in chosen]
                assert TextList.of(texts).pick(np.array(chosen, dtype=np.int64)) == taken
