"""Chips: cores, clock and memory bandwidth, where a capture does not hold them.

Source: CANN's description of each chip, platform_config/<SoC version>.ini (ai_core_cnt, cube_core_cnt, vector_core_cnt,
cube_freq). Bandwidth: Hot Chips 31 for the 910A; public product data of the Atlas 800I A2 for the 910B4; half of the two dies
of a 910C (arXiv 2506.12708) for it and the other 910B; product data of the Atlas 300I Pro for the 310P.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Optional


@dataclass(frozen=True)
class ChipData:
    """One device of a chip."""

    cube_cores: int
    """Cores with a matrix unit."""
    vector_cores: int
    """Cores with a vector unit; on chips whose cores are not split the same cores."""
    clock_mhz: int
    """Clock of the cores."""
    bandwidth: int
    """Bytes per second of the device memory, reading and writing together."""


#: By the beginning of the device name; the longest that matches applies. "Ascend910B" without a number: its first version.
CHIPS = {
    "Ascend910": ChipData(32, 32, 1000, 1_200_000_000_000),
    "Ascend910B": ChipData(24, 48, 1800, 1_600_000_000_000),
    "Ascend910B1": ChipData(24, 48, 1850, 1_600_000_000_000),
    "Ascend910B2": ChipData(24, 48, 1800, 1_600_000_000_000),
    "Ascend910B3": ChipData(20, 40, 1800, 1_600_000_000_000),
    "Ascend910B4": ChipData(20, 40, 1500, 800_000_000_000),
    "Ascend910_93": ChipData(24, 48, 1850, 1_600_000_000_000),
    "Ascend310P": ChipData(8, 8, 1060, 204_800_000_000),
}
#: Multiply-adds of a matrix unit in a cycle with FP16 or BF16: 16 x 16 x 16. INT8: twice as many.
MACS_PER_CYCLE = 16 * 16 * 16


def bandwidth_of(cube_cores: Optional[int]) -> Optional[int]:
    """Bandwidth of the chips with so many matrix units; None if they differ in it, or none has so many."""
    found = {chip.bandwidth for chip in CHIPS.values() if chip.cube_cores == cube_cores}
    return found.pop() if len(found) == 1 else None


def chip_of(device_name: Optional[str]) -> Optional[ChipData]:
    """Data of a chip by the device name of a capture, such as "Ascend910B2"; None if unknown."""
    found = [name for name in CHIPS if (device_name or "").startswith(name)]
    return CHIPS[max(found, key=len)] if found else None
