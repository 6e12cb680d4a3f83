"""Findings about simulated runs with a known fault: what was put in is named, at its cost, and nothing else is."""

from __future__ import annotations

import pytest

from tests.truth.cases import FAULTS, Case, case, healthy_case
from tests.truth.measure import measure

#: Small runs, with each layout and format of the results.
SAMPLE = [
    case("slow-rank", 4),
    case("unprofiled-rank", 3),
    case("slow-link", 1),
    healthy_case(3),
]
SEEDS, HEALTHY = 20, 50


def name(one: Case) -> str:
    return f"{one.fault or 'healthy'} {one.seed}"


def check(one: Case) -> None:
    found = measure(one)
    assert found.wrong == [], found.line()
    assert not found.is_due or (found.rule and found.is_cost_right), found.line()


@pytest.mark.parametrize("one", SAMPLE, ids=name)
def test_a_fault_is_named_at_its_cost(one: Case) -> None:
    check(one)


@pytest.mark.full
@pytest.mark.timeout(600)
@pytest.mark.parametrize("seed", range(SEEDS))
@pytest.mark.parametrize("fault", FAULTS)
def test_every_fault_of_every_seed_is_named_at_its_cost(fault: str, seed: int) -> None:
    check(case(fault, seed))


@pytest.mark.full
@pytest.mark.timeout(600)
@pytest.mark.parametrize("seed", range(HEALTHY))
def test_a_healthy_run_is_called_healthy(seed: int) -> None:
    check(healthy_case(seed))
