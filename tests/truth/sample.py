"""Runs with a fault of which only a part is recorded, so that any two settings meet, and healthy runs: `python -m tests.truth.sample`
judges them all by the table of evidence.py."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from random import Random
from typing import Any, Optional

from tb_npu_plugin.capture.models.catalog import Sizes
from tb_npu_plugin.capture.models.run import Recipe
from tb_npu_plugin.capture.writers.options import Options
from tb_npu_plugin.schema.settings import STORED_METRICS
from tests.support.pairs import covering
from tests.truth.cases import LAYOUTS, STAGED, TRIGGERS, Drawn, Trigger, of_rank
from tests.truth.evidence import EVIDENCE, FORMATS, LEVELS, RECORDED, Expected, expected

#: Triggers of one rank that cases.py gives to all.
_OF_ONE = {
    "one slow host": Trigger("host_bound", of_rank("slow-host", 15, 20)),
    "one preempted": Trigger("core_binding", of_rank("preemption", 20, 40)),
}
_SETTINGS = {
    "recorded": RECORDED,
    "level": LEVELS,
    "export": FORMATS,
    "has_trace": (True, False),
    "bubble": ("written", "zero"),
}
#: Number of ranks of "many", by row; the larger, the longer it takes.
_MANY = (16, 16, 32, 16, 16, 64)
#: The batch of contention is chosen by the number of ranks (cases.py); many small buckets take a minute.
_MOST_RANKS = {"contention": 8, "small buckets": 8}
#: Samples of all pairs; recorded steps.
SEEDS, STEPS = 3, 2


@dataclass(frozen=True)
class Part:
    """A run of which a part is recorded.

    Attributes:
        name: Fault, and settings.
        fault: Trigger; "" if healthy.
        recipe, healthy: The run with and without the fault.
        roots: Ranks that cause the loss; empty if all ranks are alike.
        stages: Pipeline stages of these, from 1.
        link: Ends of the slow link.
        recorded: Ranks with a profile.
        expected: Cell of the table.
    """

    name: str
    fault: str
    recipe: Recipe
    healthy: Recipe
    roots: frozenset[int]
    stages: frozenset[int]
    link: Optional[tuple[int, int]]
    recorded: tuple[int, ...]
    expected: Expected

    @property
    def accepted(self) -> frozenset[int]:
        """Ranks that may be named: the roots, and where they have several groups those between them and the recorded ones. In a
        pipeline an unrecorded rank is awaited without a fault, too."""
        is_between = not self.roots & {*self.recorded} and (self.recipe.pp > 1 or (self.roots and self.recipe.tp > 1))
        return self.roots | ({*range(self.recipe.ranks)} - {*self.recorded} if is_between else frozenset())


def trigger_of(fault: str) -> Trigger:
    """The trigger of a fault of the table."""
    return _OF_ONE.get(fault) or TRIGGERS[fault]


def part_of(row: dict[str, Any], number: int) -> Part:
    """The run of a row: fault, ranks (a number, or "many"), and a value for each of the settings."""
    trigger, draw = trigger_of(row["fault"]), Random(f"{row} {number}")
    ranks = _MANY[number % len(_MANY)] if row["ranks"] == "many" else row["ranks"]
    base = recipe_of(
        min(ranks, _MOST_RANKS.get(row["fault"], ranks)), draw, row, trigger.with_stages or row["bubble"] == "zero"
    )
    drawn = trigger.draw(draw, base)
    roots, stages, link = _roots(drawn)
    root = min(roots) if roots else draw.randrange(drawn.recipe.ranks)
    recorded = _recorded(row["recorded"], drawn.recipe, roots or {root}, root, draw)
    settings = (row[key] for key in ("fault", "recorded", "has_trace", "export", "level", "bubble"))
    cell = expected(*settings, base.ranks, drawn.recipe.pp)
    words = (row["fault"], f"{base.ranks} ranks", row["recorded"], f"L{row['level']}", row["export"])
    name = ", ".join((*words, "trace" if row["has_trace"] else "no trace", f"bubble {row['bubble']}"))
    only = recorded if len(recorded) < base.ranks else ()
    faulty, healthy = (replace(one, only=only) for one in (drawn.recipe, drawn.healthy))
    return Part(name, row["fault"], faulty, healthy, roots, stages, link, recorded, cell)


def recipe_of(ranks: int, draw: Random, row: dict[str, Any], with_stages: bool = False) -> Recipe:
    """A healthy run with the settings of a row."""
    tp, pp = draw.choice((STAGED if with_stages else LAYOUTS)[ranks])
    options = Options(
        level=row["level"],
        metrics=STORED_METRICS["PipeUtilization" if row["level"] else "AiCoreNone"],
        memory=False,
        stack=False,
        export=(row["export"],),
        gc_threshold=0.0,
        batches=row["bubble"] == "zero",
    )
    missing = {"text": "trace", "db": "database"}[row["export"]]
    without = () if row["has_trace"] else (missing,)
    sizes = Sizes(layers=2 * pp, micro=2 * pp if pp > 1 else 1, hidden=4096, sequence=4096)
    return Recipe("tiny", ranks, tp, pp, STEPS, seed=draw.randrange(100), sizes=sizes, options=options, without=without)


def _roots(drawn: Drawn) -> tuple[frozenset[int], frozenset[int], Optional[tuple[int, int]]]:
    """(ranks, stages, link) that cause the loss. The first stage takes layers of the others."""
    if len(drawn.recipe.faults) > 1:  # the same of each rank
        return frozenset(), frozenset(), None
    word, *rest = (*drawn.recipe.faults, "")[0].split(":")
    size = drawn.recipe.ranks // drawn.recipe.pp
    if word == "slow-link":
        one, other = map(int, rest[0].split("-"))
        is_inside = drawn.recipe.pp > 1 and one // size == other // size  # slows the stage
        return frozenset((one, other)), frozenset((one // size + 1,) if is_inside else ()), (one, other)
    if word == "uneven-stages":
        return frozenset(range(size)), frozenset((1,)), None
    return drawn.ranks, frozenset(rank // size + 1 for rank in drawn.ranks), None


def _recorded(how: str, recipe: Recipe, roots: frozenset[int] | set[int], root: int, draw: Random) -> tuple[int, ...]:
    ranks = range(recipe.ranks)
    others = [rank for rank in ranks if rank not in roots] or [rank for rank in ranks if rank != root]
    if how == "all":
        return tuple(ranks)
    if how == "one+" or (how == "some+" and recipe.ranks == 2):
        return (root,)
    if how == "one-" or recipe.ranks == 2:
        return (draw.choice(others),)
    if how == "some-":
        return tuple(sorted(draw.sample(others, max(2, min(len(others), recipe.ranks // 2)))))
    chosen = draw.sample(others[:-1], recipe.ranks // 2 - 1)  # the last rank is of another stage
    return tuple(sorted({root, others[-1], *chosen[: recipe.ranks - 3]}))


def small() -> list[Part]:
    """The sample of each commit: each fault once with 2 or 4 ranks, and any two of the other settings."""
    rows, faults = covering(_SETTINGS), list(EVIDENCE)
    out = []
    for number in range(max(len(rows), len(faults))):
        row = {**rows[number % len(rows)], "fault": faults[number % len(faults)], "ranks": (2, 4)[number % 2]}
        out.append(part_of(row, number))
    return out


def whole(first_seed: int = 0) -> list[Part]:
    """Any two of all settings, faults and numbers of ranks; each pair SEEDS times beside others."""
    axes = {"fault": tuple(EVIDENCE), **_SETTINGS, "ranks": (2, 4, 8, "many")}
    rows = [row for seed in range(first_seed, first_seed + SEEDS) for row in covering(axes, seed)]
    return [part_of(row, number + 1_000 * first_seed) for number, row in enumerate(rows)]


def healthy(seed: int, level: int) -> Recipe:
    """A run without a fault: layout, format and batch are drawn. Large batches hide their transfers."""
    draw = Random(f"healthy {seed}")
    ranks = (2, 4, 8, 2, 4, 2, 8, 4, 2, 16)[seed % 10]
    row = {
        "level": level,
        "export": draw.choice(FORMATS),
        "has_trace": True,
        "bubble": draw.choice(("written", "zero")),
    }
    recipe = recipe_of(ranks, draw, row, with_stages=seed % 4 == 3)
    return replace(recipe, sizes=replace(recipe.sizes, batch=draw.choice((1, 8, 32))))


def main(arguments: Sequence[str] = ()) -> int:
    """Print each case that is not as the table says, precision and recall. Exit code 1 if there is one."""
    from tests.truth.judge import healthy_problems, judged

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--small", action="store_true", help="the sample of each commit")
    parser.add_argument("--healthy", type=int, default=0, help="seeds without a fault, instead")
    parser.add_argument(
        "--seed", type=int, default=0, help="first seed of the whole sample: other cases than those of the tests"
    )
    parser.add_argument("--only", default="", help="cases whose name contains this")
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--last", type=int, default=10**6)
    options = parser.parse_args(arguments)
    failed = count = 0
    if options.healthy:
        for seed in range(options.first, options.healthy):
            for level in LEVELS:
                problems = healthy_problems(seed, level)
                count, failed = count + 1, failed + bool(problems)
                print(f"healthy {seed} L{level}: {'; '.join(problems) or 'ok'}", flush=True)
    for number, one in enumerate([] if options.healthy else small() if options.small else whole(options.seed)):
        if options.only in one.name and options.first <= number < options.last:
            found = judged(one)
            count, failed = count + 1, failed + bool(found.problems)
            print(f"{number}: {found.line()}", flush=True)
    print(f"{count - failed} of {count} as expected")
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
