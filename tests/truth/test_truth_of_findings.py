"""Findings about simulated runs with a known fault: what was put in is named, at its cost, and nothing else is."""

from __future__ import annotations

from pathlib import Path

import pytest

from tb_npu_plugin.analysis.findings.registry import RULES
from tests.truth.cases import TRIGGERS, Case, case, table
from tests.truth.evidence import EVIDENCE
from tests.truth.measure import measure

ROOT = Path(__file__).resolve().parents[2]
#: Seeds of two and four ranks, of both formats; each trigger once but for one that needs two servers and those of which
#: test_truth_of_evidence.py has a sample.
SMALL = (0, 3, 0, 3, 0, 3, 0, 3, 1)
SAMPLE = [
    case(name, SMALL[at % len(SMALL)])
    for at, name in enumerate(TRIGGERS)
    if name not in ("retransmission", "preemption", *EVIDENCE)
]
SEEDS = 20
#: Of GPUs, of MindSpore up to 2.2, of several hosts and of experts, which no mock writes.
NOT_OF_MOCKS = {"launch_bound", "step_gap", "cluster_outlier", "slow_host", "expert_imbalance"}


def name(one: Case) -> str:
    return f"{one.name or 'healthy'} {one.seed}"


def check(one: Case) -> None:
    found = measure(one)
    assert found.is_right, found.line()
    quiet = {other.rule for other in TRIGGERS.values() if other.quiet == one.name and one.name}
    assert not quiet & found.loud, found.line()


@pytest.mark.parametrize("one", SAMPLE, ids=name)
def test_a_fault_is_named_at_its_cost(one: Case) -> None:
    check(one)


@pytest.mark.full
@pytest.mark.timeout(600)
@pytest.mark.parametrize("seed", range(SEEDS))
@pytest.mark.parametrize("trigger", TRIGGERS)
def test_every_fault_of_every_seed_is_named_at_its_cost(trigger: str, seed: int) -> None:
    check(case(trigger, seed))


def test_every_rule_has_a_trigger_and_a_run_that_must_not_trigger_it() -> None:
    assert {one.rule for one in TRIGGERS.values()} == {rule.id for rule in RULES} - NOT_OF_MOCKS
    assert {one.quiet for one in TRIGGERS.values()} <= set(TRIGGERS)
    assert all(TRIGGERS[one.quiet].rule != one.rule for one in TRIGGERS.values())


def test_every_rule_is_in_the_documentation() -> None:
    page = (ROOT / "docs" / "diagnosis.md").read_text(encoding="utf-8")
    assert [rule.id for rule in RULES if f"\n| `{rule.id}` |" not in page] == []


def test_the_recipes_are_in_the_documentation() -> None:
    page = (ROOT / "docs" / "diagnosis.md").read_text(encoding="utf-8")
    missing = [line for line in table() if line not in page.splitlines()]
    assert not missing, "python -m tests.truth.cases prints the table:\n" + "\n".join(missing)
