#!/bin/sh
# ensure_torch.sh PYTHON: the tests of capture record real PyTorch runs on the CPU. Where PyTorch is missing and a CPU
# build can be had, install it; otherwise say so: the tests then skip with the reason. "+cpu" pins the CPU build: a plain
# "torch" would fetch gigabytes of CUDA, which is why it is no requirement of the test extra in setup.py. pip finds such
# builds where its index has them; PIP_EXTRA_INDEX_URL or PIP_FIND_LINKS names another place (docs/capture.md).
set -u
TORCH=${TORCH:-torch==2.13.0+cpu}
"$1" -c 'import importlib.util, sys; sys.exit(importlib.util.find_spec("torch") is None)' && exit 0
echo "no PyTorch found: installing $TORCH for the tests of capture"
"$1" -m pip install --quiet --disable-pip-version-check --only-binary :all: "$TORCH" >/dev/null 2>&1 && exit 0
echo "no CPU build of PyTorch can be installed here: the tests of capture that need it will be skipped"
exit 0
