"""Diff closes the loop: a fault that is repaired is gone, and saved what its finding promised."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tb_npu_plugin.capture.models.catalog import Sizes
from tb_npu_plugin.capture.models.run import Recipe
from tb_npu_plugin.views import diff_ledger
from tb_npu_plugin.views.base import ViewInput
from tests.support.mock import written
from tests.support.span import TestSpan, found_spans

SIZES = Sizes(layers=2, hidden=4096, sequence=4096)


@pytest.fixture
def runs(tmp_path: Path) -> Any:
    """Runs with these faults in one logdir."""

    def write(*faults: tuple[str, ...]) -> list[list[TestSpan]]:
        for number, one in enumerate(faults):
            folder = written(Recipe("tiny", 4, steps=2, sizes=SIZES, faults=one))[0]
            (tmp_path / f"run{number}").symlink_to(folder, target_is_directory=True)
        spans = found_spans(tmp_path)
        return [[span for span in spans if span.run_label.startswith(f"run{at}")] for at in range(len(faults))]

    return write


def outcomes(before: list[TestSpan], after: list[TestSpan]) -> dict[str, dict[str, Any]]:
    found = diff_ledger.build(ViewInput([before[0], after[0]], {}, [before, after])).data["outcomes"]
    return {one["rule"]: one for one in found}


def test_a_repaired_fault_is_gone_and_saved_what_was_promised(runs: Any) -> None:
    slow, healthy, slower = runs(("slow-rank:2:1.5",), (), ("slow-rank:2:2.5",))
    own = outcomes(slow, healthy)["straggler"]
    assert (own["fate"], own["after_ns"], own["part"]) == ("gone", 0, "communication"), "late ranks delay transfers"
    assert own["saved_ns"] == own["entry_before_ns"] - own["entry_after_ns"]
    assert own["saved_ns"] == pytest.approx(own["promised_ns"], rel=0.1)
    assert outcomes(slow, slower)["straggler"]["fate"] == "larger"
    assert outcomes(slower, slow)["straggler"]["fate"] == "smaller"
    assert outcomes(slow, slow) == {}, "one run"
