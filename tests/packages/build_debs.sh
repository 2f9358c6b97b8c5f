#!/bin/sh
# Part of build.sh: what runs inside the root folder where packages are built.
#   build_debs.sh VERSION
set -eu
fail() { echo "FAIL: $*"; exit 1; }
cd "$(dirname "$0")/smelt-$1"
# A maintainer's machine may have ccache; a second run of this test is quicker by it.
PATH=/usr/lib/ccache:$PATH CCACHE_DIR=/build/ccache
export PATH CCACHE_DIR
export DEB_BUILD_PROFILES=nocheck DEB_BUILD_OPTIONS="nocheck noautodbgsym parallel=$(nproc)"
dpkg-buildpackage -b -us -uc >../log 2>&1 || { tail -n 60 ../log; fail "dpkg-buildpackage"; }
# Debian 13's libc6 diverts the dynamic linker, for the merger of / and /usr; dpkg warns where a program names it, as the launcher does.
! grep -v 'dpkg-shlibdeps: warning: diversions involved' ../log |
  grep -i 'dpkg-gensymbols: warning\|dpkg-shlibdeps: warning\|component is not built\|dh_missing: warning' || fail "dpkg-buildpackage warns"
mv ../*.deb ../smelt_*.changes ../smelt_*.buildinfo ../products/
lintian --no-cfg --allow-root --display-info --fail-on error --suppress-tags initial-upload-closes-no-bugs \
  ../products/smelt_*.changes >../lintian 2>&1 || { cat ../lintian; fail "lintian"; }
sed -n 's/^[EWI]: /lintian: &/p' ../lintian
# The control: it does find an error where there is one.
mkdir -p /tmp/bad/DEBIAN /tmp/bad/usr/local/bin
printf 'Package: bad\nVersion: 1\nArchitecture: all\nMaintainer: x\nDescription: x\n' >/tmp/bad/DEBIAN/control
: >/tmp/bad/usr/local/bin/x
dpkg-deb -b /tmp/bad /tmp/bad.deb >/dev/null
! lintian --no-cfg --allow-root --fail-on error /tmp/bad.deb >/dev/null 2>&1 || fail "control: lintian finds no error"
for package in libsmelt0 libsmelt-dev smelt smelt-openmp openmpi-smelt smelt-doc; do
  [ "$(ls ../products | grep -c "^${package}_$1-.*\.deb$")" -eq 1 ] || fail "no package $package"
done
