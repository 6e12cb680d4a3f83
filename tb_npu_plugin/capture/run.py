"""Runs a script with the simulated NPU: `tb-npu run train.py ...`, `python -m tb_npu_plugin.capture.run train.py ...`.

Where a real torch_npu finds a device, the script runs with that. Else the folder with the stand-in torch_npu goes in front
of PYTHONPATH, and Python starts the script as always: PyTorch finds the device by the entry point in that folder
(`torch.backends`), `import torch_npu` finds it by name, and so do processes that the script starts.
"""

from __future__ import annotations

import os
import sys

from tb_npu_plugin.capture import ascend
from tb_npu_plugin.capture.device.load import SITE

_USAGE = "tb-npu run [-m] SCRIPT [ARGUMENTS]...: a Python script or module to run with the simulated NPU"


def start(arguments: list[str]) -> None:
    """Replace this process by `python ARGUMENTS` with the simulated device; does not return."""
    if not arguments or arguments[0] in ("-h", "--help"):
        print(_USAGE, file=sys.stderr)
        sys.exit(0 if arguments else 2)
    if ascend.load() is None:
        os.environ[ascend.VARIABLE] = ascend.MOCK
        paths = [path for path in os.environ.get("PYTHONPATH", "").split(os.pathsep) if path and path != str(SITE)]
        os.environ["PYTHONPATH"] = os.pathsep.join([str(SITE), *paths])
    sys.stdout.flush()
    sys.stderr.flush()
    os.execv(sys.executable, [sys.executable, *arguments])


if __name__ == "__main__":
    start(sys.argv[1:])
