"""torch_npu on a machine without an NPU: `tb-npu run` puts the folder above on the path."""

import sys
from pathlib import Path

try:
    import tb_npu_plugin  # noqa: F401
except ModuleNotFoundError:  # run from a clone that is not installed
    sys.path.append(str(Path(__file__).parents[5]))

from tb_npu_plugin.capture import pytorch
from tb_npu_plugin.capture.device.load import install


def _autoload() -> None:
    """What PyTorch calls when it is imported; the import of this module does it all."""


# Imports PyTorch, which calls _autoload if it was not imported before: that must be there.
install(sys.modules[__name__], pytorch)
