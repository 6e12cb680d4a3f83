#!/bin/sh
# ensure_observer.sh PYTHON: build the observer of shapes (tb_npu_plugin/capture/mock/observer.py) against the PyTorch that
# PYTHON has, where there is one and it was not done yet. Without a compiler for C++ 20 the mock device does without: its
# tests then skip with the reason. It cannot come with the install: pip builds in an environment that has no PyTorch.
set -u
cd "$(dirname "$0")/.."
"$1" -c 'import importlib.util, sys; sys.exit(importlib.util.find_spec("torch") is None)' || exit 0
built=tb_npu_plugin/capture/mock
[ $built/_observer.abi3.so -nt $built/native/observer.cpp ] && "$1" -c 'import sys; from tb_npu_plugin.capture.mock import observer; sys.exit(not observer.is_there())' 2>/dev/null &&
  exit 0
echo "building the observer of shapes against this PyTorch"
"$1" setup.py --quiet build_ext --inplace --force >/dev/null 2>&1
exit 0
