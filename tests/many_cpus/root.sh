#!/bin/sh
# Prints the folder of a small Debian root of an architecture, made once from Debian's packages and kept: what the
# programs under test are linked with and started by, a kernel, busybox, and for arm64 what it takes to build them.
# Nothing of it is installed, no maintainer script runs, and nobody need be root. The packages come from where this
# machine's own apt takes them.
#   root.sh amd64|arm64          exit 77: skipped; the line printed says what is missing
set -eu
skip() { echo "skipped: $*"; exit 77; }
arch=$1
for tool in mmdebstrap flock; do command -v "$tool" >/dev/null || skip "$tool is not installed"; done
. /etc/os-release
[ "$ID" = debian ] || skip "the roots of other machines are made from Debian's packages, on Debian"

headers=
case $arch in
  amd64) triplet=x86_64-linux-gnu ;;
  arm64)
    triplet=aarch64-linux-gnu
    headers=,libhwloc-dev,libfmt-dev,nlohmann-json3-dev,libcli11-dev,libgtest-dev,libopenmpi-dev,libboost-context-dev ;;
  *) echo "usage: root.sh amd64|arm64" >&2; exit 2 ;;
esac
packages=busybox-static,linux-image-cloud-$arch,libstdc++6,libgomp1,libhwloc15,libfmt9,openmpi-bin$headers
# A tenth of what is in them, as patterns of tar's. The compiler brings its own C library with its headers; only what it
# has not is taken here.
libraries=./usr/lib/$triplet
wanted="./boot/vmlinuz-* ./bin/busybox ./lib/$triplet/* ./lib/ld-linux-* ./lib64/* ./etc/openmpi/*
  ./usr/bin/mpirun.openmpi ./usr/bin/orterun ./usr/share/openmpi/*
  $libraries/lib*.so* $libraries/openmpi/* $libraries/pmix2/*
  $libraries/libgtest*.a $libraries/libboost_context.a $libraries/pkgconfig/* ./usr/share/pkgconfig/*
  ./usr/include/hwloc* ./usr/include/$triplet/hwloc/* ./usr/include/fmt/* ./usr/include/nlohmann/*
  ./usr/include/CLI/* ./usr/include/gtest/*"
unwanted="$libraries/libc.so $libraries/libm.so $libraries/libicu* $libraries/lib?san.so* $libraries/libhwasan*
  $libraries/libperl* $libraries/libX11* $libraries/liboshmem* $libraries/libmpi_* $libraries/libbfd*
  $libraries/libdb-* $libraries/libcuda*"

kept=${XDG_CACHE_HOME:-$HOME/.cache}/smelt-tests
root=$kept/$VERSION_CODENAME-$arch-$(echo "$packages" "$wanted" "$unwanted" | cksum | cut -d' ' -f1)
mkdir -p "$kept"
exec 9>"$kept/lock"  # two tests may want it at the same time
flock 9
if [ ! -d "$root" ]; then
  sources=
  for file in /etc/apt/sources.list.d/debian.sources /etc/apt/sources.list; do
    if [ -s "$file" ]; then sources="$sources $file"; fi
  done
  new=$(mktemp -d "$kept/new.XXXXXX")
  trap 'rm -rf "$new"' EXIT
  mmdebstrap --variant=extract --architectures="$arch" --format=tar --include="$packages" \
    --aptopt='Acquire::Languages "none"' --aptopt='APT::Install-Recommends "false"' \
    "$VERSION_CODENAME" "$new/all.tar" $sources >"$new/log" 2>&1 ||
    { cat "$new/log" >&2; skip "the packages of $arch could not be had"; }
  set -f  # the patterns are tar's
  excluded=$(for pattern in $unwanted; do echo "--exclude=$pattern"; done)
  mkdir "$new/root"
  # What only the other architecture has is not found, which tar calls a failure. The kernel is the proof of the rest.
  tar -x -C "$new/root" --no-same-owner --wildcards $excluded -f "$new/all.tar" $wanted 2>"$new/log" || :
  set +f
  [ -s "$(echo "$new"/root/boot/vmlinuz-*)" ] || { cat "$new/log" >&2; skip "the packages of $arch lack a kernel"; }
  mv "$new/root" "$root"
fi
echo "$root"
