"""Which chip the simulated device is."""

from __future__ import annotations

import os

from tb_npu_plugin.errors import BadFile
from tb_npu_plugin.schema.chips import CHIPS, Chip

DEFAULT_CHIP = "910B2"
#: Names the chip of the simulated device.
CHIP_VARIABLE = "TB_NPU_CHIP"


def chosen_chip() -> Chip:
    """That of TB_NPU_CHIP. Raises BadFile for an unknown one."""
    name = os.environ.get(CHIP_VARIABLE) or DEFAULT_CHIP
    if name not in CHIPS:
        raise BadFile(f"{CHIP_VARIABLE}: unknown chip {name!r}", f"Chips are: {', '.join(CHIPS)}.")
    return CHIPS[name]
