#!/usr/bin/env bash
# Builds and runs the outside project against an installed library, by find_package, pkg-config and Meson (where that is
# installed). Usage: run.sh <tree|packages> <build folder> <C++ compiler> <libdir, such as lib>
#   tree      what `cmake --install` gives, in a temporary folder that is then moved
#   packages  what CPack makes: the .deb files installed by dpkg into a clean root, and the tarball unpacked; a long test
set -euo pipefail
what=$1 build=$2 compiler=$3 libdir=$4
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
expected="f32[5,4] has 80 bytes"

fail() { echo "$*" >&2; exit 1; }
same() {  # name, output
  [[ $2 == "$expected" ]] || fail "$1: expected '$expected', got '$2'"
  echo "$1: $2"
}
quietly() {  # command: what it says is shown where it fails
  "$@" >"$work/log" 2>&1 || { cat "$work/log"; fail "failed: $*"; }
}

# users <name> <prefix>: those who find the library there.
users() {
  local name=$1 prefix=$2 at=$work/$1
  export LD_LIBRARY_PATH=$prefix/$libdir PKG_CONFIG_PATH=$prefix/$libdir/pkgconfig
  quietly cmake -G Ninja -S "$here" -B "$at.cmake" -DCMAKE_PREFIX_PATH="$prefix" -DCMAKE_CXX_COMPILER="$compiler" \
    -DCMAKE_BUILD_TYPE=Debug
  quietly cmake --build "$at.cmake"
  same "$name, find_package" "$("$at.cmake/outside")"

  # shellcheck disable=SC2046  # the flags are words
  "$compiler" -std=c++20 $(pkg-config --cflags anew) "$here/outside.cpp" -o "$at.plain" $(pkg-config --libs anew)
  same "$name, pkg-config $(pkg-config --modversion anew)" "$("$at.plain")"

  if command -v meson >/dev/null; then
    quietly env CXX="$compiler" meson setup "$at.meson" "$here"
    quietly meson compile -C "$at.meson"
    same "$name, Meson" "$("$at.meson/outside")"
  else
    echo "$name, Meson: skipped, it is not installed"
  fi

  # anew-mpi, where the build has it: a program of one process needs no mpirun.
  [[ -f $PKG_CONFIG_PATH/anew-mpi.pc ]] || return 0
  local expected="rank 0 of 1 has the sum 3"
  # shellcheck disable=SC2046
  "$compiler" -std=c++20 $(pkg-config --cflags anew-mpi) "$here/outside_mpi.cpp" -o "$at.mpi" $(pkg-config --libs anew-mpi)
  export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
  same "$name, pkg-config anew-mpi" "$("$at.mpi")"
  same "$name, find_package, mpi" "$("$at.cmake/outside_mpi")"
}

# exports <library>: the interface, and no internals.
exports() {
  local names
  names=$(nm --dynamic --defined-only --demangle "$1" | grep -v 'anew::loops::Kernel::')  # rows of companions hold kernels
  grep -q ' anew::sin(' <<<"$names" || fail "$1 does not export anew::sin"
  ! grep -E ' [A-Za-z] anew::(passes|loops|codegen|plan|trace)::' <<<"$names" || fail "$1 exports internals"
}

if [[ $what == tree ]]; then
  quietly cmake --install "$build" --prefix "$work/first"
  mv "$work/first" "$work/prefix"  # nothing installed may remember where it was put
  users tree "$work/prefix"
  if [[ -e $work/prefix/$libdir/libanew.so ]]; then exports "$work/prefix/$libdir/libanew.so"; fi
  exit
fi

[[ -n ${ANEW_LONG:-} ]] || { echo "a long test"; exit 77; }
command -v dpkg >/dev/null && command -v dpkg-shlibdeps >/dev/null || { echo "dpkg-dev is not installed"; exit 77; }
quietly cpack --config "$build/CPackConfig.cmake" -B "$work/packages"
(cd "$work/packages" && ls -l -- *.deb *.tar.gz)

root=$work/root
mkdir -p "$root/var/lib/dpkg/"{info,updates} && : >"$root/var/lib/dpkg/status"
# What others package is not in this root, so those dependencies are not asked for; ours are.
quietly dpkg --root="$root" --force-depends --force-not-root --force-script-chrootless --log=/dev/null \
  -i "$work"/packages/libanew*.deb
for package in "$work"/packages/libanew*.deb; do echo "$(dpkg-deb --field "$package" Package): $(dpkg-deb --field "$package" Depends)"; done
libdir=lib
users packages "$root/usr"
exports "$root/usr/lib/libanew.so"
[[ -f $root/usr/share/doc/anew/quickstart.md ]] || fail "libanew-doc has no pages"

mkdir "$work/tarball"
tar -xf "$work"/packages/*.tar.gz -C "$work/tarball" --strip-components=1
users tarball "$work/tarball"
