#!/bin/sh
# Cross builds what the tests of AArch64 run.
#   aarch64_build.sh SOURCE_DIRECTORY CROSS_BUILD_DIRECTORY ROOT
set -eu
source=$1 build=$2 root=$3
mkdir -p "$build"
exec 9>"$build.lock"  # two tests want the same
flock 9
# Another root is another build; what is written again is built again.
if ! [ -f "$build/build.ninja" ] || ! grep -qF "'$root'" "$build.ini"; then
  rm -rf "$build"
  "$(dirname "$0")/aarch64_cross.sh" "$root" >"$build.ini"
  meson setup "$build" "$source" --cross-file "$build.ini" -Dtests=true -Dbench=false -Doptimization=1 >"$build.log" 2>&1 ||
    { cat "$build.log"; exit 1; }
fi
programs=$(ninja -C "$build" -t targets all |
  sed -En 's#^((tests/)?(gomp_shim|ompi_coll_smelt)/[^:/]*):.*#\1#p' | grep -v '\.symbols$')
ninja -C "$build" --quiet core/smelt $programs
