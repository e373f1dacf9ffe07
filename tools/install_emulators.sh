#!/bin/sh
# Installs the Debian packages that the tests of the C core use; tests whose tool is missing are skipped.
set -eu

missing=""
need() { # command, packages that provide it
    command -v "$1" >/dev/null 2>&1 || missing="$missing $2"
}
need arm-none-eabi-gcc "gcc-arm-none-eabi libnewlib-arm-none-eabi"
need qemu-system-arm qemu-system-arm
need riscv64-unknown-elf-gcc "gcc-riscv64-unknown-elf picolibc-riscv64-unknown-elf"
need qemu-system-riscv32 "qemu-system-riscv qemu-system-misc" # one or the other, by Debian's version
need xtensa-lx106-elf-gcc "gcc-xtensa-lx106 picolibc-xtensa-lx106-elf"
need qemu-system-xtensa qemu-system-misc
need llc-22 "clang-22 llvm-22"
need clang clang
[ -n "$(find /usr/lib/llvm-* -name 'libclang_rt.fuzzer*' 2>/dev/null | head -n 1)" ] || missing="$missing libclang-rt-dev"
need cppcheck cppcheck
need gcovr gcovr

[ -n "$missing" ] || exit 0
if ! command -v apt-get >/dev/null 2>&1; then
    echo "Not installed, and apt-get is not available:$missing. The tests that need them will be skipped." >&2
    exit 0
fi
root=""
if [ "$(id -u)" -ne 0 ]; then
    if ! command -v sudo >/dev/null 2>&1; then
        echo "Not installed, and root is required:$missing. The tests that need them will be skipped." >&2
        exit 0
    fi
    root=sudo
fi
$root apt-get update -qq
wanted=""
for package in $missing; do
    if apt-cache show "$package" >/dev/null 2>&1; then
        wanted="$wanted $package"
    else
        echo "This system has no package $package; tests that need it will be skipped." >&2
    fi
done
[ -n "$wanted" ] || exit 0
echo "Installing$wanted"
# shellcheck disable=SC2086
$root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $wanted >/dev/null
