"""Which rank does what: tensor, data and pipeline parallelism, and the communicators that follow from them.

Ranks are numbered as Megatron does: tensor parallel first, then data parallel, then pipeline stages.
"""

from __future__ import annotations

from dataclasses import dataclass

from tb_npu_plugin.errors import BadRequest


@dataclass(frozen=True)
class Communicator:
    """One communicator. key: identity; role: its group_name in parallel_group_info."""

    key: str
    role: str
    ranks: tuple[int, ...]


@dataclass(frozen=True)
class Layout:
    """world ranks = tp x dp x pp."""

    world: int
    tp: int = 1
    pp: int = 1

    def __post_init__(self) -> None:
        if min(self.world, self.tp, self.pp) < 1 or self.world % (self.tp * self.pp):
            raise BadRequest(
                f"{self.world} ranks cannot be split into tp {self.tp} x pp {self.pp}",
                "The number of ranks is a multiple of tp times pp.",
            )

    @property
    def dp(self) -> int:
        """Data parallel size."""
        return self.world // (self.tp * self.pp)

    def stage(self, rank: int) -> int:
        """Pipeline stage of a rank."""
        return rank // (self.tp * self.dp)

    def communicators(self, rank: int) -> dict[str, Communicator]:
        """Communicators of a rank by role: world, tp, dp, pp, and pp- / pp+ with the stages before and behind: two ranks of a
        larger group have a separate one, as torch_npu makes it."""
        tp, dp, whole = self.tp, self.dp, self.tp * self.dp
        stage, inside = divmod(rank, whole)
        out = {"world": Communicator("world", "default_group", tuple(range(self.world)))}
        if tp > 1:
            first = rank // tp * tp
            out["tp"] = _communicator("tp", tuple(range(first, first + tp)))
        if dp > 1:
            members = tuple(stage * whole + inside % tp + tp * number for number in range(dp))
            out["dp"] = out["world"] if members == out["world"].ranks else _communicator("dp", members)
        if self.pp > 2:
            out["pp"] = _communicator("pp", tuple(range(inside, self.world, whole)))
        between = "p2p" if self.pp > 2 else "pp"
        if stage > 0:
            out["pp-"] = _communicator(between, (rank - whole, rank))
        if stage < self.pp - 1:
            out["pp+"] = _communicator(between, (rank, rank + whole))
        return out

    def number(self, communicator: Communicator) -> int:
        """How many communicators the first member of a communicator has founded before it."""
        first = communicator.ranks[0]
        founded = dict.fromkeys(other for other in self.communicators(first).values() if other.ranks[0] == first)
        return list(founded).index(communicator)


def _communicator(role: str, ranks: tuple[int, ...]) -> Communicator:
    return Communicator(f"{role}:{','.join(map(str, ranks))}", role, ranks)
