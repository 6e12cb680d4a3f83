"""Chips: what one device of each can do, from the table chips.csv. The mock device computes with these figures, and analyses take
them where a capture does not hold its own.

A cell of the table is a number, its unit if it has one, and the key of its source. docs/capture.md explains the sources.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import Optional

from tb_npu_plugin.csv_tables import read_table

_UNITS = {"GB": 10**9, "MiB": 1 << 20, "GiB": 1 << 30}


@dataclass(frozen=True)
class Chip:
    """One chip, as one device of the profile."""

    name: str
    soc: str
    names: tuple[
        str, ...
    ]  # beginnings of its device names in captures; of an "Ascend910B" without a number: the usual one
    split: bool  # cores have a matrix or a vector unit; without, each has both, and profiles count one kind of core
    cube_cores: int  # with a matrix unit
    vector_cores: int  # with a vector unit
    clock: int  # MHz of the cores
    cube_macs: (
        int  # FP16 or BF16 multiply-adds of one matrix unit in a cycle; FP32 runs at a quarter of it, INT8 at twice
    )
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
    soc, names, split = table.pop("soc"), table.pop("names"), table.pop("split")

    def number(figure: str, *unit_and_source: str) -> int:
        return int(Decimal(figure) * _UNITS.get(unit_and_source[0], 1))

    out = {}
    for name in list(soc)[1:]:
        figures = {figure: number(*row[name].split()) for figure, row in table.items()}
        out[name] = Chip(name, soc[name], tuple(names[name].split()), split[name] == "yes", **figures)
    return out


CHIPS = _read_chips()
#: Multiply-adds of a matrix unit in a cycle: equal on all chips, so known also of one that is not in the table.
(MACS_PER_CYCLE,) = {chip.cube_macs for chip in CHIPS.values()}


def bandwidth_of(cube_cores: Optional[int]) -> Optional[int]:
    """Bandwidth of the chips with so many matrix units; None if they differ in it, or none has so many."""
    found = {chip.bandwidth for chip in CHIPS.values() if chip.cube_cores == cube_cores}
    return found.pop() if len(found) == 1 else None


def chip_of(device_name: Optional[str]) -> Optional[Chip]:
    """The chip with the longest name that a device name of a capture, such as "Ascend910B2", begins with; None if unknown."""
    found = {name: chip for chip in CHIPS.values() for name in chip.names if (device_name or "").startswith(name)}
    return found[max(found, key=len)] if found else None
