#!/bin/sh
# Fuzzing needs clang. Where there is none and we may install Debian's, do; otherwise say so: tests/fuzz/run.py then
# fuzzes nothing, with the reason.
set -u
command -v clang >/dev/null 2>&1 && exit 0
if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then
  echo "no clang found: installing Debian's to fuzz the C code"
  apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq clang >/dev/null && exit 0
fi
echo "no clang found and it cannot be installed here"
exit 0
