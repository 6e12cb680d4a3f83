"""Whether MindSpore has an NPU here."""

from __future__ import annotations

import os
from pathlib import Path

from tb_npu_plugin.capture.ascend import MOCK, VARIABLE

#: Where the driver shows its devices.
DEVICES = Path("/dev")


def has_npu() -> bool:
    """Whether an NPU is there that MindSpore may use: TB_NPU_BACKEND=mock never uses one."""
    return os.environ.get(VARIABLE) != MOCK and any(DEVICES.glob("davinci[0-9]*"))
