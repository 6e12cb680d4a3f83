"""Chips: the figures that the device model computes with. Each has its source beside it; "assumed" where no public
source is known to us, and then it is of the order of what related chips have."""

from __future__ import annotations

from dataclasses import dataclass

GB, MIB, GIB = 10**9, 1 << 20, 1 << 30


@dataclass(frozen=True)
class Chip:
    """One chip, as one device of the profile.

    cube_cores      cores with a matrix unit; vector_cores: with a vector unit. On chips that are not `split` each core
                    has both, and profiles count one kind of core
    clock           MHz of the cores
    cube_macs       FP16 multiply-adds of one matrix unit in a cycle; FP32 runs at a quarter of it
    vector_lanes    FP16 results of one vector unit in a cycle; FP32 at half of it
    memory          bytes; bandwidth: of that memory, bytes per second; cache: bytes of the L2 cache
    hccs            bytes per second of one link to a neighbour in one direction; 0: no such links
    hccs_ranks      devices of one node that reach each other over such links; the others use PCIe
    rdma, pcie      bytes per second of the network card and of PCIe, in one direction
    sio             bytes per second between the two dies of one package; 0: one die
    node            devices in one server
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
    sio: int = 0
    node: int = 8
    cube_macs: int = 4096
    vector_lanes: int = 128

    @property
    def cube_flops(self) -> float:
        """Peak FP16 operations per second of the matrix units."""
        return 2.0 * self.cube_cores * self.cube_macs * self.clock * 1e6

    @property
    def vector_flops(self) -> float:
        """Peak FP16 operations per second of the vector units."""
        return float(self.vector_cores * self.vector_lanes * self.clock) * 1e6


# cube_macs: 16 x 16 x 16, Da Vinci architecture, Hot Chips 31 (2019); vector_lanes: 2048 bits of FP16, same source, and
# vec_calc_size=128 in the platform_config of CANN.
CHIPS: dict[str, Chip] = {
    chip.name: chip
    for chip in (
        Chip(
            "910A", "Ascend910A", split=False,
            cube_cores=30, vector_cores=30,  # HAMi's device table: aiCore 30 (the die has 32: Hot Chips 31)
            clock=1000,  # 256 TFLOPS FP16 by 32 cores: Hot Chips 31
            memory=32 * GIB,  # HAMi's device table: 32768 MiB
            bandwidth=1200 * GB,  # Hot Chips 31: 1.2 TB/s of HBM2
            cache=32 * MIB,  # Hot Chips 31
            hccs=30 * GB,  # Hot Chips 31: three links of 240 Gb/s
            hccs_ranks=4,  # Atlas 800 (9000) white paper: two rings of four, PCIe between them
            rdma=12_500_000_000,  # Hot Chips 31: 100 Gb/s RoCE v2
            pcie=31_500_000_000,  # Hot Chips 31: PCIe 4.0 x16
        ),
        Chip(
            "910B1", "Ascend910B1", split=True,
            cube_cores=24, vector_cores=48,  # platform_config of CANN, as public tests quote it
            clock=1850,  # the same
            memory=64 * GIB, cache=192 * MIB,  # the same
            bandwidth=1600 * GB,  # assumed: as 910B2
            hccs=28 * GB, hccs_ranks=8,  # Atlas 800T A2 data sheet: 392 GB/s over 7 links, both directions
            rdma=25 * GB,  # Atlas 800T A2 data sheet: 200 GE per device
            pcie=63 * GB,  # assumed: PCIe 5.0 x16
        ),
        Chip(
            "910B2", "Ascend910B2", split=True,
            cube_cores=24, vector_cores=48,  # platform_config/Ascend910B2.ini of CANN: cube_core_cnt, vector_core_cnt
            clock=1800,  # the same: cube_freq; and cycles by time in the public sample of a real 910B
            memory=64 * GIB, cache=192 * MIB,  # the same: memory_size, l2_size
            bandwidth=1600 * GB,  # public LLM simulators for Ascend: 1.6 TB/s
            hccs=28 * GB, hccs_ranks=8,  # as 910B1
            rdma=25 * GB, pcie=63 * GB,  # as 910B1
        ),
        Chip(
            "910B3", "Ascend910B3", split=True,
            cube_cores=20, vector_cores=40, clock=1800,  # public LLM simulators for Ascend ("313T"); HAMi: aiCore 20
            memory=64 * GIB,  # HAMi's device table: 65536 MiB
            cache=192 * MIB, bandwidth=1600 * GB,  # public LLM simulators for Ascend
            hccs=28 * GB, hccs_ranks=8,  # as 910B1
            rdma=25 * GB, pcie=63 * GB,  # as 910B1
        ),
        Chip(
            "910B4", "Ascend910B4", split=True,
            cube_cores=20, vector_cores=40, clock=1500,  # platform_config/Ascend910B4.ini of CANN
            memory=32 * GIB, cache=96 * MIB,  # the same
            bandwidth=800 * GB,  # public LLM simulators for Ascend: 0.8 TB/s
            hccs=0, hccs_ranks=1,  # assumed: a PCIe card without links
            rdma=12_500_000_000,  # assumed: 100 GE
            pcie=32 * GB,  # public LLM simulators for Ascend: 32 GB/s inside a node
        ),
        Chip(
            "910_93", "Ascend910_9392", split=True,
            cube_cores=24, vector_cores=48,  # platform_config/Ascend910_9392.ini of CANN, one of two dies
            clock=1800,  # assumed: as 910B2
            memory=64 * GIB,  # 128 GB of a package (CloudMatrix384 paper), one of two dies
            bandwidth=1600 * GB,  # 3.2 TB/s of a package (same paper)
            cache=192 * MIB,  # assumed: as 910B2
            hccs=28 * GB,  # 392 GB/s of a package over 7 ports, both directions (same paper)
            hccs_ranks=384,  # a super node: every die reaches every other one over the unified bus (same paper)
            rdma=25 * GB,  # same paper: 200 Gb/s of a die, rounded up to the card
            pcie=63 * GB,  # assumed: PCIe 5.0 x16
            sio=270 * GB,  # same paper: 540 GB/s between the dies, both directions
            node=16,  # same paper: 8 packages of two dies
        ),
        Chip(
            "310P", "Ascend310P3", split=False,
            cube_cores=8, vector_cores=8,  # HAMi's device table: aiCore 8; vector_core_cnt=8 (CANN, ATC manual)
            clock=1080,  # 70 TFLOPS FP16 by 8 cores: Atlas 300I Pro data sheet
            memory=24 * GIB, bandwidth=204_800_000_000,  # the same: 24 GB of LPDDR4X, 204.8 GB/s
            cache=16 * MIB,  # assumed
            hccs=0, hccs_ranks=1, rdma=3_125_000_000,  # assumed: the server's 25 GE
            pcie=31_500_000_000,  # Atlas 300I Pro data sheet: PCIe 4.0 x16
        ),
    )
}  # fmt: skip
DEFAULT_CHIP = "910B2"
