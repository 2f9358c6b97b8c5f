#!/bin/sh
# -Dcli=disabled -Drails=disabled, for people who cannot install anything: the libraries are built where hwloc, fmt, JSON and CLI11 are not
# to be found, read no header of theirs, need libc alone, and work.
#   libraries_test.sh SOURCE_ROOT DIRECTORY
# DIRECTORY is kept from run to run: a minute of one CPU when everything is to be compiled, seconds afterwards or with ccache.
set -u
source=$1 directory=$2
failed=0
fail() { echo "FAIL: $*"; failed=$((failed + 1)); }
mkdir -p "$directory/pkgconfig"

# Of all packages pkg-config finds Open MPI's alone, where there is one, and from 5.0 on PMIx's, whose headers it includes; nothing else looks
# for packages.
for module in ompi-c ompi pmix; do
  place=$(pkg-config --variable=pcfiledir "$module" 2>/dev/null) && ln -sf "$place/$module.pc" "$directory/pkgconfig/$module.pc"
done
PKG_CONFIG_LIBDIR=$directory/pkgconfig
export PKG_CONFIG_LIBDIR
unset PKG_CONFIG_PATH
printf "[binaries]\ncmake = 'false'\n" >"$directory/native.ini"

# The hiding hides: with the program, there is no configuring.
rm -rf "$directory/whole"
if meson setup "$directory/whole" "$source" --native-file "$directory/native.ini" >"$directory/whole.log" 2>&1; then
  fail "the whole of Smelt is configured without its packages: they were not hidden"
fi
grep -q 'ERROR: Dependency.*hwloc.*not found' "$directory/whole.log" || fail "not hwloc was missed, but: $(tail -n 2 "$directory/whole.log")"

build=$directory/build
[ ! -f "$build/build.ninja" ] || again=--reconfigure
meson setup ${again-} "$build" "$source" -Dcli=disabled -Drails=disabled -Doptimization=1 --native-file "$directory/native.ini" >"$directory/build.log" 2>&1 ||
  { cat "$directory/build.log"; echo "FAIL: configuring with -Dcli=disabled"; exit 1; }
ninja -C "$build" >"$directory/ninja.log" 2>&1 || { cat "$directory/ninja.log"; echo "FAIL: building with -Dcli=disabled"; exit 1; }

read_headers=$(ninja -C "$build" -t deps | awk '/^[^ ]/ { ours = !/^ompi_(coll|pml)_smelt/ } ours')
echo "$read_headers" | grep -q 'base/options.h' || fail "the list of headers that were read is empty"
foreign=$(echo "$read_headers" | grep -E '/(hwloc|fmt|nlohmann|CLI|gtest|benchmark)/|hwloc\.h' | sort -u)
[ -z "$foreign" ] || fail "headers of what was to be left out were read: $foreign"

needed() { readelf -d "$1" | sed -n 's/.*(NEEDED).*\[\(.*\)\].*/\1/p' | grep -v '^libc\.so\.6$' | tr '\n' ' '; }
library=$build/core/library/libsmelt.so.0
[ -z "$(needed "$library")" ] || fail "libsmelt needs more than libc: $(needed "$library")"
PKG_CONFIG_PATH=$build/meson-uninstalled LD_LIBRARY_PATH=$build/core/library "$source/tests/abi/guide_test.py" "$source/core/library/guide.md" barrier.c ||
  fail "the guide's barrier"

shim=$build/gomp_shim/libsmelt_gomp.so
if [ -f "$shim" ]; then
  [ -z "$(needed "$shim")" ] || fail "the shim needs more than libc: $(needed "$shim")"
  cat >"$directory/regions.c" <<'PROGRAM'
#include <stdio.h>
int main(void) {
  int sum = 0;
  for (int i = 0; i < 100; ++i) {
#pragma omp parallel num_threads(2) reduction(+ : sum)
    {
      sum += 1;
#pragma omp barrier
    }
  }
  return printf("sum %d\n", sum) < 0;
}
PROGRAM
  ${CC:-cc} -O2 -fopenmp "$directory/regions.c" -o "$directory/regions" || fail "the OpenMP program is not built"
  LD_PRELOAD=$shim SMELT_STATS=1 "$directory/regions" >"$directory/out" 2>&1
  cat "$directory/out"
  grep -qx 'sum 200' "$directory/out" || fail "wrong result under the shim"
  grep -Eq 'smelt: .*[1-9][0-9]* .*barriers' "$directory/out" || fail "the shim served nothing"
else
  echo "skipped: no shim on this architecture"
fi

# The component was built where the headers of Open MPI's components are there.
component=$build/ompi_coll_smelt/mca_coll_smelt.so
if [ -f "$component" ]; then
  more=$(needed "$component" | tr ' ' '\n' | grep -vE '^(lib(open_)?mpi\.so\..*|libopen-pal\.so\..*|)$')
  [ -z "$more" ] || fail "the component needs more than Open MPI and libc: $more"
elif [ "${3-}" = component ]; then
  fail "no component: $(grep 'component is not built' "$directory/build.log")"
fi
echo "$failed violations"
[ "$failed" -eq 0 ]
