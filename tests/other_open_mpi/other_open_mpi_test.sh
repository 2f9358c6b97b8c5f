#!/bin/sh
# The component in another Debian, with its compiler and its Open MPI: builds there, and runs there the tests of tests/ompi_coll_smelt.
#   other_open_mpi_test.sh SOURCE_ROOT SUITE SERIES       e.g. . trixie 5.0, or by hand . sid 6.0, which moves
# Exit 77, with a line that says why: skipped.
# The root folder (root.sh) is entered in mount and process namespaces of its own, so that nothing stays mounted or running.
# The source is seen there read-only; what is built stays there for the next time.
set -eu
source=$(cd "$1" && pwd) suite=$2 series=$3
root=$("$(dirname "$0")/root.sh" "$suite")
# One build folder for each place of the source: ninja goes by dates, which say nothing between two copies.
build=/build/$(echo "$source" | cksum | cut -d ' ' -f 1)
mkdir -p "$root/source" "$root$build"
exec unshare --mount --pid --fork --kill-child --propagation private sh -c '
  root=$1 source=$2
  shift 2
  mount -t proc proc "$root/proc" && mount --rbind /sys "$root/sys" && mount --rbind /dev "$root/dev" &&
    mount -t tmpfs -o mode=1777 tmpfs "$root/dev/shm" && mount -t tmpfs -o mode=1777 tmpfs "$root/tmp" &&
    mount --bind "$source" "$root/source" && mount -o remount,bind,ro "$root/source" || exit 1
  exec chroot "$root" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LANG=C.UTF-8 "$@"' \
  - "$root" "$source" /source/tests/other_open_mpi/inside.sh "$build" "$series"
