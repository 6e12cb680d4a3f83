"""Chips: the figures that the device model computes with, each with its source (Chip.sources, SOURCES)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace

GB, MIB, GIB = 10**9, 1 << 20, 1 << 30


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
    sources         figure -> key in SOURCES
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


#: The figures that have a source: all numbers.
FIGURES = tuple(one.name for one in fields(Chip) if one.type == "int")
#: Key -> where the figure can be looked up. "estimated" says from what, where nothing public was found.
SOURCES = {
    "ini": "CANN's own description of the chip, platform_config/<SoC version>.ini (in each installation of CANN, and at "
    "github.com/hicann/runtime, src/platform/platform_config/cann): ai_core_cnt, cube_core_cnt, vector_core_cnt, "
    "cube_freq, memory_size, l2_size, l2_read_rate, l2_write_rate, vec_calc_size, cube_m_size x cube_n_size x cube_k_size",
    "core": "the same file says that its cores are not split: each has a matrix and a vector unit (the 7 vector cores that "
    "a 310P has beside them are not simulated)",
    "hc31": "H. Liao et al., DaVinci: A Scalable Architecture for Neural Network Computing, Hot Chips 31 (2019): HBM2 of "
    "1.2 TB/s, three HCCS links of 240 Gb/s, RoCE v2 of 100 Gb/s, PCIe 4.0 x16, servers of 8 chips",
    "hami": "HAMi's table of Ascend devices (github.com/Project-HAMi/HAMi, charts/hami, device-config): memory 32768 MiB",
    "cce": "Huawei Cloud CCE, scheduling by HCCS affinity: of the eight chips of a server two groups of four are connected "
    "by HCCS, the groups by PCIe",
    "cm384": "Serving Large Language Models on Huawei CloudMatrix384 (arXiv 2506.12708), figures of a package halved for one "
    "of its two dies: HBM 3.2 TB/s, 14 links of 28 GB/s in one direction (392 GB/s), RDMA 400 Gb/s, 540 GB/s between the "
    "dies in both directions together, 8 packages a server, 384 in a super node (768 dies; 384 of them here)",
    "hbm": "estimated: that of one die of the 910C, which has as much memory (cm384)",
    "800IA2": "product data of the Atlas 800I A2 server, as public catalogues quote them: 8 chips of 32 GB, 800 GB/s of HBM "
    "each, HCCS full mesh of 392 GB/s, 200 GE of RoCE",
    "hccs": "Atlas 800T A2 and 800I A2 (as 800IA2): a full mesh of 8, 392 GB/s a chip over its 7 links in both directions "
    "together; moves of the public sample of a real 910B reach 17 to 20 GB/s on one link",
    "roce": "Atlas 800T A2: a port of 200 GE for each of 8 chips, as the hardware tables of public test reports have it",
    "pcie5": "estimated: PCIe 5.0 x16, less its coding",
    "300IPro": "product data of the Atlas 300I Pro card (one 310P): LPDDR4X of 204.8 GB/s, PCIe 4.0 x16; FP16 of 70 TFLOPS "
    "fits the clock and cores of ini",
    "25ge": "estimated: the network of its server, 25 GE; up to 8 cards",
    "none": "there is none",
}
_INI = dict.fromkeys(FIGURES, "ini")
_A2 = {
    **_INI,
    **dict.fromkeys(("hccs", "hccs_ranks", "node"), "hccs"),
    **{"bandwidth": "hbm", "sio": "none", "rdma": "roce", "pcie": "pcie5"},
}
_910A = Chip(
    "910A",
    "Ascend910A",
    split=False,
    cube_cores=32,
    vector_cores=32,
    clock=1000,
    cube_macs=4096,
    vector_lanes=128,
    memory=32 * GIB,
    bandwidth=1200 * GB,
    cache=32 * MIB,
    cache_read=110,
    cache_write=86,
    hccs=30 * GB,
    hccs_ranks=4,
    sio=0,
    rdma=12_500_000_000,
    pcie=31_500_000_000,
    node=8,
    sources={
        **_INI,
        **{"vector_cores": "core", "memory": "hami", "hccs_ranks": "cce", "sio": "none"},
        **dict.fromkeys(("bandwidth", "hccs", "rdma", "pcie", "node"), "hc31"),
    },
)
#: Each chip by what it has that the one it is made from has not.
_910B1 = replace(
    _910A,
    name="910B1",
    soc="Ascend910B1",
    split=True,
    cube_cores=24,
    vector_cores=48,
    clock=1850,
    memory=64 * GIB,
    bandwidth=1600 * GB,
    cache=192 * MIB,
    hccs=28 * GB,
    hccs_ranks=8,
    rdma=25 * GB,
    pcie=63 * GB,
    sources=_A2,
)
_910B2 = replace(_910B1, name="910B2", soc="Ascend910B2", clock=1800)
_910B3 = replace(_910B2, name="910B3", soc="Ascend910B3", cube_cores=20, vector_cores=40)
_910B4 = replace(
    _910B3,
    name="910B4",
    soc="Ascend910B4",
    clock=1500,
    memory=32 * GIB,
    bandwidth=800 * GB,
    cache=96 * MIB,
    sources={**_A2, **dict.fromkeys(("bandwidth", "hccs", "hccs_ranks", "rdma", "node"), "800IA2")},
)
_910_93 = replace(
    _910B1,
    name="910_93",
    soc="Ascend910_9392",
    hccs_ranks=384,
    sio=270 * GB,
    node=16,
    sources={**_A2, **dict.fromkeys(("bandwidth", "hccs", "hccs_ranks", "sio", "rdma", "node"), "cm384")},
)
_310P = replace(
    _910A,
    name="310P",
    soc="Ascend310P3",
    cube_cores=8,
    vector_cores=8,
    clock=1060,
    memory=24 * GB,
    bandwidth=204_800_000_000,
    cache=16 * MIB,
    cache_read=114,
    cache_write=114,
    hccs=0,
    hccs_ranks=1,
    rdma=3_125_000_000,
    sources={
        **_INI,
        **{"vector_cores": "core", "bandwidth": "300IPro", "pcie": "300IPro", "rdma": "25ge", "node": "25ge"},
        **dict.fromkeys(("hccs", "hccs_ranks", "sio"), "none"),
    },
)
CHIPS = {chip.name: chip for chip in (_910A, _910B1, _910B2, _910B3, _910B4, _910_93, _310P)}
DEFAULT_CHIP = "910B2"
