"""Which ranks reach each other over which link, and how fast."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tb_npu_plugin.capture.simulation.chips import Chip

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
        """Which server a rank is in."""
        return rank // self._chip.node

    def move_ns(self, one: int, other: int, size: int, reduce: bool) -> int:
        """Mean ns of one transfer of `size` bytes."""
        if not size:
            return 0
        link = self.link(one, other)
        chip = self._chip
        peak = {"SIO": chip.sio, "HCCS": chip.hccs, "PCIE": chip.pcie, "RDMA": chip.rdma}[link]
        half = HALF if link in ("SIO", "HCCS") else HALF // 4
        rate = peak / 1e9 * SHARE * size / (size + half) * (REDUCE_SHARE if reduce else 1.0) * _evenness(one, other)
        return int(size / rate * self._slow.get((min(one, other), max(one, other)), 1.0))

    def mesh_moves(self, members: Sequence[int], sizes: Sequence[int], reduce: bool) -> list[list[int]]:
        """`move_ns` of each member with the members behind it, in order around the group; sizes: by peer."""
        count = len(members)
        return [
            [
                self.move_ns(members[one], members[(one + plane) % count], sizes[(one + plane) % count], reduce)
                for plane in range(1, count)
            ]
            for one in range(count)
        ]

    def is_mesh(self, ranks: tuple[int, ...]) -> bool:
        """All members reach each other directly, and few enough that each has a plane for each other one."""
        links = {self.link(ranks[0], other) for other in ranks[1:]}
        return len(ranks) <= 16 and "RDMA" not in links and (links <= {"HCCS", "SIO"} or len(ranks) <= 8)


def _evenness(one: int, other: int) -> float:
    """Of a link: 1 give or take half of _UNEVEN, always the same for it."""
    return 1 + _UNEVEN * ((one * 40_503 + other * 30_011) % 1_009 / 1_008 - 0.5)
