"""Ledgers of real runs against worked examples that were computed with the standard library alone."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from tb_npu_plugin.analysis.findings.run_data import RunData
from tb_npu_plugin.analysis.ledger.model import RankLedger
from tests.support.reading import open_spans
from tests.support.real_data import REAL_DATA, skip_without

SHARED = REAL_DATA.parent
EXAMPLES = SHARED / "specs" / "ledger_examples.json"
#: Sets, and who or what is to blame.
SETS = {
    "ascend_pt_text_level1": ("loss", (5,), None),
    "ascend_pt_db_level1": ("loss", (6,), None),
    "ascend_pt_llm_4ranks": ("loss", (2,), 2),
    "cases/verdict/late_host_8ranks": ("unexplained", (), None),
}
_FOR_RANK = re.compile(r"waiting.* for rank (\d+)")


@pytest.mark.parametrize("name", SETS)
def test_worked_examples(name: str, tmp_path: Path) -> None:
    folder = skip_without(SHARED / name if "/" in name else REAL_DATA / name)
    if not EXAMPLES.exists():
        pytest.skip(f"no {EXAMPLES}")
    run = RunData(open_spans(folder, tmp_path))
    ledgers = {one.rank: one for one in run.ledgers}
    found = [one for one in json.loads(EXAMPLES.read_text())["sets"] if one["set"] == name]
    examples = [one for one in found if one["variant"].startswith("all files")]
    assert len(examples) == len(ledgers)
    for example in examples:
        check(ledgers[example["rank"]], example)
    judgement = run.judgement
    assert (judgement.kind, judgement.culprits, judgement.stage) == SETS[name]


def check(ledger: RankLedger, example: dict[str, Any]) -> None:
    expected: dict[tuple[str, int | None], int] = {}
    for one in example["entries"]:
        if (key := key_of(one)) is not None:
            expected[key] = expected.get(key, 0) + one["ns"]
    actual: dict[tuple[str, int | None], int] = {}
    for entry in ledger.entries:
        kind = "idle" if entry.entry in ("unexplained", "copies") else entry.entry
        actual[kind, entry.culprit] = actual.get((kind, entry.culprit), 0) + entry.ns
    assert sum(entry.ns for entry in ledger.entries) == ledger.window_ns
    assert abs(ledger.window_ns - example["window_ns"]) <= 1_000
    assert {key: pytest.approx(ns, abs=example["tolerance_ns"] + 1_000) for key, ns in expected.items() if ns} == {
        key: ns for key, ns in actual.items() if ns
    }


def key_of(entry: dict[str, Any]) -> tuple[str, int | None] | None:
    """Kind and awaited rank; None for what stands beside the entries."""
    name = entry["entry"]
    if entry["kind"] != "entry":
        return None
    if (rank := _FOR_RANK.fullmatch(name)) is not None:
        return "waiting", int(rank.group(1))
    if "waiting" in name:
        return "waiting", None
    if name.startswith(("idle", "unexplained", "copies")):
        return "idle", None
    return name.rpartition(": ")[2], None
