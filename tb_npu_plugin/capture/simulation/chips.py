"""Chips: the figures that the device model computes with, from the table chips.csv.

A cell of the table is a number, its unit if it has one, and the key of its source. docs/capture.md explains the sources.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from decimal import Decimal

from tb_npu_plugin.csv_tables import read_table
from tb_npu_plugin.errors import BadFile

GB, GIB = 10**9, 1 << 30
_UNITS = {"GB": GB, "MiB": 1 << 20, "GiB": GIB}


@dataclass(frozen=True)
class Chip:
    """One chip, as one device of the profile."""

    name: str
    soc: str
    split: bool  # cores have a matrix or a vector unit; without, each has both, and profiles count one kind of core
    cube_cores: int  # with a matrix unit
    vector_cores: int  # with a vector unit
    clock: int  # MHz of the cores
    cube_macs: int  # FP16 multiply-adds of one matrix unit in a cycle; FP32 runs at a quarter of it
    vector_lanes: int  # FP16 results of one vector unit in a cycle; FP32 at half of it
    memory: int  # bytes
    bandwidth: int  # of the memory: bytes per second, reading and writing together
    cache: int  # bytes of the L2 cache
    cache_read: int  # bytes that each core moves in a cycle from the cache
    cache_write: int  # and to it
    hccs: int  # bytes per second of one link to a neighbour in one direction; 0: no such links
    hccs_ranks: int  # devices of one node that reach each other over such links; the others use PCIe
    sio: int  # bytes per second between the two dies of one package, in one direction; 0: one die
    rdma: int  # bytes per second of the network card, in one direction
    pcie: int  # bytes per second of PCIe, in one direction
    node: int  # devices in one server

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
        cycles = self.cube_cores * self.clock
        return cycles * self.cache_read * 1e6, cycles * self.cache_write * 1e6


def _read_chips() -> dict[str, Chip]:
    table = read_table(__file__, "chips.csv", dict[str, str])
    soc, split = table.pop("soc"), table.pop("split")

    def number(figure: str, *unit_and_source: str) -> int:
        return int(Decimal(figure) * _UNITS.get(unit_and_source[0], 1))

    out = {}
    for name in list(soc)[1:]:
        figures = {figure: number(*row[name].split()) for figure, row in table.items()}
        out[name] = Chip(name, soc[name], split[name] == "yes", **figures)
    return out


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
