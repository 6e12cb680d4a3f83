"""What goes wrong in a simulated run, and the words for it on the command line.

Each fault leaves a known truth: the figures that were put in, so that an analysis can be held against them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TypeVar, Union

from tb_npu_plugin.errors import BadRequest

Key = TypeVar("Key")
Figure = TypeVar("Figure")
Json = Union[str, int, float, list["Json"], dict[str, "Json"]]
#: Word -> how it is written. Numbers in brackets are defaults.
FAULTS = {
    "slow-rank": "slow-rank:RANK[:FACTOR]     kernels of one rank take FACTOR (1.5) times as long",
    "slow-link": "slow-link:A-B[:FACTOR]      the link between two ranks is FACTOR (4) times slower",
    "gc-pause": "gc-pause[:RANK[:MS]]        Python collects garbage for MS (120) in each step of a rank (0)",
    "slow-loader": "slow-loader[:RANK[:MS]]     the data loader of a rank (0) takes MS (150) longer",
    "ai-cpu": "ai-cpu                      an operator of each layer runs on the AI CPU",
    "memory-leak": "memory-leak[:MB]            each step keeps MB (64) more memory",
    "dynamic-shapes": "dynamic-shapes              the length of the input changes from step to step",
    "fragmentation": "fragmentation               small blocks that stay pin large segments of the allocator",
}


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
        out: dict[str, Json] = {}
        if self.slow_ranks:
            out["slow-rank"] = [{"rank": rank, "factor": factor} for rank, factor in self.slow_ranks.items()]
        if self.slow_links:
            out["slow-link"] = [{"ranks": list(pair), "factor": factor} for pair, factor in self.slow_links.items()]
        for word, ranks in (("gc-pause", self.gc), ("slow-loader", self.loader)):
            if ranks:
                out[word] = [{"rank": rank, "ns": ns} for rank, ns in ranks.items()]
        if self.leak:
            out["memory-leak"] = {"bytes_per_step": self.leak}
        for word, on in (
            ("ai-cpu", self.ai_cpu),
            ("dynamic-shapes", self.dynamic),
            ("fragmentation", self.fragmentation),
        ):
            if on:
                out[word] = {}
        return out


def parse_faults(texts: Sequence[str], ranks: int) -> Faults:
    """Faults from the command line. Raises BadRequest for what is none, and for ranks that are not there."""
    faults = Faults()
    for text in texts:
        word, *rest = text.split(":")
        if word not in FAULTS:
            raise BadRequest(f"{word!r} is no fault", f"Faults are: {', '.join(FAULTS)}.")
        try:
            _set(faults, word, rest, ranks)
        except (ValueError, IndexError):
            raise BadRequest(f"{text!r} is not understood", f"It is written {FAULTS[word].split('  ')[0]}.") from None
    return faults


def _set(faults: Faults, word: str, rest: list[str], ranks: int) -> None:
    if len(rest) > _PARTS.get(word, 0):
        raise ValueError
    if word == "slow-rank":
        _once(faults.slow_ranks, word, _rank(rest[0], ranks), _number(rest[1:], 1.5, _FACTOR))
    elif word == "slow-link":
        one, other = sorted(_rank(part, ranks) for part in rest[0].split("-"))
        if one == other:
            raise BadRequest(f"there is no link between rank {one} and itself", "Give two ranks.")
        _once(faults.slow_links, word, (one, other), _number(rest[1:], 4, _FACTOR))
    elif word in ("gc-pause", "slow-loader"):
        times, default = (faults.gc, 120) if word == "gc-pause" else (faults.loader, 150)
        _once(times, word, _rank(rest[0], ranks) if rest else 0, int(_number(rest[1:], default, _MS) * 1_000_000))
    elif word == "memory-leak":
        _new(faults.leak == 0, word)
        faults.leak = int(_number(rest, 64, _MB) * (1 << 20))
    else:
        name = {"ai-cpu": "ai_cpu", "dynamic-shapes": "dynamic"}.get(word, word)
        _new(not getattr(faults, name), word)
        setattr(faults, name, True)


#: Most that may follow each word; the smallest and the largest figure, and what it counts.
_PARTS = {"slow-rank": 2, "slow-link": 2, "gc-pause": 2, "slow-loader": 2, "memory-leak": 1}
_FACTOR, _MS, _MB = (0.01, 1000.0, "factor"), (0.001, 3_600_000.0, "number of ms"), (0.001, 1_048_576.0, "number of MB")


def _number(rest: Sequence[str], default: float, allowed: tuple[float, float, str]) -> float:
    """The figure of a fault, or its default. Raises ValueError for what is no number."""
    low, high, what = allowed
    number = float(rest[0]) if rest else default
    if not low <= number <= high:  # nor is NaN
        raise BadRequest(f"{rest[0]} is no {what} of a fault", f"It is from {low:g} to {high:g}.")
    return number


def _once(known: dict[Key, Figure], word: str, key: Key, figure: Figure) -> None:
    _new(key not in known, f"{word} of {key}")
    known[key] = figure


def _new(is_new: bool, what: str) -> None:
    if not is_new:
        raise BadRequest(f"{what} is given twice", "Give each fault once.")


def _rank(text: str, ranks: int) -> int:
    rank = int(text)
    if not 0 <= rank < ranks:
        raise BadRequest(f"there is no rank {rank}", f"The run has {ranks} ranks, from 0.")
    return rank
