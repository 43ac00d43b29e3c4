#!/usr/bin/env bash
# Installs a build into a temporary folder and moves it, then builds and runs the outside project against it, once by
# find_package and once by pkg-config. Usage: run.sh <build folder> <C++ compiler> <libdir, such as lib>
set -euo pipefail
build=$1 compiler=$2 libdir=$3
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
expected="f32[5,4] has 80 bytes"

same() {  # name, output
  [[ $2 == "$expected" ]] || { echo "$1: expected '$expected', got '$2'" >&2; exit 1; }
  echo "$1: $2"
}

cmake --install "$build" --prefix "$work/first" >"$work/install.log"
mv "$work/first" "$work/prefix"  # nothing installed may remember where it was put

cmake -G Ninja -S "$here" -B "$work/build" -DCMAKE_PREFIX_PATH="$work/prefix" -DCMAKE_CXX_COMPILER="$compiler" \
  -DCMAKE_BUILD_TYPE=Debug >"$work/configure.log" || { cat "$work/configure.log"; exit 1; }
cmake --build "$work/build"
same "find_package" "$(LD_LIBRARY_PATH=$work/prefix/$libdir "$work/build/outside")"

export PKG_CONFIG_PATH="$work/prefix/$libdir/pkgconfig"
# shellcheck disable=SC2046  # the flags are words
"$compiler" -std=c++20 $(pkg-config --cflags anew) "$here/outside.cpp" -o "$work/outside" $(pkg-config --libs anew)
same "pkg-config $(pkg-config --modversion anew)" "$(LD_LIBRARY_PATH=$work/prefix/$libdir "$work/outside")"
