"""TextList is a sequence of the texts that went in."""

from __future__ import annotations

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


def test_is_not_equal_to_others() -> None:
    assert TextList.of(TEXTS) != TEXTS[:4] and TextList.of(["a"]) != ["b"] and TextList.of(["a"]) != 1


def test_refuses_an_index_beyond_the_end() -> None:
    with pytest.raises(IndexError):
        TextList.of(["a"])[1]
