"""What goes wrong in a simulated run, and the words for it on the command line.

Each fault leaves a known truth: the figures that were put in, so that an analysis can be held against them.
A new fault: an entry of FAULTS, a field of Faults, and what it does where the run is made (capture/models or beside this).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Optional, Union

from tb_npu_plugin.errors import BadRequest

Json = Union[str, int, float, list["Json"], dict[str, "Json"]]


@dataclass
class Faults:
    """Everything that goes wrong. Times in ns, sizes in bytes."""

    slow_ranks: dict[int, float] = field(default_factory=dict)
    slow_links: dict[tuple[int, int], float] = field(default_factory=dict)
    gc: dict[int, int] = field(default_factory=dict)
    loader: dict[int, int] = field(default_factory=dict)
    ai_cpu: int = 0
    leak: int = 0
    dynamic: bool = False
    fragmentation: bool = False
    slow_hosts: dict[int, float] = field(default_factory=dict)
    preempted: dict[int, int] = field(default_factory=dict)
    allocator: dict[int, int] = field(default_factory=dict)
    low_clocks: dict[int, float] = field(default_factory=dict)
    synchronizing: int = 0
    uneven_stages: int = 0
    micro_batches: int = 0
    without_overlap: bool = False
    bucket: int = 0
    contention: float = 1.0
    resend: int = 0
    unaligned: float = 1.0
    casts: int = 0
    unfused: bool = False
    fp32: bool = False
    stalls: float = 1.0
    blocks: int = 0

    def as_json(self) -> dict[str, Json]:
        """What was put in, by the words of the command line."""
        none = Faults()
        return {
            word: fault.as_json(value)
            for word, fault in FAULTS.items()
            if (value := getattr(self, fault.field)) != getattr(none, fault.field)
        }


@dataclass(frozen=True)
class Figure:
    """How bad a fault is: `what` may stand on the command line, from `low` to `high`; kept `scale` times as a whole number,
    or as it is (0), and reported as `key`."""

    default: float
    what: str
    key: str
    low: float
    high: float
    scale: int = 0

    def read(self, text: str | None) -> float:
        """The figure as it is kept. Raises ValueError for what is no number, BadRequest for one out of range."""
        number = self.default if text is None else float(text)
        if not self.low <= number <= self.high:  # nor is NaN
            raise BadRequest(f"{text} is no {self.what} of a fault", f"It is from {self.low:g} to {self.high:g}.")
        return int(number * self.scale) if self.scale else number


def _factor(default: float) -> Figure:
    return Figure(default, "factor", "factor", 0.01, 1000)


def _ms(default: float) -> Figure:
    return Figure(default, "number of ms", "ns", 0.001, 3_600_000, 1_000_000)


def _count(default: float, key: str) -> Figure:
    return Figure(default, "number", key, 1, 1000, 1)


def _mb(default: float, key: str) -> Figure:
    return Figure(default, "number of MB", key, 0.001, 1 << 20, 1 << 20)


@dataclass(frozen=True)
class Fault:
    """One fault. field: of Faults; usage: what may follow the word; help: for people; of: what it strikes, named first;
    figure: how bad it is (None: it is there or not); rank: the one that is struck where none is named; of_decoders: other
    models do not have it."""

    field: str
    usage: str
    help: str
    of: Literal["run", "rank", "link"] = "run"
    figure: Optional[Figure] = None
    rank: Optional[int] = None
    of_decoders: bool = False

    def put(self, faults: Faults, word: str, rest: Sequence[str], ranks: int) -> None:
        """Set the field. Raises ValueError for what is not written so, BadRequest for what is not there or given twice."""
        struck, figures = ("", rest) if self.of == "run" else (rest[0] if rest else "", rest[1:])
        if len(figures) > (0 if self.figure is None else 1):
            raise ValueError
        value = True if self.figure is None else self.figure.read(figures[0] if figures else None)
        known = getattr(faults, self.field)
        if self.of == "run":
            _new(known == getattr(Faults(), self.field), word)
            setattr(faults, self.field, value)
            return
        if self.of == "link":
            key: object = _link(struck, ranks)
        else:
            key = self.rank if not rest and self.rank is not None else _rank(struck, ranks)
        _new(key not in known, f"{word} of {key}")
        known[key] = value

    def as_json(self, value: Any) -> Json:
        """What `put` has set."""
        if self.figure is None:
            return {}
        if self.of == "run":
            return {self.figure.key: value}
        if self.of == "link":
            return [{"ranks": list(pair), self.figure.key: figure} for pair, figure in value.items()]
        return [{"rank": rank, self.figure.key: figure} for rank, figure in value.items()]


#: By the word of the command line. Numbers in brackets are defaults.
FAULTS: dict[str, Fault] = {
    "slow-rank": Fault(
        "slow_ranks", ":RANK[:FACTOR]", "kernels of one rank take FACTOR (1.5) times as long", "rank", _factor(1.5)
    ),
    "slow-link": Fault(
        "slow_links", ":A-B[:FACTOR]", "the link between two ranks is FACTOR (4) times slower", "link", _factor(4)
    ),
    "gc-pause": Fault(
        "gc",
        "[:RANK[:MS]]",
        "Python collects garbage for MS (120) in each step of a rank (0)",
        "rank",
        _ms(120),
        rank=0,
    ),
    "slow-loader": Fault(
        "loader", "[:RANK[:MS]]", "the data loader of a rank (0) takes MS (150) longer", "rank", _ms(150), rank=0
    ),
    "ai-cpu": Fault(
        "ai_cpu", "[:COUNT]", "COUNT (1) operators of each layer run on the AI CPU", figure=_count(1, "operators")
    ),
    "memory-leak": Fault("leak", "[:MB]", "each step keeps MB (64) more memory", figure=_mb(64, "bytes_per_step")),
    "dynamic-shapes": Fault("dynamic", "", "the length of the input changes from step to step"),
    "fragmentation": Fault("fragmentation", "", "small blocks that stay pin large segments of the allocator"),
    "slow-host": Fault(
        "slow_hosts", ":RANK[:FACTOR]", "the host of one rank takes FACTOR (20) times as long", "rank", _factor(20)
    ),
    "preemption": Fault(
        "preempted",
        ":RANK[:MS]",
        "the launching thread of one rank loses its core for MS (5) at some launches",
        "rank",
        _ms(5),
    ),
    "slow-allocator": Fault(
        "allocator", ":RANK[:MS]", "the host of one rank maps device memory for MS (20) in each step", "rank", _ms(20)
    ),
    "low-clock": Fault(
        "low_clocks", ":RANK[:FACTOR]", "the clock of one rank is FACTOR (1.25) times lower", "rank", _factor(1.25)
    ),
    "sync-stream": Fault(
        "synchronizing",
        "[:MS]",
        "the host waits for the device in each layer, and computes with what it reads for MS (1)",
        figure=_ms(1),
        of_decoders=True,
    ),
    "uneven-stages": Fault(
        "uneven_stages",
        "[:LAYERS]",
        "the first pipeline stage has LAYERS (1) layers of each other stage",
        figure=_count(1, "layers"),
        of_decoders=True,
    ),
    "few-micro-batches": Fault(
        "micro_batches",
        "[:COUNT]",
        "the batch of a step is cut into COUNT (1) micro batches",
        figure=_count(1, "micro_batches"),
        of_decoders=True,
    ),
    "no-overlap": Fault("without_overlap", "", "computing stops while gradients are reduced", of_decoders=True),
    "small-buckets": Fault(
        "bucket",
        "[:MB]",
        "gradients are reduced in buckets of MB (1) at least",
        figure=_mb(1, "bytes"),
        of_decoders=True,
    ),
    "contention": Fault(
        "contention",
        "[:FACTOR]",
        "gradients that are reduced beside computing move FACTOR (3) times slower",
        figure=_factor(3),
        of_decoders=True,
    ),
    "retransmission": Fault(
        "resend",
        "[:MS]",
        "RDMA sends the first gradients of each step again after MS (4200)",
        figure=_ms(4200),
        of_decoders=True,
    ),
    "unaligned": Fault(
        "unaligned",
        "[:FACTOR]",
        "gradients are reduced in shards that are no multiples of 512 bytes, FACTOR (2) times slower",
        figure=_factor(2),
        of_decoders=True,
    ),
    "casts": Fault(
        "casts",
        "[:COUNT]",
        "COUNT (4) casts of activations in each layer",
        figure=_count(4, "casts"),
        of_decoders=True,
    ),
    "unfused": Fault(
        "unfused", "", "attention's forward pass is one kernel for each term of its formula", of_decoders=True
    ),
    "fp32": Fault("fp32", "", "matrix products compute in FP32", of_decoders=True),
    "stalls": Fault(
        "stalls",
        "[:FACTOR]",
        "matrix products take FACTOR (2) times as long, and no unit is busy for most of it",
        figure=_factor(2),
        of_decoders=True,
    ),
    "few-blocks": Fault(
        "blocks",
        "[:BLOCKS]",
        "matrix products run in BLOCKS (13) blocks at most",
        figure=_count(13, "blocks"),
        of_decoders=True,
    ),
}


def usages() -> list[str]:
    """A line for people of each fault: how it is written and what it does."""
    return [f"{word + fault.usage:<29} {fault.help}" for word, fault in FAULTS.items()]


def parse_faults(texts: Sequence[str], ranks: int) -> Faults:
    """Faults from the command line. Raises BadRequest for what is none, and for ranks that are not there."""
    faults = Faults()
    for text in texts:
        word, *rest = text.split(":")
        if word not in FAULTS:
            raise BadRequest(f"{word!r} is no fault", f"Faults are: {', '.join(FAULTS)}.")
        try:
            FAULTS[word].put(faults, word, rest, ranks)
        except ValueError:
            raise BadRequest(f"{text!r} is not understood", f"It is written {word}{FAULTS[word].usage}.") from None
    return faults


def _new(is_new: bool, what: str) -> None:
    if not is_new:
        raise BadRequest(f"{what} is given twice", "Give each fault once.")


def _link(text: str, ranks: int) -> tuple[int, int]:
    one, other = sorted(_rank(part, ranks) for part in text.split("-"))
    if one == other:
        raise BadRequest(f"there is no link between rank {one} and itself", "Give two ranks.")
    return one, other


def _rank(text: str, ranks: int) -> int:
    rank = int(text)
    if not 0 <= rank < ranks:
        raise BadRequest(f"there is no rank {rank}", f"The run has {ranks} ranks, from 0.")
    return rank
