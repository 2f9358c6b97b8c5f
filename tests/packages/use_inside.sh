#!/bin/sh
# Part of packages_test.sh: what runs inside a clean Debian. Packages lie in /packages, this folder in /tests.
#   use_inside.sh VERSION
set -eu
version=$1
fail() { echo "FAIL: $*"; exit 1; }
quietly() { "$@" >/tmp/log 2>&1 || { tail -n 40 /tmp/log; fail "$*"; }; }
# What is there: names, types, modes, owners, links, and contents, but for what every installation writes to.
inventory() {
  find / -xdev \( -path /proc -o -path /sys -o -path /dev -o -path /tmp -o -path /packages -o -path /tests -o -path '/var/cache/*' -o \
    -path /var/log/apt -o -path /var/log/dpkg.log -o -path /var/log/alternatives.log -o -path /etc/ld.so.cache -o -path '/var/lib/dpkg/*-old' -o \
    -path '/var/lib/apt/extended_states' -o -path '/var/lib/dpkg/lock*' -o -path /root/.cache -o -path /run \) -prune -o \
    \( -type f -printf '%p %y %m %u ' -exec md5sum {} \; \) -o -printf '%p %y %m %u %l\n' | sort
}
apt_offline() { quietly apt-get -y --no-download --no-install-recommends "$@"; }

# What the packages depend on stays: it is Debian's, not ours.
apt_offline install $(dpkg-deb -f /packages/smelt_*.deb Depends | tr ',' '\n' | sed 's/(.*//; s/|.*//' | grep -v smelt)
inventory >/tmp/before
status_before=$(dpkg-query -W -f '${Package} ${Version} ${Status}\n')

apt_offline install /packages/*.deb
dpkg-query -W -f '${Package} ${Status}\n' | grep smelt
[ "$(dpkg-query -W -f '${Package} ${Status}\n' '*smelt*' | grep -c 'install ok installed$')" -eq 6 ] || fail "not all are installed"
[ -z "$(dpkg --verify 2>&1 | grep smelt || :)" ] || fail "dpkg --verify"
! find /usr /etc /var -xdev -user nobody | grep . || fail "files of nobody's"

# Used as it says: the tests that Debian would run (debian/tests/control).
for test in /tests/../debian-tests/* /packages/tests/*; do
  [ -x "$test" ] || continue
  AUTOPKGTEST_TMP=$(mktemp -d)
  export AUTOPKGTEST_TMP
  (cd "$AUTOPKGTEST_TMP" && "$test") >/tmp/log 2>&1 || { cat /tmp/log; fail "$test"; }
  sed "s/^/${test##*/}: /" /tmp/log
done

# The units are there and off.
[ -f /lib/systemd/system/smelt-calibrate.timer ] || [ -f /usr/lib/systemd/system/smelt-calibrate.timer ] || fail "no unit"
! find /etc/systemd /var/lib/systemd -name '*smelt*' 2>/dev/null | grep -v 'deb-systemd-helper-\(enabled\|masked\)/.*dsh-also' | grep '\.wants' ||
  fail "a unit is switched on"

# What a calibration leaves for all users goes with a purge, and with nothing less.
quietly smelt calibrate --system --no-methods --race 0 --limit 20 --quiet
[ -n "$(find /var/lib/smelt -name '*.profile')" ] || fail "no system profile"
smelt profile verify --system --quiet || fail "the system profile is not believed"

# Upgrades: the same packages, called 0.1.0-1, then these.
mkdir /tmp/old
for package in /packages/*.deb; do
  rm -rf /tmp/one
  dpkg-deb -R "$package" /tmp/one
  sed -i "s/^Version: .*/Version: 0.1.0-1/; s/(= $version-[0-9]*)/(= 0.1.0-1)/" /tmp/one/DEBIAN/control
  dpkg-deb -b /tmp/one /tmp/old/ >/dev/null
done
apt_offline purge '?name(smelt)'
quietly dpkg -i /tmp/old/*.deb
quietly smelt calibrate --system --no-methods --race 0 --limit 20 --quiet
apt_offline install /packages/*.deb
[ "$(dpkg-query -W -f '${Version}\n' '*smelt*' | sort -u)" = "$(dpkg-deb -f "$(ls /packages/smelt_*.deb)" Version)" ] || fail "not upgraded"
smelt profile verify --system --quiet || fail "an upgrade loses the profile"

apt_offline remove libsmelt0 smelt smelt-openmp openmpi-smelt smelt-doc
[ -n "$(find /var/lib/smelt -name '*.profile')" ] || fail "a removal takes the profile away"
apt_offline purge '?name(smelt)'
rm -rf /tmp/old /tmp/one
inventory >/tmp/after
diff /tmp/before /tmp/after >/tmp/left || { cat /tmp/left; fail "left behind after the purge"; }
[ "$(dpkg-query -W -f '${Package} ${Version} ${Status}\n')" = "$status_before" ] || fail "dpkg knows of something"
echo "purged: nothing is left"
