#!/bin/sh
# The component in another Debian, with its compiler and its Open MPI: builds there, and runs there the tests of tests/ompi_coll_smelt.
#   other_open_mpi_test.sh SOURCE_ROOT SUITE SERIES       e.g. . trixie 5.0; sid moves, and its Open MPI with it
# Exit 77, with a line that says why: skipped.
# The source is seen there read-only; what is built stays there for the next time.
set -eu
source=$(cd "$1" && pwd) suite=$2 series=$3
systems=$(dirname "$0")/../systems
root=$("$systems/root.sh" open-mpi "$suite")
# One build folder for each place of the source: ninja goes by dates, which say nothing between two copies.
build=/build/$(echo "$source" | cksum | cut -d ' ' -f 1)
mkdir -p "$root$build"
exec "$systems/enter.sh" -r "$source:/source" "$root" /source/tests/other_open_mpi/inside.sh "$build" "$series"
