"""Diff of any two captures: the entries of both sum to their steps, and the differences to the difference of the steps."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tb_npu_plugin.views import diff, diff_ledger
from tb_npu_plugin.views.availability import facts_of_span, is_available
from tb_npu_plugin.views.base import ViewInput
from tests.support.fixtures import FIXTURES
from tests.support.span import TestSpan, found_spans

FOLDERS = [*sorted((FIXTURES / "results").iterdir()), *sorted((FIXTURES / "demo").iterdir())]


def compared(view: Any, spans: list[TestSpan], run: list[TestSpan], **params: str) -> dict[str, Any]:
    return dict(view.build(ViewInput(spans, params, [run] * len(spans))).data)


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_entries_sum_to_the_steps_and_differences_to_theirs(folder: Path) -> None:
    run = [one for one in found_spans(folder) if is_available(diff_ledger.VIEW, facts_of_span(one))]
    if not run:
        pytest.skip("nothing to compare")
    pair = [run[0], run[-1]]
    has_classes = all(is_available(diff.VIEW, facts_of_span(one)) for one in pair)
    choices = compared(diff, pair, run)["steps"] if has_classes else []
    for choice in [{"id": ""}, *choices]:
        found = compared(diff_ledger, pair, run, step=choice["id"])
        turned = compared(diff_ledger, pair[::-1], run, step=choice["id"]) if choice["id"] in ("", "mean") else None
        steps, rows = found["steps"], [row for row in found["rows"] if not row["is_beside"]]
        for at, step in enumerate(steps):
            if step is not None:
                assert sum(row["times"][at]["ns"] for row in rows) == step
        if None in steps:
            assert found["waterfall"] == []
            continue
        differences = [one["difference_ns"] for one in found["waterfall"]]
        assert sum(differences) == steps[1] - steps[0] and found["waterfall"][-1]["running_ns"] == steps[1]
        if turned is not None:
            assert [-one["difference_ns"] for one in turned["waterfall"]] == differences
        if "baseline_ns" in choice and None not in (choice["baseline_ns"], choice["experimental_ns"]):
            assert steps == [choice["baseline_ns"], choice["experimental_ns"]], "the headline"
    same = compared(diff_ledger, [run[0], run[0]], run)
    assert all(one["difference_ns"] == 0 for one in same["waterfall"]) and same["outcomes"] == []


def test_captures_of_one_run_share_its_communication(monkeypatch: pytest.MonkeyPatch) -> None:
    run = found_spans(FIXTURES / "demo" / "transformer_slow_rank")
    shared = []
    real = diff.waiting_of_span
    monkeypatch.setattr(diff, "waiting_of_span", lambda span, run: shared.append(run) or real(span, run))
    source = ViewInput(run[:4], {}, [[one, *(other for other in run if other is not one)] for one in run[:4]])
    sides = diff.sides_of(source)
    monkeypatch.undo()
    alone = [diff.sides_of(ViewInput([one], {}, [run]))[0] for one in run[:4]]
    assert [side.waiting for side in sides] == [side.waiting for side in alone] and sides[0].waiting
    assert len({id(one) for one in shared}) == 1


TABLES = {"operators", "kernels", "types", "shapes", "calls", "api", "memory"}


def test_tables_of_three_captures_add_up() -> None:
    """The differences are those of the columns, shapes sum to their types, and a capture beside itself does not differ."""
    before, after = (
        found_spans(FIXTURES / "demo" / name)[0] for name in ("transformer_910b", "transformer_910b_tuned")
    )
    found = diff.build(ViewInput([before, after, before], {"pair": "AB"}))
    assert set(found.tables) == TABLES
    turned = diff.build(ViewInput([before, after, before], {"pair": "BA"})).tables
    same = diff.build(ViewInput([before, after, before], {"pair": "AC"})).tables
    for name, one in found.tables.items():
        unit = "bytes" if name == "memory" else "device_self_ns" if name == "operators" else "ns"
        own, other, third, difference = (
            one.table.ints(f"{key}_{unit}") for key in ("baseline", "experimental", "c", "difference")
        )
        assert (own == third).all() and (difference == other - own).all() and difference.any(), name
        assert sorted(-turned[name].table.ints(f"difference_{unit}")) == sorted(difference)
        assert not same[name].table.ints(f"difference_{unit}").any()
    sums = {one["table"]: one["ns"] for one in found.data["sums"]}
    types, shapes = (found.tables[name].table for name in ("types", "shapes"))
    assert sums["types"] == [int(types.ints(f"{key}_ns").sum()) for key in ("baseline", "experimental", "c")]
    assert sums["shapes"] == pytest.approx(sums["types"], abs=len(shapes)), "each is rounded"
    of_type = types.ints("baseline_ns")[types.text("type").tolist().index("MatMulV3")]
    rows = [at for at, type_ in enumerate(shapes.text("type").tolist()) if type_ == "MatMulV3"]
    assert len(rows) > 1 and shapes.ints("baseline_ns")[rows].sum() == pytest.approx(of_type, abs=len(rows))
    steps = compared(diff_ledger, [before, after], [before], step="mean")["rows"]
    computing = next(row for row in steps if row["part"] == "computing")["times"]
    assert sums["types"][0] == pytest.approx(computing[0]["ns"], rel=0.02), "kernels hardly overlap here"
