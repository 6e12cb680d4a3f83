"""Chips: the figures that the device model computes with, each with its source (Chip.sources, SOURCES)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

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
    memory: int
    bandwidth: int
    cache: int
    hccs: int
    hccs_ranks: int
    rdma: int
    pcie: int
    sources: Mapping[str, str] = field(compare=False, repr=False)
    sio: int = 0
    node: int = 8
    cube_macs: int = 4096
    vector_lanes: int = 128
    cache_read: int = 110
    cache_write: int = 86

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


#: The figures that have a source.
FIGURES = (
    "cube_cores",
    "vector_cores",
    "clock",
    "cube_macs",
    "vector_lanes",
    "memory",
    "bandwidth",
    "cache",
    "cache_read",
    "cache_write",
    "hccs",
    "hccs_ranks",
    "sio",
    "rdma",
    "pcie",
    "node",
)
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
_IN_INI = (
    "cube_cores",
    "vector_cores",
    "clock",
    "cube_macs",
    "vector_lanes",
    "memory",
    "cache",
    "cache_read",
    "cache_write",
)
_INI = dict.fromkeys(_IN_INI, "ini")
_A2 = {
    **_INI,
    "bandwidth": "hbm",
    "hccs": "hccs",
    "hccs_ranks": "hccs",
    "sio": "none",
    "rdma": "roce",
    "pcie": "pcie5",
    "node": "hccs",
}

CHIPS: dict[str, Chip] = {
    chip.name: chip
    for chip in (
        Chip(
            "910A",
            "Ascend910A",
            split=False,
            cube_cores=32,
            vector_cores=32,
            clock=1000,
            memory=32 * GIB,
            bandwidth=1200 * GB,
            cache=32 * MIB,
            hccs=30 * GB,
            hccs_ranks=4,
            rdma=12_500_000_000,
            pcie=31_500_000_000,
            sources={
                **_INI,
                "vector_cores": "core",
                "memory": "hami",
                "hccs_ranks": "cce",
                "sio": "none",
                **dict.fromkeys(("bandwidth", "hccs", "rdma", "pcie", "node"), "hc31"),
            },
        ),
        Chip(
            "910B1",
            "Ascend910B1",
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
        ),
        Chip(
            "910B2",
            "Ascend910B2",
            split=True,
            cube_cores=24,
            vector_cores=48,
            clock=1800,
            memory=64 * GIB,
            bandwidth=1600 * GB,
            cache=192 * MIB,
            hccs=28 * GB,
            hccs_ranks=8,
            rdma=25 * GB,
            pcie=63 * GB,
            sources=_A2,
        ),
        Chip(
            "910B3",
            "Ascend910B3",
            split=True,
            cube_cores=20,
            vector_cores=40,
            clock=1800,
            memory=64 * GIB,
            bandwidth=1600 * GB,
            cache=192 * MIB,
            hccs=28 * GB,
            hccs_ranks=8,
            rdma=25 * GB,
            pcie=63 * GB,
            sources=_A2,
        ),
        Chip(
            "910B4",
            "Ascend910B4",
            split=True,
            cube_cores=20,
            vector_cores=40,
            clock=1500,
            memory=32 * GIB,
            bandwidth=800 * GB,
            cache=96 * MIB,
            hccs=28 * GB,
            hccs_ranks=8,
            rdma=25 * GB,
            pcie=63 * GB,
            sources={**_A2, **dict.fromkeys(("bandwidth", "hccs", "hccs_ranks", "rdma", "node"), "800IA2")},
        ),
        Chip(
            "910_93",
            "Ascend910_9392",
            split=True,
            cube_cores=24,
            vector_cores=48,
            clock=1850,
            memory=64 * GIB,
            bandwidth=1600 * GB,
            cache=192 * MIB,
            hccs=28 * GB,
            hccs_ranks=384,
            rdma=25 * GB,
            pcie=63 * GB,
            sio=270 * GB,
            node=16,
            sources={**_A2, **dict.fromkeys(("bandwidth", "hccs", "hccs_ranks", "sio", "rdma", "node"), "cm384")},
        ),
        Chip(
            "310P",
            "Ascend310P3",
            split=False,
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
            pcie=31_500_000_000,
            sources={
                **_INI,
                "vector_cores": "core",
                "bandwidth": "300IPro",
                "pcie": "300IPro",
                "rdma": "25ge",
                "node": "25ge",
                "hccs": "none",
                "hccs_ranks": "none",
                "sio": "none",
            },
        ),
    )
}
DEFAULT_CHIP = "910B2"
