#!/bin/sh
# ensure_device.sh PYTHON: build the simulated NPU (tb_npu_plugin/capture/device) for the PyTorch that PYTHON has, where
# there is one, into the user's cache. Without a C++ compiler its tests fail, and say why.
set -u
cd "$(dirname "$0")/.."
"$1" -c 'import importlib.util, sys; sys.exit(importlib.util.find_spec("torch") is None)' || exit 0
"$1" -c 'from tb_npu_plugin.cli import main; main()' build-device >/dev/null
exit 0
