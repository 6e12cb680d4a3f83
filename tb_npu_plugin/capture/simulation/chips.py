"""Chips: the figures that the device model computes with, from the table chips.csv.

A cell of the table is a number, its unit if it has one, and the key of its source. docs/capture.md explains the sources.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal

from tb_npu_plugin.capture.simulation.csv_tables import read_table
from tb_npu_plugin.errors import BadFile

GB, GIB = 10**9, 1 << 30
_UNITS = {"GB": GB, "MiB": 1 << 20, "GiB": GIB}


@dataclass(frozen=True)
class Chip:
    """One chip, as one device of the profile.

    cube_cores      cores with a matrix unit; vector_cores: with a vector unit. On chips that are not `split` each core
                    has both, and profiles count one kind of core
    clock           MHz of the cores
    memory          bytes; bandwidth: of that memory, bytes per second, reading and writing together
    cache           bytes of the L2 cache; cache_read, cache_write: bytes that each core moves in a cycle from and to it
    hccs            bytes per second of one link to a neighbour in one direction; 0: no such links
    hccs_ranks      devices of one node that reach each other over such links; the others use PCIe
    rdma, pcie      bytes per second of the network card and of PCIe, in one direction
    sio             bytes per second between the two dies of one package, in one direction; 0: one die
    node            devices in one server
    cube_macs       FP16 multiply-adds of one matrix unit in a cycle; FP32 runs at a quarter of it
    vector_lanes    FP16 results of one vector unit in a cycle; FP32 at half of it
    sources         figure -> key of its source
    """

    name: str
    soc: str
    split: bool
    cube_cores: int
    vector_cores: int
    clock: int
    cube_macs: int
    vector_lanes: int
    memory: int
    bandwidth: int
    cache: int
    cache_read: int
    cache_write: int
    hccs: int
    hccs_ranks: int
    sio: int
    rdma: int
    pcie: int
    node: int
    sources: Mapping[str, str] = field(compare=False, repr=False)

    @property
    def cube_flops(self) -> float:
        """Peak FP16 operations per second of the matrix units."""
        return 2.0 * self.cube_cores * self.cube_macs * self.clock * 1e6

    @property
    def vector_flops(self) -> float:
        """Peak FP16 operations per second of the vector units."""
        return float(self.vector_cores * self.vector_lanes * self.clock) * 1e6

    @property
    def cache_rates(self) -> tuple[float, float]:
        """Bytes per second from the L2 cache, and to it: rates are those of AI cores, which count as matrix units."""
        return (
            self.cube_cores * self.cache_read * self.clock * 1e6,
            self.cube_cores * self.cache_write * self.clock * 1e6,
        )


def _read_chips() -> dict[str, Chip]:
    table = read_table(__file__, "chips.csv", dict[str, str])
    soc, split = table.pop("soc"), table.pop("split")

    def number(figure: str, *unit_and_source: str) -> int:
        return int(Decimal(figure) * _UNITS.get(unit_and_source[0], 1))

    return {
        name: Chip(
            name,
            soc[name],
            split[name] == "yes",
            **{figure: number(*row[name].split()) for figure, row in table.items()},
            sources={figure: row[name].split()[-1] for figure, row in table.items()},
        )
        for name in list(soc)[1:]
    }


CHIPS = _read_chips()
DEFAULT_CHIP = "910B2"
#: Names the chip of the simulated device.
CHIP_VARIABLE = "TB_NPU_CHIP"


def chosen_chip() -> Chip:
    """That of TB_NPU_CHIP. Raises BadFile for an unknown one."""
    name = os.environ.get(CHIP_VARIABLE) or DEFAULT_CHIP
    if name not in CHIPS:
        raise BadFile(f"{CHIP_VARIABLE}: unknown chip {name!r}", f"Chips are: {', '.join(CHIPS)}.")
    return CHIPS[name]
