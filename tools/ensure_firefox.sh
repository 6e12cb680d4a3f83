#!/bin/sh
# `make test-all` opens the views in Firefox as well. Where none is found and we may install Debian's, do; otherwise say so:
# the test then skips with the reason.
set -u
command -v "${FIREFOX:-firefox-esr}" >/dev/null 2>&1 && exit 0
if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then
  echo "no Firefox found: installing Debian's for the browser tests"
  apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq firefox-esr >/dev/null && exit 0
fi
echo "no Firefox found and it cannot be installed here: the test with it will be skipped"
exit 0
