#!/bin/sh
# The browser tests need a Chromium. Where none is found and we may install Debian's, do; otherwise say so:
# the tests then skip with the reason.
set -u
for name in "${CHROMIUM:-}" chromium chromium-browser google-chrome; do
  [ -n "$name" ] && command -v "$name" >/dev/null 2>&1 && exit 0
done
if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then
  echo "no Chromium found: installing Debian's for the browser tests"
  apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq chromium fonts-noto-cjk >/dev/null && exit 0
fi
echo "no Chromium found and it cannot be installed here: the browser tests will be skipped"
exit 0
