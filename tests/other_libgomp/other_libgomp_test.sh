#!/bin/sh
# The OpenMP shim on another GCC's libgomp: built by that compiler in another Debian, its tests, and libgomp's own suite in part.
#   other_libgomp_test.sh SOURCE_ROOT SUITE GCC [FULL]       e.g. . trixie 14; . sid 17 (gcc-snapshot); FULL: all of libgomp's suite
# Exit 77, with a line that says why: skipped.
# The root folder is entered in mount and process namespaces of its own, so that nothing stays mounted or running. The source is seen there
# read-only; what is built stays there for the next time.
set -eu
source=$(cd "$1" && pwd) suite=$2 gcc=$3
packages="g++ gfortran meson ninja-build pkgconf libhwloc-dev libfmt-dev nlohmann-json3-dev libcli11-dev libgtest-dev libboost-context-dev
  procps python3"
case $suite in
  trixie) packages="$packages gcc-14-source" after= ;;
  sid)
    # The snapshot's compilers for C, C++ and Fortran without what it wants for devices, 1 GB less; and the suite of the last release, for
    # its own source is in no package.
    packages="$packages gcc-16-source libisl23 libmpc3 libmpfr6 libzstd1"
    after='set -e; cd "$1/tmp"; APT_CONFIG=$MMDEBSTRAP_APT_CONFIG apt-get download gcc-snapshot; dpkg-deb --fsys-tarfile gcc-snapshot_*.deb |
      tar -x -C "$1" --exclude="*/accel/*" --exclude="*/lib32/*" --exclude="*/libx32/*" --exclude="*/lib/debug/*" --exclude="*/go/*" \
        --exclude="*/ada*" --exclude="*gnat*" --exclude="*/libgo*.a" --exclude="*/libgphobos*" --exclude="*/lib*jit*" --exclude="*/share/*"
      rm gcc-snapshot_*.deb' ;;
  *) echo "usage: other_libgomp_test.sh SOURCE_ROOT trixie|sid GCC" >&2; exit 2 ;;
esac
root=$("$(dirname "$0")/../other_open_mpi/root.sh" "$suite" "libgomps-$suite" "$packages" "$after")
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
