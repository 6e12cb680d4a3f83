"""Diagnoses simulated runs with known faults and compares: `python -m tests.truth.measure --seeds 20`.

A rule is right if it names the fault and its rank; its cost is compared with the time that the step takes longer than in
the same run without the fault.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
from collections.abc import Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Optional

import tb_npu_plugin.api as npu
from tb_npu_plugin.capture.models.run import Recipe, write_run
from tests.truth.cases import FAULTS, TIMELESS, Case, case, healthy_case

#: A fault that costs less of the step may stay unnamed.
LEAST_SHARE = 0.05
#: An upper bound is at most this many times the truth; a measured cost is this close to it.
MOST_BOUND, CLOSE = 1.5, 0.1


@dataclass
class Outcome:
    """What the diagnosis says of a case. Times are ms per step.

    Attributes:
        lost: Longer than the same run without the fault.
        wrong: Findings above "low" that the fault does not explain.
    """

    case: Case
    step: float
    lost: float
    rule: Optional[str] = None
    cost: float = 0.0
    kind: str = ""
    wrong: list[str] = field(default_factory=list)

    @property
    def is_due(self) -> bool:
        """Whether the fault costs enough to be named."""
        return self.case.fault in TIMELESS or (bool(self.case.fault) and self.lost >= LEAST_SHARE * self.step)

    @property
    def is_cost_right(self) -> bool:
        """Whether the cost of the finding is the truth, or bounds it."""
        if self.case.fault in TIMELESS:
            return self.cost == 0
        if self.kind == "measured":
            return abs(self.cost - self.lost) <= CLOSE * self.lost
        return self.lost * (1 - CLOSE) <= self.cost <= MOST_BOUND * self.lost

    def line(self) -> str:
        """For people."""
        of = self.case.recipe
        layout = f"{of.ranks} ranks, tp {of.tp}, pp {of.pp}, {of.options.export[0]}, seed {self.case.seed}"
        found = f"{self.rule} {self.cost:.2f} ({self.kind})" if self.rule else "nothing"
        times = f"step {self.step:.2f} ms, lost {self.lost:.2f}"
        wrong = f"; wrong: {', '.join(self.wrong)}" if self.wrong else ""
        return f"{self.case.fault or 'healthy':16} {layout}: {times}, found {found}{wrong}"


def measure(one: Case) -> Outcome:
    """Write the run of a case with and without the fault, and diagnose both."""
    found = _diagnose(one.recipe)
    step = _step_ms(found)
    lost = step - _step_ms(_diagnose(one.healthy)) if one.fault else 0.0
    outcome = Outcome(one, step, lost)
    for finding in found["findings"]:
        rule, rank = finding["rule"], finding["subject"].get("rank")
        is_it = rule in one.rules and (not one.ranks or rank in one.ranks)
        if is_it and outcome.rule is None:
            outcome.rule, outcome.cost, outcome.kind = rule, finding["ms_per_step"], finding["kind"]
        elif not is_it and rule not in one.effects and finding["severity"] != "low" and not finding["causes"]:
            outcome.wrong.append(f"{rule} {finding['message']}")
    return outcome


def _diagnose(recipe: Recipe) -> dict[str, Any]:
    folder = Path(tempfile.mkdtemp(prefix="truth"))
    try:
        write_run(recipe, folder, jobs=1)
        return npu.open(folder).diagnose()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _step_ms(found: dict[str, Any]) -> float:
    times = [step["ms"] for step in found["steps"]]
    return sum(times) / max(len(times), 1)


def summary(outcomes: Iterable[Outcome]) -> tuple[list[str], bool]:
    """Precision and recall by fault, and whether both hold."""
    by_fault: dict[str, list[Outcome]] = {}
    for one in outcomes:
        by_fault.setdefault(one.case.fault or "healthy", []).append(one)
    lines, is_good = [], True
    for fault, found in by_fault.items():
        due = [one for one in found if one.is_due]
        named = [one for one in due if one.rule]
        wrong = sum(bool(one.wrong) for one in found)
        costs = sum(one.is_cost_right for one in named)
        recall = len(named) / len(due) if due else 1.0
        lines.append(
            f"{fault:16} runs {len(found):3}  due {len(due):3}  recall {recall:.2f}  runs with a wrong finding {wrong}"
            f"  costs right {costs} of {len(named)}"
        )
        is_good &= recall >= 0.98 and wrong == 0 and costs == len(named)
    return lines, is_good


def main(arguments: Sequence[str] = ()) -> int:
    """Print each case that is not as it should be, and the summary. Exit code 1 if there is one."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--healthy", type=int, default=50)
    parser.add_argument("--faults", default=",".join(FAULTS))
    parser.add_argument("--all", action="store_true", help="print every case")
    options = parser.parse_args(arguments)
    cases = [case(fault, seed) for fault in options.faults.split(",") if fault for seed in range(options.seeds)]
    cases += [healthy_case(seed) for seed in range(options.healthy)]
    outcomes = []
    with ProcessPoolExecutor(2) as pool:
        for one in pool.map(measure, cases):
            outcomes.append(one)
            if options.all or one.wrong or (one.is_due and not (one.rule and one.is_cost_right)):
                print(one.line(), flush=True)
    lines, is_good = summary(outcomes)
    print("\n".join(lines))
    return 0 if is_good else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
