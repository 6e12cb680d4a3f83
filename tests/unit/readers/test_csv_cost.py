"""What a row costs that cannot be used: the calls of functions are counted, as a busy machine has no other measure."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from tests.support.scanners import both_scanners
from tests.unit.readers.files import KERNELS, codes, kernels, read

pytestmark = both_scanners
ROWS = 10_000


@pytest.mark.parametrize("row", ["1\n", "1\r"])
def test_a_malformed_row_takes_few_calls(tmp_path: Path, row: str) -> None:
    calls = 0

    def count(frame: Any, event: str, arg: Any) -> None:
        nonlocal calls
        calls += event in ("call", "c_call")

    sys.setprofile(count)
    try:
        _, problems = read(tmp_path, KERNELS, kernels() + (row * ROWS).encode())
    finally:
        sys.setprofile(None)
    assert codes(problems) == [f"short_row x{ROWS}", "no_rows x1"]
    assert calls / ROWS < 22
