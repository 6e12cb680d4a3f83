"""Exact figures: against Decimal, and the column versions against the single ones."""

from __future__ import annotations

from decimal import ROUND_HALF_EVEN, Decimal

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
        ("1.69512E+15", 1000, 1695120000000000000),
        ("18816.5", 1024, 19268096),
        ("0", 1, 0),
    ],
)
def test_scaled_is_exact(text: str, factor: int, expected: int) -> None:
    assert scale_decimal(text, factor) == expected


@pytest.mark.parametrize("text", ["", "N/A", "nan", "inf", "-Infinity", "1_000", "1,5", "0x10", "9" * 30, "1e999999"])
def test_what_is_no_figure_is_none(text: str) -> None:
    assert scale_decimal(text, 1000) is None


@pytest.mark.parametrize("text", ["", "N/A", "nan", "inf", "1_0", "1,5"])
def test_number_refuses(text: str) -> None:
    assert float_or_none(text) is None


def test_unit_of_reads_the_last_brackets_only() -> None:
    assert unit_of("Start Time(us)") == "us"
    assert unit_of("Communication(Not Overlapped)") == "Not Overlapped"
    assert unit_of("Computing") == ""
    assert unit_of("Time(us) of all") == ""


@pytest.mark.parametrize(
    "texts",
    [
        ["1736408883704643.212", "1736408883704801.156"],  # one width, epoch
        ["1736408883704643.212", "1736408883704801.15"],  # two widths
        ["9936408883704643.212", "9236408883704801.156"],  # 20 characters that do not fit int64, and 19 digits
        ["53.741", "6.54", "0", "3.6500000000000004", "-7.25"],  # through floats
        ["0.0005", "0.0015", "0.0025", "123456789012.0005"],  # ties
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


def test_number_column_agrees_with_number() -> None:
    texts = ["1.5", "-2", "inf", "nan", "x", "1_0"]
    values, bad = number_column(texts)
    assert bad.tolist() == [False, False, True, True, True, True]
    assert values[:2].tolist() == [1.5, -2.0]
    assert np.isnan(values[2:]).all()


def test_half_even_is_what_decimal_does() -> None:
    for text in ("2.5", "3.5", "-2.5"):
        assert scale_decimal(text, 1) == int(Decimal(text).to_integral_value(rounding=ROUND_HALF_EVEN))
