#!/bin/sh
# Builds a libFuzzer target of the core: build.sh learner|learner64|service OUTPUT
set -eu
cd "$(dirname "$0")/.."
target="$1"
precision=""
sources=$(find core/src -name '*.c' -not -path '*/service/*')
case "$target" in
learner64) precision="-DTU_REAL_DOUBLE" target=learner ;;
service) sources=$(find core/src -name '*.c') ;;
esac
# Comparisons are not traced: that took two thirds of the time, and the inputs' checksums are computed by the targets.
# shellcheck disable=SC2086
exec clang -std=c99 -g -O1 -ffp-contract=off -fno-math-errno -fno-trapping-math $precision \
    -fsanitize=fuzzer,address,undefined,float-cast-overflow -fno-sanitize-coverage=trace-cmp -fno-sanitize-recover=all \
    -Icore/include -Icore/src "fuzz/$target.c" $sources -lm -o "$2"
