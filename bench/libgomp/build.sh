#!/bin/sh
# Builds OUT_DIR/libgomp.so.1 from the source package of this gcc: GCC's own libgomp with the barrier of this directory, or
# unchanged, the control that shows that building it oneself changes nothing.
#   build.sh OUT_DIR [--stock]          exit status 77: the source package is not installed
# Debian installs it as gcc-N-source; only upstream's release is used, none of Debian's patches. CC and MAKEFLAGS are honoured.
set -eu
here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
usage() { echo "usage: build.sh OUT_DIR [--stock]" >&2; exit 2; }
[ $# -ge 1 ] && [ $# -le 2 ] && [ "${2:---stock}" = --stock ] || usage
case $1 in -* | '') usage ;; esac
stock=${2:-}

cc=${CC:-gcc}
version=$($cc -dumpversion) && version=${version%%.*}
tarball=
for candidate in "/usr/src/gcc-$version/gcc-$version".*.tar.*; do [ ! -f "$candidate" ] || tarball=$candidate; done
if [ -z "$tarball" ]; then
  echo "build.sh: no source of gcc $version under /usr/src: install the package gcc-$version-source" >&2
  exit 77
fi

mkdir -p "$1"
out=$(CDPATH='' cd -- "$1" && pwd)
work=$(mktemp -d "$out/work.XXXXXX")
log=$out/build.log
trap 'rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM

# libgomp, what it includes of the rest, and the files that its configure wants to see above itself.
tar -xf "$tarball" -C "$work" --strip-components=1 --wildcards --no-wildcards-match-slash --exclude='*/testsuite/libgomp.*' \
  '*/libgomp' '*/include' '*/config' '*/gcc/BASE-VER' '*/config[.-]*' '*/libtool*' '*/lt*.*' '*/install-sh' '*/missing' '*/depcomp' \
  '*/compile' '*/mkinstalldirs' '*/multilib.am' '*/move-if-change'
[ -n "$stock" ] || cp "$here/bar.h" "$here/bar.c" "$work/libgomp/config/linux/"

# The OpenACC module in Fortran is part of the library, so it is built where there is a compiler (configure wants its whole
# path), and missed by nobody who has none. No -Werror: a newer compiler's warning is no reason to have no yardstick.
fortran=$(command -v "gfortran-$version" || command -v gfortran) || fortran=no
mkdir "$work/build"
if ! ( cd "$work/build" &&
  ../libgomp/configure CC="$cc" CFLAGS='-g -O2' GFORTRAN="$fortran" --disable-multilib --disable-werror --disable-static \
    --with-gcc-major-version-only &&
  make libgomp.la ) >"$log" 2>&1; then
  tail -n 20 "$log" >&2
  echo "build.sh: libgomp does not build; all that was said is in $log" >&2
  exit 1
fi
# Not cp alone: a program that has the old file mapped keeps it.
cp -L "$work/build/.libs/libgomp.so.1" "$work/libgomp.so.1" && mv -f "$work/libgomp.so.1" "$out/libgomp.so.1"
