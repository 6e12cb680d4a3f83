"""Simulated runs with a known fault, drawn from a seed, and the rule that must find it."""

from __future__ import annotations

import random
from dataclasses import dataclass, replace

from tb_npu_plugin.capture.models.catalog import Sizes
from tb_npu_plugin.capture.models.run import Recipe
from tb_npu_plugin.capture.writers.dialect import Options


@dataclass(frozen=True)
class Case:
    """A run with one fault, or a healthy one.

    Attributes:
        fault: Name of the fault; "" for a healthy run.
        rules: Rules that may report it: the first that does counts.
        effects: Further rules that may report what the fault brings with it.
        ranks: Ranks of which one must be named; empty: any.
    """

    seed: int
    fault: str
    recipe: Recipe
    rules: tuple[str, ...] = ()
    effects: tuple[str, ...] = ()
    ranks: frozenset[int] = frozenset()

    @property
    def healthy(self) -> Recipe:
        """The same run without the fault."""
        return replace(self.recipe, faults=())


#: Fault -> rules that may report it, and rules that may report its effects.
FAULTS: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "slow-rank": (("straggler",), ()),
    "unprofiled-rank": (("unprofiled_rank", "straggler"), ()),
    "slow-link": (("slow_link",), ("straggler",)),
    "gc-pause": (("garbage_collection", "straggler"), ()),
    "slow-loader": (("straggler", "input_bound"), ()),
    "ai-cpu": (("ai_cpu",), ()),
    "memory-leak": (("leak",), ()),
    "fragmentation": (("fragmentation",), ()),
}
#: Faults that take no time of the step: their rule must name them, whatever they cost.
TIMELESS = ("memory-leak", "fragmentation")
#: (tensor parallel, pipeline parallel) by number of ranks.
LAYOUTS = {
    2: ((1, 1), (2, 1)),
    4: ((1, 1), (2, 1)),
    8: ((1, 1), (2, 1), (2, 2)),
    16: ((2, 2), (4, 1)),
    32: ((4, 2),),
    64: ((8, 2),),
}
#: Number of ranks by seed; large runs take longest.
RANKS = (2, 4, 8, 4, 8, 16, 4, 8, 2, 8, 4, 2, 8, 4, 8, 16, 4, 8, 32, 64)


def healthy_case(seed: int) -> Case:
    """A healthy run."""
    return Case(seed, "", _recipe(random.Random(f"healthy {seed}"), seed))


def case(fault: str, seed: int) -> Case:
    """A run with this fault."""
    draw = random.Random(f"{fault} {seed}")
    recipe = _recipe(draw, seed)
    rules, effects = FAULTS[fault]
    rank = draw.randrange(recipe.ranks)
    late = {rank}
    if fault == "slow-rank":
        text = f"slow-rank:{rank}:{draw.choice((1.2, 1.3, 1.5, 2.0))}"
    elif fault == "unprofiled-rank":
        text = f"gc-pause:{rank}:{draw.choice((10, 20, 40))}"
        others = recipe.cluster().linked(rank)
        recipe = replace(recipe, only=tuple(sorted(draw.sample(others, min(len(others), 3)))))
        late.update(others if recipe.tp * recipe.pp > 1 else ())  # one that waits for it in another group is late, too
    elif fault == "slow-link":
        other = draw.choice(recipe.cluster().linked(rank))
        text = f"slow-link:{rank}-{other}:{draw.choice((4, 8))}"
        late.clear()
    elif fault in ("gc-pause", "slow-loader"):
        text = f"{fault}:{rank}:{draw.choice((10, 20, 40))}"
    else:
        text = "memory-leak:256" if fault == "memory-leak" else fault
        late.clear()
        recipe = replace(recipe, steps=4, options=replace(recipe.options, memory=True))
    return Case(seed, fault, replace(recipe, faults=(text,)), rules, effects, frozenset(late))


def _recipe(draw: random.Random, seed: int) -> Recipe:
    ranks = RANKS[seed % len(RANKS)]
    tp, pp = draw.choice(LAYOUTS[ranks])
    export = draw.choice((("text",), ("db",)))
    options = Options(memory=False, stack=False, gc_threshold=0.0, export=export, level=draw.choice((1, 1, 2)))
    sizes = Sizes(layers=2 * pp, micro=pp, hidden=4096, sequence=1024)
    return Recipe("tiny", ranks, tp, pp, 2, seed=seed, sizes=sizes, options=options)
