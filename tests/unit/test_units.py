"""Exact figures: against Decimal, and the column versions against the single ones."""

from __future__ import annotations

import numpy as np
import pytest

from tb_npu_plugin.units import float_or_none, number_column, scale_decimal, scaled_column, unit_of


@pytest.mark.parametrize(
    ("text", "factor", "expected"),
    [
        ("1736408883704643.212\t", 1000, 1736408883704643212),
        ("1736408883704643.212999", 1000, 1736408883704643213),
        ("-3.5", 1000, -3500),
        ("3.6500000000000004", 1000, 3650),
        ("0.0005", 1000, 0),  # half to even
        ("0.0015", 1000, 2),
        ("-2.5", 1, -2),
        ("1.69512E+15", 1000, 1695120000000000000),
        ("18816.5", 1024, 19268096),
        *((text, 1000, None) for text in ("", "N/A", "nan", "-Infinity", "1_000", "1,5", "0x10", "9" * 30, "1e999999")),
    ],
)
def test_scaled_is_exact_or_none(text: str, factor: int, expected: int | None) -> None:
    assert scale_decimal(text, factor) == expected


def test_unit_of_reads_the_last_brackets_only() -> None:
    texts = ("Start Time(us)", "Communication(Not Overlapped)", "Computing", "Time(us) of all")
    assert [unit_of(text) for text in texts] == ["us", "Not Overlapped", "", ""]


@pytest.mark.parametrize(
    "texts",
    [
        ["1736408883704643.212", "1736408883704801.15"],  # two widths
        ["9936408883704643.212", "9236408883704801.156"],  # 20 characters that do not fit int64, and 19 digits
        ["130.9105", "256.7925"],  # ties on the wrong side as floats
        ["562949953421.3125", "562949953421.3135"],  # close to where floats end
        ["1.2e3", "x", "nan", "1_0", ""],
        ["\uff11\uff12", "12"],  # full-width digits
        [],
    ],
)
def test_columns_agree_with_single_figures(texts: list[str]) -> None:
    for factor in (1, 1000, 1024, 10**6):
        values, bad = scaled_column(texts, factor)
        singles = [scale_decimal(text, factor) for text in texts]
        assert values.dtype == np.int64
        assert [None if wrong else value for value, wrong in zip(values.tolist(), bad.tolist())] == singles


def test_numbers_and_what_is_none() -> None:
    texts = ["1.5", "-2", "", "N/A", "nan", "inf", "1_0", "1,5"]
    expected = [1.5, -2.0, *[None] * 6]
    values, bad = number_column(texts)
    assert [float_or_none(text) for text in texts] == expected
    assert [None if np.isnan(value) else value for value in values.tolist()] == expected
    assert bad.tolist() == [value is None for value in expected]
