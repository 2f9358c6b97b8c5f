#!/bin/sh
# The sources of Open MPI's components against the headers of another Debian's Open MPI, compiled and not linked: what a change that was
# tried with this machine's Open MPI alone breaks there. The whole of it, with the tests: other_open_mpi_test.sh.
#   headers_test.sh SOURCE_ROOT BUILD_ROOT SUITE SERIES     e.g. . build trixie 5.0
# Exit 77, with a line that says why: skipped.
set -eu
source=$(cd "$1" && pwd) build=$(cd "$2" && pwd) suite=$3 series=$4
skip() { echo "skipped: $*"; exit 77; }
fail() { echo "FAIL: $*"; exit 1; }
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT

# Two packages of that suite, taken apart; nothing is installed, and this machine's apt is left alone.
command -v apt-get >/dev/null || skip "no apt-get here"
mkdir -p "$place/apt/lists/partial" "$place/apt/archives/partial" "$place/headers"
echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] http://deb.debian.org/debian $suite main" >"$place/apt/sources"
: >"$place/apt/status"
apt() {
  (cd "$place/apt" && apt-get -q -o Dir::Etc::SourceList="$place/apt/sources" -o Dir::Etc::SourceParts=/dev/null \
    -o Dir::State="$place/apt" -o Dir::State::status="$place/apt/status" -o Dir::Cache="$place/apt" -o Acquire::Languages=none \
    -o APT::Sandbox::User="$(id -un)" -o Acquire::Retries=3 "$@") >"$place/log" 2>&1
}
apt update && apt download libopenmpi-dev libpmix-dev || skip "no packages of $suite: $(grep '^[EW]:' "$place/log" | head -n 1)"
for package in "$place"/apt/*.deb; do dpkg-deb -x "$package" "$place/headers"; done
openmpi=$(find "$place/headers" -path '*/openmpi/include' -type d | head -n 1)
pmix=$(find "$place/headers" -path '*/pmix2/include' -type d | head -n 1)
[ -n "$openmpi" ] && [ -n "$pmix" ] || fail "the packages have no headers where they are looked for"

wide=-mcx16  # as in ompi_pml_smelt/meson.build
cc $wide -E -x c /dev/null >/dev/null 2>&1 || wide=
compiles() {
  cc -std=gnu11 -fsyntax-only -Wall -Wextra -Werror -D_GNU_SOURCE -pthread $wide -I"$source" -I"$source/core" -I"$source/core/include" \
    -I"$build/ompi_coll_smelt" -I"$source/ompi_coll_smelt" -isystem "$pmix" -isystem "$pmix/pmix" -isystem "$openmpi" \
    -isystem "$openmpi/openmpi" -idirafter "$source/ompi_coll_smelt/left_out" -x c "$@"
}
printf '#include <mpi.h>\n_Static_assert(OMPI_MAJOR_VERSION == %s && OMPI_MINOR_VERSION == %s, "series");\n' "${series%.*}" "${series#*.}" |
  compiles - || fail "these headers are not of Open MPI $series"
# The control: where this is compiled, 4.1's headers are used.
! echo '#include "opal/mca/pmix/pmix.h"' | compiles -include ompi_config.h - 2>/dev/null || fail "control: a header of 4.1 alone is found"
for folder in "$source/ompi_coll_smelt" "$source/ompi_pml_smelt"; do
  [ ! -e "$folder/compat_$(echo "$series" | tr . _).h" ] || ls "$folder"/*.c
done >"$place/files"
! grep -q /ompi_coll_smelt/ "$place/files" || ls "$source"/rails/nodes/*.c >>"$place/files"  # of the same component
[ -s "$place/files" ] || fail "no component knows Open MPI $series"
while read -r file; do
  compiles "$file" || { echo "$file" >>"$place/failed"; }
done <"$place/files"
[ ! -e "$place/failed" ] || fail "$(wc -l <"$place/failed") of $(wc -l <"$place/files") files do not compile with Open MPI $series"
echo "$(wc -l <"$place/files") files compile with the headers of Open MPI $series"
