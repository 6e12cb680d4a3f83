"""What stands out in a step or a range, on simulated runs."""

from __future__ import annotations

import pytest

from tb_npu_plugin.analysis.findings.explain import PartKind, explain_range, explain_step
from tb_npu_plugin.analysis.findings.run_data import RunData
from tb_npu_plugin.capture.models.catalog import Sizes
from tb_npu_plugin.capture.models.run import Recipe
from tb_npu_plugin.capture.writers.options import Options
from tb_npu_plugin.schema.settings import STORED_METRICS
from tests.support import mock
from tests.support.span import found_spans


@pytest.fixture(scope="module", params=["cluster", "cluster_level0", "resnet"])
def run(request: pytest.FixtureRequest) -> RunData:
    return RunData(found_spans(mock.run(request.param)[0]))


def test_each_rank_waits_for_others_as_long_as_in_its_ledger(run: RunData) -> None:
    for step in (*filter(None, run.steps), None):
        found = explain_step(run, step)
        ledgers = run.ledgers if step is None else run.ledgers_in([step])
        for rank, ledger in zip(found.ranks, ledgers):
            own, waits = str(ledger.rank), [one for one in ledger.entries if one.entry == "waiting"]
            named = sum(one.ns for one in waits if one.culprit not in (None, ledger.rank))
            assert sum(rank.awaited.values()) == named and own not in rank.awaited
            assert rank.parts.total == ledger.window_ns
        if found.rank is not None:
            first = found.ranks[found.rank]
            assert found.kind is not None and first.parts.of(found.kind) == found.ns > found.other_ns


def test_parts_of_a_range_sum_to_it_and_kernels_have_names(run: RunData) -> None:
    lines = {at: line.steps[0] for at, line in enumerate(run.communication.lines)}
    windows = {at: (step.start_ns or 0, (step.start_ns or 0) + (step.total_ns or 0)) for at, step in lines.items()}
    found = explain_range(run.communication, windows)
    assert len(found.ranks) == len(windows)
    for rank in found.ranks:
        begin, end = rank.window
        assert 0.9 * (end - begin) < rank.parts.total <= end - begin
        kinds: tuple[PartKind, ...] = ("computing", "waiting", "transfer", "copies", "idle")
        assert all(rank.parts.of(kind) >= 0 for kind in kinds)
    for step in filter(None, run.steps):
        assert all(one.type for one in explain_step(run, step).kernels)


@pytest.mark.parametrize(("level", "metrics"), [(0, "AiCoreNone"), (1, "PipeUtilization")])
def test_the_slow_rank_is_named_at_each_level_with_its_kernels(level: int, metrics: str) -> None:
    options = Options(level=level, metrics=STORED_METRICS[metrics])
    recipe = Recipe("gpt2", 4, tp=2, steps=1, sizes=Sizes(layers=2), faults=("slow-rank:1:2",), options=options)
    slow = RunData(found_spans(mock.written(recipe)[0]))
    found = explain_step(slow, slow.steps[0])
    assert found.rank is not None and found.ranks[found.rank].name == "rank 1" and found.kind == "computing"
    assert found.kernels[0].ns > 1.5 * found.kernels[0].other_ns and all(one.type for one in found.kernels)
