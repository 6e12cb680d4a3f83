#!/bin/sh
# Build a wheel for this machine into dist/ and try it in a fresh environment: `wheel.sh [PYTHON]`.
set -eu
cd "$(dirname "$0")/.."
python=${1:-python3}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
"$python" -m pip wheel --quiet --disable-pip-version-check --no-deps -w "$scratch/wheel" .
mkdir -p dist
cp "$scratch"/wheel/*.whl dist/
"$python" -m venv "$scratch/venv"
# CC=false: what is tried must not be compiled here
CC=false "$scratch/venv/bin/python" -m pip install --quiet --disable-pip-version-check "$scratch"/wheel/*.whl
cd "$scratch"
"$scratch/venv/bin/python" "$OLDPWD/tools/check_wheel.py"
basename "$scratch"/wheel/*.whl
