"""Files that would fill the memory are skipped."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.scanners import both_scanners
from tests.unit.readers.files import KERNELS, codes, kernel_row, kernels, read

pytestmark = both_scanners


def test_gzip_that_unpacks_to_more_than_any_result(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # A few megabytes of zeros, packed, filled the memory.
    monkeypatch.setattr("tb_npu_plugin.scan.source._ALWAYS_ALLOWED", 100_000)
    rows = kernels(*[kernel_row("k" * 1000)] * 2000)
    tables, problems = read(tmp_path, f"{KERNELS}.gz", rows)
    assert codes(problems) == ["file_cut x1"] and "300 times" in problems[0].found
    assert 0 < len(tables["kernels"]) < 2000
    tables, problems = read(tmp_path, "communication.json.gz", b'{"step1": {"p2p": "' + b"x" * 2_000_000 + b'"}}')
    assert tables == {} and "file_cut x1" in codes(problems)


def test_a_line_without_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # A crash leaves files full of zeros: one line, read as a whole.
    monkeypatch.setattr("tb_npu_plugin.readers.shared.source.MAX_LINE", 1000)
    tables, problems = read(tmp_path, KERNELS, kernels(kernel_row("a")) + b"\0" * 5000)
    assert tables["kernels"].text("name").tolist() == ["a"] and codes(problems) == ["long_line x1"]


def test_a_json_file_that_is_too_large_to_decode(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tb_npu_plugin.readers.shared.source.MAX_JSON", 1000)
    tables, problems = read(tmp_path, "communication.json", b" " * 1001 + b"{}")
    assert tables == {} and codes(problems) == ["too_large x1"]
