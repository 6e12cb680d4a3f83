"""Diagnoses simulated runs with known faults and compares: `python -m tests.truth.measure --seeds 20`.

A rule is right if it names the fault and its rank; its cost is compared with the time that the step takes longer than in
the same run without the fault.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Optional

from tb_npu_plugin.analysis.findings.diagnose import Diagnosis, diagnose
from tb_npu_plugin.capture.models.run import Recipe, write_run
from tests.support.reading import open_spans
from tests.truth.cases import TRIGGERS, Case, case, healthy_case

#: A fault that costs less of the step may stay unnamed.
LEAST_SHARE = 0.05
#: An upper bound is at most this many times the truth; a measured cost is this close to it.
MOST_BOUND, CLOSE = 1.5, 0.1
#: Step times of two runs differ by as much although nothing else changes: the longest rank is another in each step. A bound
#: may be lower by this share of the step.
NOISE = 0.03
HEALTHY = "healthy"


@dataclass
class Outcome:
    """What the diagnosis says of a case. Times are ms per step.

    Attributes:
        lost: Longer than the same run without the fault.
        rule: The rule of the trigger, if it reports it.
        cost: Time at stake, less what the rule says of the run without the fault.
        right, wrong: Rules of findings above "low" that the fault explains, and that it does not.
        loud: Rules of findings above "low", and of those without a cost.
    """

    case: Case
    step: float
    lost: float
    rule: Optional[str] = None
    cost: float = 0.0
    kind: str = ""
    right: list[str] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)
    loud: set[str] = field(default_factory=set)

    @property
    def is_timeless(self) -> bool:
        """Whether the fault takes no time of the step."""
        return bool(self.case.name) and self.case.trigger.is_timeless

    @property
    def is_due(self) -> bool:
        """Whether the fault costs enough to be named."""
        return self.is_timeless or (bool(self.case.name) and self.lost >= LEAST_SHARE * self.step)

    @property
    def is_cost_right(self) -> bool:
        """Whether the cost of the finding is the truth, or bounds it."""
        if self.is_timeless:
            return self.cost == 0
        if self.kind == "measured":
            return abs(self.cost - self.lost) <= CLOSE * self.lost
        return self.lost - NOISE * self.step <= self.cost <= MOST_BOUND * self.lost + NOISE * self.step

    @property
    def is_right(self) -> bool:
        """Whether all of it is as it should be."""
        return not self.wrong and (not self.is_due or (self.rule is not None and self.is_cost_right))

    def line(self) -> str:
        """For people."""
        of = self.case.drawn.recipe
        layout = f"{of.ranks} ranks, tp {of.tp}, pp {of.pp}, {of.options.export[0]}, seed {self.case.seed}"
        found = f"{self.rule} {self.cost:.2f} ({self.kind})" if self.rule else "nothing"
        times = f"step {self.step:.2f} ms, lost {self.lost:.2f}"
        wrong = f"; wrong: {', '.join(self.wrong)}" if self.wrong else ""
        faults = " ".join(of.faults[:1])
        return f"{self.case.name or HEALTHY:17} {faults} {layout}: {times}, found {found}{wrong}"


def measure(one: Case) -> Outcome:
    """Diagnose the run of a case, with and without the fault."""
    found, drawn = diagnose_recipe(one.drawn.recipe), one.drawn
    step, lost, before = found.step_ns / 1e6, 0.0, 0
    if one.name and not one.trigger.is_timeless:
        healthy = diagnose_recipe(drawn.healthy)
        lost = step - healthy.step_ns / 1e6
        before = max((other.cost_ns for other in healthy.findings if other.rule == one.trigger.rule), default=0)
    outcome = Outcome(one, step, lost)
    for finding in found.findings:
        rule, rank = finding.rule, finding.subject.rank
        if found.severity(finding) != "low" or not finding.cost_ns:
            outcome.loud.add(rule)
        is_it = bool(one.name) and rule == one.trigger.rule and (not drawn.ranks or rank in drawn.ranks)
        if is_it and outcome.rule is None:
            outcome.rule, outcome.cost, outcome.kind = rule, (finding.cost_ns - before) / 1e6, finding.cost_kind
        if found.severity(finding) == "low":
            continue
        if is_it or (one.name and rule in one.trigger.others):
            outcome.right.append(rule)
        elif not finding.causes:
            outcome.wrong.append(f"{rule} {finding.cost_ns / 1e6:.2f} {finding.message}")
    return outcome


@lru_cache(maxsize=16)
def _diagnosed(recipe: str) -> Diagnosis:
    folder = Path(tempfile.mkdtemp(prefix="truth"))
    try:
        write_run(_RECIPES.pop(recipe), folder / "run", jobs=1)
        return diagnose(open_spans(folder / "run", folder))
    finally:
        shutil.rmtree(folder, ignore_errors=True)


#: Recipes by their text: they cannot be keys.
_RECIPES: dict[str, Recipe] = {}


def diagnose_recipe(recipe: Recipe) -> Diagnosis:
    """The diagnosis of a run, which many cases share if it is healthy."""
    _RECIPES[str(recipe)] = recipe
    return _diagnosed(str(recipe))


def summary(outcomes: Sequence[Outcome]) -> tuple[list[str], bool]:
    """Precision and recall by rule, and whether both hold."""
    right, wrong = Counter[str](), Counter[str]()
    for one in outcomes:
        right.update(one.right)
        wrong.update(text.partition(" ")[0] for text in one.wrong)
    lines = [f"{'trigger':17} {'rule':22} runs  due  recall  costs right  precision  quiet"]
    is_good = True
    for name, trigger in TRIGGERS.items():
        found = [one for one in outcomes if one.case.name == name]
        if not found:
            continue
        due = [one for one in found if one.is_due]
        named = [one for one in due if one.rule]
        costs = sum(one.is_cost_right for one in named)
        recall = len(named) / len(due) if due else 1.0
        count = right[trigger.rule] + wrong[trigger.rule]
        precision = right[trigger.rule] / count if count else 1.0
        quiet = [one for one in outcomes if one.case.name == trigger.quiet]
        loud = sum(trigger.rule in one.loud for one in quiet)
        lines.append(
            f"{name:17} {trigger.rule:22} {len(found):4} {len(due):4}  {recall:6.2f}  {costs:6} of {len(named):2}"
            f"  {precision:9.2f}  {len(quiet) - loud} of {len(quiet)}"
        )
        is_good &= recall >= 0.98 and precision == 1 and costs == len(named) and not loud
    healthy = [one for one in outcomes if not one.case.name]
    calm = sum(not one.wrong for one in healthy)
    lines.append(f"{HEALTHY:17} without a finding above low: {calm} of {len(healthy)}")
    return lines, is_good and calm == len(healthy) and not wrong


def _cases(names: Sequence[str], seeds: Iterable[int], healthy: int) -> list[Case]:
    """By seed, so that cases share their healthy run."""
    out = []
    for seed in seeds:
        out += [case(name, seed) for name in names]
    return out + [healthy_case(seed) for seed in range(healthy)]


def main(arguments: Sequence[str] = ()) -> int:
    """Print each case that is not as it should be, and the summary. Exit code 1 if there is one."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--healthy", type=int, default=50)
    parser.add_argument("--triggers", default=",".join(TRIGGERS))
    parser.add_argument("--all", action="store_true", help="print every case")
    options = parser.parse_args(arguments)
    names = [name for name in options.triggers.split(",") if name]
    outcomes = []
    with ProcessPoolExecutor(2) as pool:
        cases = _cases(names, range(options.first, options.first + options.seeds), options.healthy)
        for one in pool.map(measure, cases, chunksize=8):
            outcomes.append(one)
            if options.all or not one.is_right:
                print(one.line(), flush=True)
    lines, is_good = summary(outcomes)
    print("\n".join(lines))
    return 0 if is_good else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
