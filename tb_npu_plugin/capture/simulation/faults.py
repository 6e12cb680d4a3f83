"""What goes wrong in a simulated run, and the words for it on the command line.

Each fault leaves a known truth: the figures that were put in, so that an analysis can be held against them.
A new fault: a row of faults.csv, a field of Faults, and what it does where the run is made (capture/models or beside this).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Optional, Union, cast

from tb_npu_plugin.csv_tables import read_table
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
        found, none = vars(self), vars(Faults())
        put = {word: fault for word, fault in FAULTS.items() if found[fault.field] != none[fault.field]}
        return {word: fault.as_json(found[fault.field]) for word, fault in put.items()}


#: What the figure of a fault counts, the least and the most, and its factor to a whole number (0: it stays as it is).
_UNITS = {
    "factor": ("factor", 0.01, 1000.0, 0),
    "ms": ("number of ms", 0.001, 3_600_000.0, 1_000_000),
    "count": ("number", 1.0, 1000.0, 1),
    "MB": ("number of MB", 0.001, 1024.0 * 1024, 1 << 20),
}


@dataclass(frozen=True)
class Fault:
    """A row of faults.csv."""

    field: str  # of Faults
    strikes: str  # the "run", or a "rank" or "link", which is named first
    help: str  # what the fault does
    default_rank: Optional[int] = None  # that is struck where none is named
    unit: str = ""  # of its figure; without one it has none
    default: Union[int, float] = 0  # how bad it is
    reported_as: str = ""  # key of the figure in truth.json
    only_decoders: bool = False  # other models do not have it
    usage: str = ""  # what may follow the word

    def put(self, faults: Faults, word: str, rest: Sequence[str], ranks: int) -> None:
        """Set the field. Raises ValueError for a wrong form, BadRequest for an unknown rank, a figure out of range or a fault
        that is given twice."""
        struck, figures = ("", rest) if self.strikes == "run" else (rest[0] if rest else "", rest[1:])
        if len(figures) > (1 if self.unit else 0):
            raise ValueError
        value: float = True
        if self.unit:
            name, low, high, scale = _UNITS[self.unit]
            number = float(figures[0]) if figures else self.default
            if not low <= number <= high:  # nor is NaN
                raise BadRequest(f"{number:g} is no {name} of a fault", f"It is from {low:g} to {high:g}.")
            value = int(number * scale) if scale else number
        known, what, key = getattr(faults, self.field), word, cast(Any, self.default_rank)
        if self.strikes == "run":
            is_new = known == getattr(Faults(), self.field)
        else:
            if self.strikes == "link":
                one, other = sorted(_rank(part, ranks) for part in struck.split("-"))
                if one == other:
                    raise BadRequest(f"there is no link between rank {one} and itself", "Give two ranks.")
                key = one, other
            elif rest or key is None:
                key = _rank(struck, ranks)
            is_new, what = key not in known, f"{word} of {key}"
        if not is_new:
            raise BadRequest(f"{what} is given twice", "Give each fault once.")
        setattr(faults, self.field, value if self.strikes == "run" else {**known, key: value})

    def as_json(self, value: Any) -> Json:
        """What `put` has set."""
        if not self.unit:
            return {}
        if self.strikes == "run":
            return {self.reported_as: value}
        if self.strikes == "rank":
            return [{"rank": rank, self.reported_as: one} for rank, one in value.items()]
        return [{"ranks": list(ranks), self.reported_as: one} for ranks, one in value.items()]


#: By the word of the command line.
FAULTS = read_table(__file__, "faults.csv", Fault)


def parse_faults(texts: Sequence[str], ranks: int) -> Faults:
    """Faults from the command line. Raises BadRequest for an unknown fault or rank."""
    faults = Faults()
    for text in texts:
        word, *rest = text.split(":")
        if word not in FAULTS:
            raise BadRequest(f"Unknown fault {word!r}", f"Faults are: {', '.join(FAULTS)}.")
        try:
            FAULTS[word].put(faults, word, rest, ranks)
        except ValueError:
            raise BadRequest(f"{text!r} is not understood", f"It is written {word}{FAULTS[word].usage}.") from None
    return faults


def _rank(text: str, ranks: int) -> int:
    rank = int(text)
    if not 0 <= rank < ranks:
        raise BadRequest(f"there is no rank {rank}", f"The run has {ranks} ranks, from 0.")
    return rank
