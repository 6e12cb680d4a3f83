"""What goes wrong in a simulated run, and the words for it on the command line.

Each fault leaves a known truth: the figures that were put in, so that an analysis can be held against them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Union

from tb_npu_plugin.errors import BadRequest

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
    if word == "slow-rank":
        faults.slow_ranks[_rank(rest[0], ranks)] = float(rest[1]) if len(rest) > 1 else 1.5
    elif word == "slow-link":
        one, other = (_rank(part, ranks) for part in rest[0].split("-"))
        faults.slow_links[min(one, other), max(one, other)] = float(rest[1]) if len(rest) > 1 else 4.0
    elif word in ("gc-pause", "slow-loader"):
        rank, default = _rank(rest[0], ranks) if rest else 0, 120 if word == "gc-pause" else 150
        ns = int(float(rest[1] if len(rest) > 1 else default) * 1_000_000)
        (faults.gc if word == "gc-pause" else faults.loader)[rank] = ns
    elif word == "memory-leak":
        faults.leak = int(float(rest[0] if rest else 64) * (1 << 20))
    else:
        faults.ai_cpu |= word == "ai-cpu"
        faults.dynamic |= word == "dynamic-shapes"
        faults.fragmentation |= word == "fragmentation"


def _rank(text: str, ranks: int) -> int:
    rank = int(text)
    if not 0 <= rank < ranks:
        raise BadRequest(f"there is no rank {rank}", f"The run has {ranks} ranks, from 0.")
    return rank
