#!/bin/sh
# Part of packages_test.sh: what runs inside a clean Debian. The packages lie in /packages, the source's debian/ in /debian.
#   use_inside.sh VERSION
set -eu
version=$1
fail() { echo "FAIL: $*"; exit 1; }
quietly() { "$@" >/tmp/log 2>&1 || { tail -n 40 /tmp/log; fail "$*"; }; }
apt() { quietly apt-get -y --no-install-recommends "$@"; }  # there is no network: from apt's cache
calibrated() { quietly smelt calibrate --system --no-methods --race 0 --limit 20 --quiet; }

# What is there: names, modes, owners, links, contents, but for what each use of apt and dpkg writes to.
inventory() {
  find / -xdev \( -path /proc -o -path /sys -o -path /dev -o -path /tmp -o -path /packages -o -path /debian -o -path /tests -o \
    -path /run -o -path '/var/cache/*' -o -path '/var/log/*' -o -path /etc/ld.so.cache -o -path '/var/lib/dpkg/*-old' -o \
    -path '/var/lib/dpkg/lock*' -o -path /var/lib/dpkg/status -o -path /var/lib/dpkg/available -o \
    -path /var/lib/apt/extended_states \) -prune -o -printf '%y %m %u:%g %p %l\n' >/tmp/names
  sed -n 's/^f [0-7]* [^ ]* \(.*\) $/\1/p' /tmp/names | tr '\n' '\0' | xargs -0 -r md5sum >/tmp/sums
  sort /tmp/names /tmp/sums
}

# What the packages depend on stays: it is Debian's.
apt install $(dpkg-deb -f /packages/smelt_*.deb Depends | tr ',' '\n' | sed 's/(.*//; s/|.*//')
inventory >/tmp/before
packages_before=$(dpkg-query -W -f '${Package} ${Version} ${Status}\n')

apt install /packages/*.deb
[ "$(dpkg-query -W -f '${Package} ${Status}\n' '*smelt*' | grep -c 'install ok installed$')" -eq 6 ] ||
  fail "not all are installed"
[ -z "$(dpkg --verify 2>&1 | grep smelt || :)" ] || fail "dpkg --verify"
inventory >/tmp/installed
echo "installed: $(diff /tmp/before /tmp/installed | grep -c '^> [fdl] ') files"
# Of a name in the system's library folder there is nothing but the libraries.
! dpkg -L smelt-openmp openmpi-smelt smelt | grep -E '^/usr/lib/[^/]*-linux-gnu/[^/]*\.so' ||
  fail "a file among the libraries"

# Used as Debian would (debian/tests/control).
for test in $(sed -n 's/^Tests: //p' /debian/tests/control); do
  mkdir "/tmp/$test"
  (cd "/tmp/$test" && AUTOPKGTEST_TMP=/tmp/$test "/debian/tests/$test") >/tmp/log 2>&1 ||
    { cat /tmp/log; fail "debian/tests/$test"; }
  sed "s/^/$test: /" /tmp/log
done

# The units are there, and off.
[ -n "$(find /usr/lib/systemd/system /lib/systemd/system -name smelt-calibrate.timer 2>/dev/null)" ] || fail "no unit"
[ -z "$(find /etc/systemd -name '*smelt*' 2>/dev/null)" ] || fail "a unit is switched on"

# Upgraded from what would have been called 0.1: the profile stays.
mkdir /tmp/old
for package in /packages/*.deb; do
  dpkg-deb -R "$package" /tmp/one
  sed -i "s/^Version: .*/Version: 0.1.0-1/; s/(= $version-[0-9]*)/(= 0.1.0-1)/" /tmp/one/DEBIAN/control
  dpkg-deb -b /tmp/one /tmp/old/ >/dev/null
  rm -rf /tmp/one
done
apt purge '?name(smelt)'
quietly dpkg -i /tmp/old/*.deb
! smelt profile verify --system --quiet || fail "a system profile that nobody made"
calibrated
[ -n "$(find /var/lib/smelt -name '*.profile')" ] || fail "no system profile"
smelt profile verify --system --quiet || fail "the system profile is not believed"
apt install /packages/*.deb
versions=$(dpkg-query -W -f '${db:Status-Abbrev}${Version}\n' '*smelt*' | sed -n 's/^ii *//p' | sort -u)
[ "$versions" = "$(dpkg-deb -f /packages/smelt_*.deb Version)" ] || fail "not upgraded: $versions"
smelt profile verify --system --quiet || fail "an upgrade loses the profile"
echo "upgraded from 0.1.0-1"

# Removed: the profile stays. Purged: nothing does.
apt remove '?name(smelt)'
[ -n "$(find /var/lib/smelt -name '*.profile')" ] || fail "a removal takes the profile away"
apt purge '?name(smelt)'
inventory >/tmp/after
diff /tmp/before /tmp/after >/tmp/left || { cat /tmp/left; fail "left behind after the purge"; }
[ "$(dpkg-query -W -f '${Package} ${Version} ${Status}\n')" = "$packages_before" ] ||
  fail "dpkg still knows of something"
# The control: a single file more is seen.
: >/etc/smelt-left-behind
inventory >/tmp/after
! diff /tmp/before /tmp/after >/dev/null || fail "control: the inventory sees nothing"
echo "purged: nothing is left"
