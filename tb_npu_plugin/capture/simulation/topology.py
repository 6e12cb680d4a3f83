"""Which rank does what and which ranks reach each other: tensor, data and pipeline parallelism, the communicators that follow from
them, and the links between ranks. Ranks are numbered as Megatron does: tensor parallel first, then data parallel, then pipeline stages."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from tb_npu_plugin.errors import BadRequest
from tb_npu_plugin.schema.chips import Chip

#: Share of a link's peak that transfers reach, and bytes at which half of that share is reached: a few us for nothing.
#: The public sample of a real 910B shows 15.5 GB/s for 1.2 MB, 14.7 for 8.4 MB and 20 for 19 MB on links of 28 GB/s.
SHARE, HALF = 0.6, 100_000
#: Reducing while moving is slower (the same sample: 11.4 GB/s where plain moves reach 14.7, 15 where they reach 16.4).
REDUCE_SHARE = 0.78
#: By how much links of one kind differ (the same sample: 16.9 to 17.6 GB/s for one operator over the links of one rank).
_UNEVEN = 0.04


class Topology:
    """Ranks in order on nodes of the chip's size. `slow`: a pair of ranks -> by what their link is slower."""

    def __init__(self, chip: Chip, slow: Mapping[tuple[int, int], float] | None = None) -> None:
        self._chip = chip
        self._slow = {tuple(sorted(pair)): factor for pair, factor in (slow or {}).items()}

    def link(self, one: int, other: int) -> str:
        """Transport between two ranks: SIO, HCCS, PCIE or RDMA."""
        chip = self._chip
        if chip.sio and one // 2 == other // 2:
            return "SIO"
        if chip.hccs and one // chip.hccs_ranks == other // chip.hccs_ranks:
            return "HCCS"
        return "PCIE" if one // chip.node == other // chip.node else "RDMA"

    def server(self, rank: int) -> int:
        return rank // self._chip.node

    def move_ns(self, one: int, other: int, size: int, reduce: bool) -> int:
        """Mean ns of one transfer of `size` bytes."""
        if not size:
            return 0
        link = self.link(one, other)
        chip = self._chip
        peak = {"SIO": chip.sio, "HCCS": chip.hccs, "PCIE": chip.pcie, "RDMA": chip.rdma}[link]
        half = HALF if link in ("SIO", "HCCS") else HALF // 4
        evenness = 1 + _UNEVEN * ((one * 40_503 + other * 30_011) % 1_009 / 1_008 - 0.5)  # always the same for a link
        rate = peak / 1e9 * SHARE * size / (size + half) * (REDUCE_SHARE if reduce else 1.0) * evenness
        return int(size / rate * self._slow.get((min(one, other), max(one, other)), 1.0))

    def is_mesh(self, ranks: tuple[int, ...]) -> bool:
        """All members reach each other directly, and few enough that each has a plane for each other one."""
        links = {self.link(ranks[0], other) for other in ranks[1:]}
        return len(ranks) <= 16 and "RDMA" not in links and (links <= {"HCCS", "SIO"} or len(ranks) <= 8)


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
            what = f"{self.world} ranks cannot be split into tp {self.tp} x pp {self.pp}"
            raise BadRequest(what, "The number of ranks is a multiple of tp times pp.")

    @property
    def dp(self) -> int:
        return self.world // (self.tp * self.pp)

    def stage(self, rank: int) -> int:
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
