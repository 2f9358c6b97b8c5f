#!/bin/sh
# The OpenMP shim on another GCC's libgomp: built by that compiler in another Debian, its tests, and libgomp's own suite in part.
#   other_libgomp_test.sh SOURCE_ROOT SUITE GCC [FULL]       e.g. . trixie 14; . sid 17 (gcc-snapshot); FULL: all of libgomp's suite
# Exit 77, with a line that says why: skipped.
# The root folder is entered in mount and process namespaces of its own, so that nothing stays mounted or running. The source is seen there
# read-only; what is built stays there for the next time.
set -eu
source=$(cd "$1" && pwd) suite=$2 gcc=$3
case $suite in
  trixie | sid) ;;
  *) echo "usage: other_libgomp_test.sh SOURCE_ROOT trixie|sid GCC" >&2; exit 2 ;;
esac
root=$("$(dirname "$0")/../systems/root.sh" libgomps "$suite")
path= libraries=
if [ "$gcc" = 17 ]; then path=/usr/lib/gcc-snapshot/bin: libraries=/usr/lib/gcc-snapshot/lib; fi
# One build folder for each place of the source: ninja goes by dates, which say nothing between two copies.
build=/build/$gcc-$(echo "$source" | cksum | cut -d ' ' -f 1)
mkdir -p "$root/source" "$root$build"
exec unshare --mount --pid --fork --kill-child --propagation private sh -c '
  root=$1 source=$2
  shift 2
  mount -t proc proc "$root/proc" && mount --rbind /sys "$root/sys" && mount --rbind /dev "$root/dev" &&
    mount -t tmpfs -o mode=1777 tmpfs "$root/dev/shm" && mount -t tmpfs -o mode=1777 tmpfs "$root/tmp" &&
    mount --bind "$source" "$root/source" && mount -o remount,bind,ro "$root/source" || exit 1
  exec chroot "$root" env -i HOME=/root LANG=C.UTF-8 "$@"' \
  - "$root" "$source" PATH="$path/usr/sbin:/usr/bin:/sbin:/bin" ${libraries:+LD_LIBRARY_PATH=$libraries LD_RUN_PATH=$libraries} \
  /source/tests/other_libgomp/inside.sh "$build" "$gcc" "${4-}"
