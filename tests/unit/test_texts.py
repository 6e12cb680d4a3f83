"""TextList is a sequence of the texts that went in."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from tb_npu_plugin.texts import TextList

TEXTS = ["", "aten::add", "核函数", "a\nb", "aten::add"]


def test_reads_back_what_went_in() -> None:
    packed = TextList.of(TEXTS)
    assert list(packed) == TEXTS and packed == TEXTS
    assert len(packed) == 5 and packed[2] == "核函数" and packed[-1] == "aten::add" and packed[1:3] == TEXTS[1:3]
    assert packed.index("a\nb") == 3 and "none" not in packed


def test_takes_any_texts_in_any_order() -> None:
    assert TextList.of(TEXTS).take(np.array([2, 0, 2])) == ["核函数", "", "核函数"]
    assert TextList.of([]).take(np.zeros(0, dtype=np.int64)) == []


@pytest.mark.parametrize("pieces", [1, 2, 3, 1 << 14])
@pytest.mark.parametrize("passed", [0, 3, 256])
def test_takes_pieces_one_by_one_or_together(pieces: int, passed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tb_npu_plugin.texts._PIECES", pieces)
    monkeypatch.setattr("tb_npu_plugin.texts._PASSED", passed)
    packed = TextList.of(TEXTS)
    for count in range(len(TEXTS) + 1):
        for chosen in itertools.permutations(range(len(TEXTS)), count):
            assert packed.take(np.array(chosen, dtype=np.int64)) == [TEXTS[at] for at in chosen]
    assert TextList.of(["", "", ""]).take(np.array([0, 2])) == ["", ""]


def test_is_not_equal_to_others() -> None:
    assert TextList.of(TEXTS) != TEXTS[:4] and TextList.of(["a"]) != ["b"] and TextList.of(["a"]) != 1


def test_refuses_an_index_beyond_the_end() -> None:
    with pytest.raises(IndexError):
        TextList.of(["a"])[1]
