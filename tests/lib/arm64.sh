#!/bin/sh
# arm64.sh BUILD -- build everything for aarch64 on another machine, and call an operator there if qemu-user can.
# Debian 12 with gcc-aarch64-linux-gnu; the libraries of arm64 come from Debian into BUILD/root, which is no part
# of the system.
set -e
build=$1
root=$build/root
libs=$root/usr/lib/aarch64-linux-gnu
packages='libuv1 libuv1-dev libcjson1 libcjson-dev libopenblas0-pthread libopenblas-pthread-dev libgfortran5 libgomp1'

if [ ! -d "$libs" ]; then
    apt=$build/apt
    mkdir -p "$apt/lists/partial" "$apt/archives/partial" "$apt/debs"
    : >"$apt/status"
    printf '%s\n' 'APT::Architecture "arm64";' 'APT::Architectures { "arm64"; };' "Dir::State \"$apt\";" \
        "Dir::Cache \"$apt\";" "Dir::State::status \"$apt/status\";" 'APT::Sandbox::User "root";' >"$apt/apt.conf"
    APT_CONFIG=$apt/apt.conf apt-get -qq update
    (cd "$apt/debs" && APT_CONFIG=$apt/apt.conf apt-get -qq download $packages)
    for deb in "$apt"/debs/*.deb; do dpkg -x "$deb" "$root"; done
fi
blas=$libs/openblas-pthread
export PKG_CONFIG_LIBDIR="$libs/pkgconfig" PKG_CONFIG_SYSROOT_DIR="$root"
include="-idirafter $root/usr/include -idirafter $root/usr/include/aarch64-linux-gnu/openblas-pthread"
compiler="aarch64-linux-gnu-gcc $include -L$libs -L$blas -Wl,-rpath-link,$libs:$blas"
make BUILD="$build" CC="$compiler" binaries

run() { qemu-aarch64 -L /usr/aarch64-linux-gnu -E LD_LIBRARY_PATH="$libs:$blas" "$@"; }
if command -v qemu-aarch64 >/dev/null; then
    socket=$build/arm64.s
    run "$build/dispatchd" --socket "$socket" --log "$build/arm64.log" &
    for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do [ -S "$socket" ] || sleep 0.5; done
    said=$(run "$build/dispatchctl" --socket "$socket" call aten::mm '[[1,2],[3,4]]' '[[1],[2]]' | tail -n 2 | tr -d ' \n')
    kill $!
    wait $! || true
    [ "$said" = "[[5],[11]]" ] || { echo "aten::mm said '$said'"; exit 1; }
    # functions of plugins/lib: the same bits as here
    loops="-std=gnu11 -DMATH_LEVEL=v1 -O3 -fno-math-errno -fno-trapping-math -fwrapv -fno-strict-aliasing -ffp-contract=off"
    cc $loops -o "$build/bits_here" tests/lib/math_bits.c tests/lib/math_loops.c -lm
    aarch64-linux-gnu-gcc $loops -static -o "$build/bits_there" tests/lib/math_bits.c tests/lib/math_loops.c -lm
    "$build/bits_here" >"$build/bits_here.txt"
    run "$build/bits_there" | diff "$build/bits_here.txt" -
    echo "built and run for aarch64; functions have the same bits"
fi
