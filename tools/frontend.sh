#!/bin/sh
# Build and check the frontend: `frontend.sh install | format | build | test | check`.
# The built bundle is committed (users need no Node); `check` builds it again and fails on a difference.
set -eu
cd "$(dirname "$0")/../frontend"
if ! command -v npm >/dev/null 2>&1; then
  if [ "$1" = test ]; then
    echo "no npm here: the frontend's unit tests are skipped"
    exit 0
  fi
  echo "no npm here: install Node 20 or newer for 'frontend.sh $1'" >&2
  exit 1
fi
# npm writes .package-lock.json at the end of an install: older than the lock file means another state.
if [ ! -e node_modules/.package-lock.json ] || [ package-lock.json -nt node_modules/.package-lock.json ]; then
  npm ci --no-audit --no-fund --loglevel=error || npm ci --no-audit --no-fund --loglevel=error # a download may fail once
  touch node_modules/.package-lock.json
fi
case "$1" in
install) ;;
format) npx biome check --write . ;;
build) npm run --silent build ;;
test) npm run --silent test ;;
check)
  npm run --silent check
  npm run --silent build
  if [ -n "$(git status --porcelain -- ../tb_npu_plugin/static)" ]; then
    git --no-pager diff --stat -- ../tb_npu_plugin/static
    echo "tb_npu_plugin/static is not what the sources build: run 'make frontend' and commit" >&2
    exit 1
  fi
  ;;
*)
  echo "usage: frontend.sh install|format|build|test|check" >&2
  exit 2
  ;;
esac
