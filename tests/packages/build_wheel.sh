#!/bin/sh
# Part of build.sh: what runs inside the root folder where the wheel is built.
#   build_wheel.sh VERSION
set -eu
cd "$(dirname "$0")/smelt-$1"
quietly() { "$@" >../log 2>&1 || { tail -n 60 ../log; echo "FAIL: $*"; exit 1; }; }
# The program finds the libraries that it brings. The profiles of the system are where Debian's package has them.
quietly meson setup ../built --prefix=/usr --libdir=lib --localstatedir=/var -Dtests=false -Dbench=false -Dmpi=disabled -Drails=disabled \
  -Dcpp_link_args='-Wl,--disable-new-dtags,-rpath,$ORIGIN/bundled'
quietly ninja -C ../built -j "$(nproc)"
quietly meson install -C ../built --no-rebuild --strip --destdir "$PWD/../tree"
contrib/wheel/make_wheel.py ../tree/usr "$1" . ../products
