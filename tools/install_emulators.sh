#!/bin/sh
# The Debian packages that the tests of the C core use; tests that miss their tool are skipped, and say so.
set -eu

missing=""
need() { # command, packages that bring it
    command -v "$1" >/dev/null 2>&1 || missing="$missing $2"
}
need arm-none-eabi-gcc "gcc-arm-none-eabi libnewlib-arm-none-eabi"
need qemu-system-arm qemu-system-arm
need clang clang
need cppcheck cppcheck
need gcovr gcovr

[ -n "$missing" ] || exit 0
if ! command -v apt-get >/dev/null 2>&1; then
    echo "Not installed, and there is no apt-get to do it:$missing. The tests that need them will be skipped." >&2
    exit 0
fi
root=""
if [ "$(id -u)" -ne 0 ]; then
    if ! command -v sudo >/dev/null 2>&1; then
        echo "Not installed, and only root may do it:$missing. The tests that need them will be skipped." >&2
        exit 0
    fi
    root=sudo
fi
echo "Installing$missing"
$root apt-get update -qq
# shellcheck disable=SC2086
$root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $missing >/dev/null
