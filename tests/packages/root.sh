#!/bin/sh
# A root folder with a Debian in it.
#   root.sh build|use SUITE        prints the folder, after making it if need be (minutes; 1.5 GB and 0.7 GB)
# build: what debian/control asks for, and lintian. use: Debian without anything of Smelt's; what the packages depend on
# lies in apt's cache there, so that installing them needs no network.
# Exit 77, with one line to standard error: it cannot be made here.
# It lies in the cache (XDG_CACHE_HOME or ~/.cache), outside the repository, and is made anew when the packages below
# change.
# Remove it with rm -rf.
set -eu
kind=$1 suite=$2
fetched=
case $kind in
  build) variant=buildd packages="lintian fakeroot debhelper meson ninja-build pkgconf libhwloc-dev libfmt-dev
    nlohmann-json3-dev libcli11-dev libboost-context-dev libfabric-dev libopenmpi-dev libpmix-dev openmpi-bin doxygen
    bash-completion" ;;
  # A compiler and MPI, for the programs that are to be run; the packages' own dependencies are only fetched.
  use) variant=apt packages="gcc libc6-dev libgomp1 openmpi-bin libopenmpi-dev pkgconf"
    fetched="libhwloc15 libfabric1 $([ "$suite" = bookworm ] && echo libfmt9 || echo libfmt10)" ;;
  *) echo "usage: root.sh build|use SUITE" >&2; exit 2 ;;
esac
packages=$(echo $packages | tr ' ' ,)

cannot() { echo "no root folder with Debian $suite: $*" >&2; exit 77; }
[ "$(id -u)" -eq 0 ] || cannot "that takes root"
command -v mmdebstrap >/dev/null || cannot "install mmdebstrap"
unshare --mount true 2>/dev/null || cannot "no mount namespaces here"

cache=${XDG_CACHE_HOME:-$HOME/.cache}/smelt-tests
root=$cache/packages-$kind-$suite
mkdir -p "$cache"
exec 9>"$cache/packages-$kind-$suite.lock"
flock 9
if [ "$(cat "$root/smelt-packages" 2>/dev/null)" != "$packages,$fetched" ]; then
  echo "making $root" >&2
  rm -rf --one-file-system "$root" "$root.new"
  # How apt reaches its mirrors here, and whether it minds their age, goes for the other Debian as well.
  set --
  for name in Acquire::http::Proxy Acquire::https::Proxy Acquire::Check-Valid-Until; do
    value=$(apt-config shell value "$name") && [ -n "$value" ] || continue
    eval "$value"
    set -- "$@" --aptopt="$name \"$value\";"
  done
  if [ "$kind" = build ]; then
    set -- "$@" --dpkgopt='path-exclude=/usr/share/man/*' --dpkgopt='path-exclude=/usr/share/locale/*'
  else
    set -- "$@" --skip=cleanup/apt --customize-hook="chroot \"\$1\" apt-get install --yes --download-only $fetched"
  fi
  mmdebstrap --mode=root --variant=$variant --include="$packages" --aptopt='Acquire::Languages "none";' \
    --aptopt='APT::Install-Recommends "false";' "$@" "$suite" "$root.new" >"$root.log" 2>&1 </dev/null 9>&- ||
    { rm -rf --one-file-system "$root.new"; cannot "mmdebstrap: $(grep '^E:' "$root.log" | head -n 1) ($root.log)"; }
  echo "$packages,$fetched" >"$root.new/smelt-packages"
  mv "$root.new" "$root"
fi
echo "$root"
