"""Judgement of simulated runs: it depends neither on the level, nor on the form of the files, nor on the column Bubble."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tb_npu_plugin.analysis.findings import straggler, unprofiled_rank
from tb_npu_plugin.analysis.findings.diagnose import diagnose
from tb_npu_plugin.analysis.findings.pipeline import BUBBLE, STAGE_IMBALANCE, micro_batches
from tb_npu_plugin.analysis.findings.run_data import RunData
from tb_npu_plugin.capture.models.catalog import Sizes
from tb_npu_plugin.capture.models.run import Recipe
from tb_npu_plugin.capture.writers.options import Options
from tests.support.mock import written
from tests.support.reading import open_spans
from tests.support.span import found_spans

MS = 1_000_000


def pipeline(fault: str, level: int, form: str, batches: bool, out: Path) -> RunData:
    """Four ranks, two stages, four micro-batches. batches: sends and receives are batches, so that Bubble is 0."""
    options = Options(memory=False, stack=False, gc_threshold=0.0, export=(form,), level=level, batches=batches)
    sizes = Sizes(layers=4, micro=4, hidden=1024, sequence=1024)
    recipe = Recipe("tiny", 4, 2, 2, steps=1, faults=(fault,), sizes=sizes, options=options)
    folder, _ = written(recipe)
    return RunData(found_spans(folder) if batches else open_spans(folder, out))  # with and without the trace


@pytest.mark.slow
@pytest.mark.parametrize(
    ("fault", "culprits", "stage", "rule", "subject", "count"),
    [
        ("slow-rank:3:2", (3,), None, straggler.RULE, 3, 4),
        pytest.param("uneven-stages", (), 1, STAGE_IMBALANCE, 1, 4, marks=pytest.mark.full),
        ("few-micro-batches", (), None, BUBBLE, None, 1),
    ],
)
def test_a_pipeline_is_judged_by_its_waits(
    fault: str,
    culprits: tuple[int, ...],
    stage: int | None,
    rule: object,
    subject: int | None,
    count: int,
    tmp_path: Path,
) -> None:
    found = {}
    for variant in ((1, "text", False), (1, "db", True), (0, "text", True)):
        run = pipeline(fault, *variant, tmp_path)
        assert (run.judgement.kind, run.judgement.culprits, run.judgement.stage) == ("loss", culprits, stage), variant
        assert run.judgement.entry is not None and run.judgement.entry.entry == "waiting"
        assert micro_batches(run) == count, variant
        (finding,) = rule.find(run)  # type: ignore[attr-defined]
        assert subject in (finding.subject.rank, finding.subject.stage), variant
        found[variant] = finding.cost_ns
        ends = [end for ledger in run.ledgers for one in ledger.entries for end in one.chain]
        assert {end.rank for end in ends if end.kind == "unprofiled"} == set(), "all ranks were profiled"
    assert max(found.values()) == pytest.approx(min(found.values()), rel=0.02)


@pytest.mark.parametrize("form", ["text", "db"])
def test_level0_names_the_late_rank_that_was_not_profiled(form: str, tmp_path: Path) -> None:
    """By the order of the waits on the stream of the device; the launches need no slice of the host."""
    ledgers = []
    for level in (0, 1):
        options = Options(memory=False, stack=False, gc_threshold=0.0, export=(form,), level=level)
        recipe = Recipe("tiny", 4, steps=1, faults=("slow-host:2:10",), options=options, only=(0, 1))
        run = RunData(open_spans(written(recipe)[0], tmp_path / str(level)))
        assert (run.judgement.culprits, run.has_pipeline_waits) == ((2,), False)
        assert [one.subject.rank for one in unprofiled_rank.find(run)] == [2]
        entries = [(ledger.rank, one) for ledger in run.ledgers for one in ledger.entries if one.ns > MS // 10]
        ledgers.append({(rank, one.entry, one.detail, one.culprit): one.ns for rank, one in entries})
    assert ledgers[0].keys() == ledgers[1].keys()
    for key, ns in ledgers[0].items():
        assert ns == pytest.approx(ledgers[1][key], rel=0.05, abs=MS // 10), key


def test_level0_knows_that_waits_for_other_servers_follow_a_first_exchange(tmp_path: Path) -> None:
    """Rank 13 first waits for rank 9, on its server, then for rank 5, which is late."""
    options = Options(memory=False, stack=False, gc_threshold=0.0, export=("text",), level=0)
    recipe = Recipe("tiny", 16, tp=4, steps=1, faults=("slow-host:5:40",), options=options, only=(13,))
    run = RunData(open_spans(written(recipe)[0], tmp_path))
    (waits,) = run.communication.first_waits
    assert [len(one.tasks) for one in waits or () if one.is_part] == [1]
    certain = [one.low_ns for one in run.ledgers[0].entries if one.entry == "transfer"]
    assert sum(certain) < run.ledgers[0].window_ns // 2


def test_a_capture_without_a_rank_number_may_be_the_awaited_rank(tmp_path: Path) -> None:
    options = Options(memory=False, stack=False, gc_threshold=0.0, export=("text",))
    recipe = Recipe("tiny", 4, steps=1, faults=("slow-host:2:10",), options=options, only=(0, 2))
    folder = shutil.copytree(written(recipe)[0], tmp_path / "run")
    for file in [*folder.rglob("profiler_info*.json"), *folder.rglob("profiler_metadata.json")]:
        file.unlink()
    run = RunData(open_spans(folder, tmp_path))
    assert run.communication.profiled == {None} and unprofiled_rank.find(run) == []
    assert "Not profiled" not in str(diagnose(run.spans).verdict.message)
