"""The waiting of a rank is one figure, to the ns: of the ledger, of Overview, Distributed and Diff, of the commands and of Python."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Optional

import pytest

import tb_npu_plugin.api as npu
from tb_npu_plugin.capture.models.catalog import Sizes
from tb_npu_plugin.capture.models.run import Recipe
from tb_npu_plugin.capture.writers.options import Options
from tests.support.cli import run
from tests.support.mock import written
from tests.support.real_data import REAL_DATA, skip_without

LEAN = Options(shapes=False, memory=False, stack=False)
#: Sends, receives and collectives; the file counts a part of the receives as Bubble.
PIPELINE = Recipe("tiny", 4, pp=2, steps=1, sizes=Sizes(layers=2), options=LEAN)


def ledgers_of(diagnosis: Any) -> dict[int, int]:
    """Waiting by rank, ns."""
    return {
        one["rank"]: sum(entry["ns"] for entry in one["entries"] if entry["entry"] == "waiting")
        for one in diagnosis["ledgers"]
    }


def printed(*args: object) -> Any:
    done = run(*map(str, args), "--json")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def whole(steps: Iterable[Mapping[str, Any]]) -> Optional[int]:
    """The waiting of the steps, which is also that of the bar and no part beside it."""
    (step,) = steps
    assert step["parts"]["waiting"] == step["exposed_waiting"], "the bar"
    assert not step["parts"]["bubble"], "no bubble beside known waits"
    assert sum(one["exposed"] for one in step["waiting_for"]) == step["exposed_waiting"], "by awaited rank"
    found: Optional[int] = step["exposed_waiting"]
    return found


def diff_of(logs: Path, rank: int) -> int:
    (step,) = printed("diff", logs, "--baseline", rank, "--experimental", rank)["data"]["steps"]
    assert step["unknown"] == []
    (one,) = [one for one in step["classes"] if one["id"] == "waiting"] or [{"baseline_ns": 0, "experimental_ns": 0}]
    assert one["baseline_ns"] == one["experimental_ns"]
    return int(one["baseline_ns"])


@pytest.mark.parametrize("name", ["pipeline", pytest.param("ascend_pt_text_level1", marks=pytest.mark.full)])
def test_waiting_is_one_figure_at_every_door(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    logs = written(PIPELINE)[0] if name == "pipeline" else skip_without(REAL_DATA / name)
    monkeypatch.setenv("TB_NPU_CACHE_DIR", str(tmp_path))
    wanted = ledgers_of(npu.open(logs).diagnose())
    assert len(wanted) > 1 and sum(wanted.values()) > 0
    (found,) = printed("diagnose", logs)["runs"]
    assert ledgers_of(found) == wanted
    budgets = printed("show", "distributed", logs)["data"]["budgets"]
    assert {rank: whole(one for one in budgets if one["rank"] == rank) for rank in wanted} == wanted
    for rank in [*wanted][::3]:  # of each stage
        steps = printed("show", "overview", logs, "--worker", rank)["data"]["steps"]
        assert (whole(steps), diff_of(logs, rank)) == (wanted[rank],) * 2
