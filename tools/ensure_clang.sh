#!/bin/sh
# Fuzzing needs clang with libFuzzer. Where there is none and we may install Debian's, do; otherwise say so: the
# fuzzing is then skipped.
set -u
can_fuzz() {
  command -v clang >/dev/null 2>&1 &&
    echo 'int LLVMFuzzerTestOneInput(const char *d, unsigned long n) { return d && n ? 0 : 0; }' |
    clang -fsanitize=fuzzer,address,undefined -x c - -o /dev/null 2>/dev/null
}
can_fuzz && exit 0
if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then
  echo "no clang with libFuzzer found: installing Debian's to fuzz the native scanner"
  apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq clang >/dev/null
  can_fuzz && exit 0
fi
echo "no clang with libFuzzer found and it cannot be installed here: fuzzing is skipped"
exit 1
