"""Simulated runs that trigger a rule, drawn from a seed: for each rule of the registry one or more triggers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from random import Random
from typing import NamedTuple

from tb_npu_plugin.capture.models.catalog import Sizes
from tb_npu_plugin.capture.models.run import Recipe
from tb_npu_plugin.capture.writers.options import Options


class Drawn(NamedTuple):
    """A run that triggers a rule, and the same run without what triggers it. ranks: one of them must be named; empty: any."""

    recipe: Recipe
    healthy: Recipe
    ranks: frozenset[int] = frozenset()


@dataclass(frozen=True)
class Trigger:
    """What triggers a rule.

    Attributes:
        rule: Rule that must report it.
        draw: Makes the run from a random stream and a healthy run.
        quiet: Name of the trigger of another rule for which this rule must report nothing; "": a healthy run.
        others: Rules that may report it instead, or in addition: it has such effects.
        is_timeless: It takes no time of the step: the rule must report it, whatever it costs.
        most_ranks: Largest number of ranks.
        with_stages: The run has pipeline stages.
        without_fault: What triggers it where that is no fault of `tb-npu mock`.
    """

    rule: str
    draw: Callable[[Random, Recipe], Drawn]
    quiet: str = ""
    others: tuple[str, ...] = ()
    is_timeless: bool = False
    most_ranks: int = 8
    with_stages: bool = False
    without_fault: str = ""


@dataclass(frozen=True)
class Case:
    """A run drawn for a trigger, or a healthy one: trigger "" and no rule."""

    seed: int
    name: str
    drawn: Drawn

    @property
    def trigger(self) -> Trigger:
        """The trigger; KeyError for a healthy run."""
        return TRIGGERS[self.name]


#: (tensor parallel, pipeline parallel) by number of ranks.
LAYOUTS = {
    2: ((1, 1), (2, 1)),
    4: ((1, 1), (2, 1)),
    8: ((1, 1), (2, 1), (2, 2)),
    16: ((2, 2), (4, 1)),
    32: ((4, 2),),
    64: ((8, 2),),
}
#: The same for triggers that need pipeline stages.
STAGED = {2: ((1, 2),), 4: ((1, 2), (2, 2), (1, 4)), 8: ((2, 2), (1, 4)), 16: ((2, 2),), 32: ((4, 4),), 64: ((8, 4),)}
#: Number of ranks by seed; large runs take longest.
RANKS = (2, 4, 8, 2, 4, 2, 8, 4, 2, 4, 16, 2, 4, 8, 2, 4, 2, 8, 32, 64)


def healthy_recipe(seed: int, most_ranks: int = 64, with_stages: bool = False) -> Recipe:
    """A healthy run: layout, format and level are drawn. Stages have four micro batches each, which GPipe's paper calls
    enough for the bubble to be small."""
    draw = Random(f"healthy {seed}")
    ranks = min(RANKS[seed % len(RANKS)], most_ranks)
    tp, pp = draw.choice((STAGED if with_stages else LAYOUTS)[ranks])
    export = draw.choice((("text",), ("db",)))
    options = Options(memory=False, stack=False, gc_threshold=0.0, export=export, level=draw.choice((1, 1, 2)))
    sizes = Sizes(layers=2 * pp, micro=4 * pp if pp > 1 else 1, hidden=4096, sequence=4096)
    return Recipe("tiny", ranks, tp, pp, 2, seed=seed, sizes=sizes, options=options)


def healthy_case(seed: int) -> Case:
    """A healthy run."""
    recipe = healthy_recipe(seed)
    return Case(seed, "", Drawn(recipe, recipe))


def case(name: str, seed: int) -> Case:
    """A run with this trigger."""
    trigger = TRIGGERS[name]
    healthy = healthy_recipe(seed, trigger.most_ranks, trigger.with_stages)
    return Case(seed, name, trigger.draw(Random(f"{name} {seed}"), healthy))


def _with_faults(base: Recipe, *faults: str, ranks: frozenset[int] = frozenset()) -> Drawn:
    return Drawn(replace(base, faults=faults), base, ranks)


def _fault(*texts: str) -> Callable[[Random, Recipe], Drawn]:
    """One of these faults of the run."""
    return lambda draw, base: _with_faults(base, draw.choice(texts))


def of_rank(word: str, *figures: float) -> Callable[[Random, Recipe], Drawn]:
    """A fault of one rank, with one of these figures."""

    def make(draw: Random, base: Recipe) -> Drawn:
        rank = draw.randrange(base.ranks)
        return _with_faults(base, f"{word}:{rank}:{draw.choice(figures)}", ranks=frozenset((rank,)))

    return make


def _of_all(word: str, *figures: float) -> Callable[[Random, Recipe], Drawn]:
    """The same fault of each rank."""

    def make(draw: Random, base: Recipe) -> Drawn:
        figure = draw.choice(figures)
        return _with_faults(base, *(f"{word}:{rank}:{figure}" for rank in range(base.ranks)))

    return make


def _unprofiled(draw: Random, base: Recipe) -> Drawn:
    rank = draw.randrange(base.ranks)
    others = base.cluster().linked(rank)
    only = tuple(sorted(draw.sample(others, min(len(others), 3))))
    # one that waits for it in another group is late, too
    late = {rank, *(others if base.tp * base.pp > 1 else ())}
    healthy = replace(base, only=only)
    return _with_faults(healthy, f"gc-pause:{rank}:{draw.choice((20, 40))}", ranks=frozenset(late))


def _slow_link(draw: Random, base: Recipe) -> Drawn:
    rank = draw.randrange(base.ranks)
    other = draw.choice(base.cluster().linked(rank))
    return _with_faults(base, f"slow-link:{rank}-{other}:{draw.choice((4, 8))}")


def _data_parallel(draw: Random, base: Recipe) -> Recipe:
    """All ranks reduce gradients together."""
    return replace(base, tp=1, pp=1, sizes=replace(base.sizes, layers=4, micro=1))


def _of_gradients(*texts: str) -> Callable[[Random, Recipe], Drawn]:
    return lambda draw, base: _with_faults(_data_parallel(draw, base), draw.choice(texts))


def _contention(draw: Random, base: Recipe) -> Drawn:
    """Enough computing beside each bucket, which then takes a little longer than it."""
    base = _data_parallel(draw, base)
    batch, factor = {2: (4, 4.3), 4: (2, 4.6), 8: (2, 7.8)}[base.ranks]
    return _with_faults(replace(base, sizes=replace(base.sizes, batch=batch)), f"contention:{factor}")


def _retransmission(draw: Random, base: Recipe) -> Drawn:
    """RDMA joins servers of eight devices."""
    base = replace(_data_parallel(draw, base), ranks=16, only=(0, 1, 8, 9))
    return _with_faults(base, f"retransmission:{draw.choice((4200, 6000))}")


def _silent_pauses(draw: Random, base: Recipe) -> Drawn:
    """Collections that the profiler was not told to record."""
    return of_rank("gc-pause", 250, 400)(draw, replace(base, options=replace(base.options, gc_threshold=None)))


def _compiled(draw: Random, base: Recipe) -> Drawn:
    """Convolutions are compiled for each size of the images; with one warm size they are not."""
    base = replace(base, model="resnet50", tp=1, pp=1, sizes=Sizes(layers=4, batch=64))
    return _with_faults(base, "dynamic-shapes")


def _recorded(base: Recipe, steps: int, memory: bool = False) -> Recipe:
    return replace(base, steps=steps, options=replace(base.options, memory=memory))


def _with_memory(*texts: str) -> Callable[[Random, Recipe], Drawn]:
    return lambda draw, base: _with_faults(_recorded(base, 4, True), *((draw.choice(texts),) if texts else ()))


def _unfused_optimizer(draw: Random, base: Recipe) -> Drawn:
    return Drawn(replace(base, sizes=replace(base.sizes, fused=False)), base)


def _unfused(draw: Random, base: Recipe) -> Drawn:
    return _with_faults(_data_parallel(draw, base), "unfused")


def _unaligned_rows(draw: Random, base: Recipe) -> Drawn:
    """Few tokens, so that products wait for their weights, with rows that are no multiple of 256 bytes."""
    base = _data_parallel(draw, base)
    return Drawn(replace(base, sizes=replace(base.sizes, hidden=4160, sequence=64)), base)


def _single_step(draw: Random, base: Recipe) -> Drawn:
    return Drawn(_recorded(base, 1), base)


_LATE = ("straggler",)
#: By name. A rule without a line here fails test_truth_of_findings.py.
TRIGGERS: dict[str, Trigger] = {
    "slow rank": Trigger("straggler", of_rank("slow-rank", 1.2, 1.3, 1.5, 2.0), "casts", most_ranks=64),
    "unprofiled rank": Trigger("unprofiled_rank", _unprofiled, "slow rank", _LATE, most_ranks=64),
    "uneven stages": Trigger(
        "stage_imbalance", _fault("uneven-stages"), "few micro batches", ("bubble",), most_ranks=64, with_stages=True
    ),
    "few micro batches": Trigger(
        "bubble", _fault("few-micro-batches:1", "few-micro-batches:2"), "slow rank", most_ranks=64, with_stages=True
    ),
    "slow link": Trigger("slow_link", _slow_link, "small buckets", ("straggler",), most_ranks=64),
    "no overlap": Trigger("exposed_communication", _of_gradients("no-overlap"), "contention"),
    "small buckets": Trigger("small_packets", _of_gradients("small-buckets:0.5", "small-buckets:1"), "contention"),
    "contention": Trigger("contention", _contention, "slow link"),
    "retransmission": Trigger("retransmission", _retransmission, "contention"),
    "unaligned": Trigger("byte_alignment", _of_gradients("unaligned:2", "unaligned:3"), "contention"),
    "slow loader": Trigger("input_bound", of_rank("slow-loader", 10, 20, 40), "collections", _LATE, most_ranks=16),
    "collections": Trigger("garbage_collection", of_rank("gc-pause", 10, 20, 40), "slow loader", _LATE, most_ranks=16),
    "silent pauses": Trigger("conjectured_gc", _silent_pauses, "collections", _LATE),
    "synchronization": Trigger("sync_stream", _fault("sync-stream", "sync-stream:3"), "slow host"),
    "compilation": Trigger("operator_compile", _compiled, "slow allocator", ("capture_quality",), most_ranks=4),
    "slow allocator": Trigger("allocator", of_rank("slow-allocator", 20, 40), "slow host", _LATE),
    "preemption": Trigger("core_binding", _of_all("preemption", 20, 40), "slow host"),
    "slow host": Trigger("host_bound", _of_all("slow-host", 15, 20), "slow allocator"),
    "AI CPU": Trigger("ai_cpu", _fault("ai-cpu:4", "ai-cpu:8", "ai-cpu:16"), "casts"),
    "dynamic shapes": Trigger("dynamic_shapes", _with_memory("dynamic-shapes"), "leak", is_timeless=True),
    "casts": Trigger("format_conversions", _fault("casts:64", "casts:128"), "AI CPU"),
    "low clock": Trigger("frequency_drop", of_rank("low-clock", 1.2, 1.3, 1.5), "slow rank", _LATE),
    "stalls": Trigger("under_utilised", _fault("stalls:1.6", "stalls:2"), "few blocks"),
    "unaligned rows": Trigger(
        "memory_bound",
        _unaligned_rows,
        "stalls",
        ("host_bound",),
        is_timeless=True,
        without_fault="`--hidden 4160 --seq 64`",
    ),
    "FP32": Trigger("compute_bound", _fault("fp32"), "stalls", is_timeless=True),
    "few blocks": Trigger("block_dim", _fault("few-blocks:12", "few-blocks:16"), "stalls"),
    "unfused optimizer": Trigger(
        "optimizer", _unfused_optimizer, "unfused", without_fault="`Sizes(fused=False)` of a recipe"
    ),
    "unfused": Trigger("fusion", _unfused, "casts"),
    "fragmentation": Trigger("fragmentation", _with_memory("fragmentation"), "leak", is_timeless=True),
    "leak": Trigger("leak", _with_memory("memory-leak:256"), "fragmentation", is_timeless=True),
    "memory": Trigger("peak_holders", _with_memory(), "casts", is_timeless=True, without_fault="any run with memory"),
    "single step": Trigger("capture_quality", _single_step, "casts", is_timeless=True, without_fault="one step"),
}


def _recipe_of(name: str) -> str:
    """What triggers a rule, for people."""
    trigger = TRIGGERS[name]
    faults = {fault for seed in range(len(RANKS)) for fault in case(name, seed).drawn.recipe.faults}
    words = sorted({fault.partition(":")[0] for fault in faults})
    return trigger.without_fault or ", ".join(f"`--fault {word}`" for word in words)


def table() -> list[str]:
    """The table of docs/diagnosis.md: rule, what triggers it, what must not."""
    return [
        f"| `{one.rule}` | {name}: {_recipe_of(name)} | {one.quiet}: {_recipe_of(one.quiet)} |"
        for name, one in TRIGGERS.items()
    ]


if __name__ == "__main__":
    print("\n".join(table()))
