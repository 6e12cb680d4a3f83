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
    ai_cpu: bool = False
    leak: int = 0
    dynamic: bool = False
    fragmentation: bool = False

    def as_json(self) -> dict[str, Json]:
        """What was put in, by the words of the command line."""
        return {word: fault.as_json(value) for word, fault in FAULTS.items() if (value := getattr(self, fault.field))}


@dataclass(frozen=True)
class Figure:
    """How bad a fault is: `what` may stand on the command line, from `low` to `high`; kept `scale` times as a whole number,
    or as it is (0), and told as `key`."""

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


@dataclass(frozen=True)
class Fault:
    """One fault. field: of Faults; usage: what may follow the word; help: for people; of: what it strikes, named first;
    figure: how bad it is (None: it is there or not); rank: the one that is struck where none is named."""

    field: str
    usage: str
    help: str
    of: Literal["run", "rank", "link"] = "run"
    figure: Optional[Figure] = None
    rank: Optional[int] = None

    def put(self, faults: Faults, word: str, rest: Sequence[str], ranks: int) -> None:
        """Set the field. Raises ValueError for what is not written so, BadRequest for what is not there or given twice."""
        struck, figures = ("", rest) if self.of == "run" else (rest[0] if rest else "", rest[1:])
        if len(figures) > (0 if self.figure is None else 1):
            raise ValueError
        value = True if self.figure is None else self.figure.read(figures[0] if figures else None)
        known = getattr(faults, self.field)
        if self.of == "run":
            _new(not known, word)
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
    "ai-cpu": Fault("ai_cpu", "", "an operator of each layer runs on the AI CPU"),
    "memory-leak": Fault(
        "leak",
        "[:MB]",
        "each step keeps MB (64) more memory",
        figure=Figure(64, "number of MB", "bytes_per_step", 0.001, 1 << 20, 1 << 20),
    ),
    "dynamic-shapes": Fault("dynamic", "", "the length of the input changes from step to step"),
    "fragmentation": Fault("fragmentation", "", "small blocks that stay pin large segments of the allocator"),
}


def usages() -> list[str]:
    """A line for people of each fault: how it is written and what it does."""
    return [f"{word + fault.usage:<27} {fault.help}" for word, fault in FAULTS.items()]


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
