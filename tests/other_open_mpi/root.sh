#!/bin/sh
# A root folder with another Debian in it, for its Open MPI and compiler; or for what else a test wants of it.
#   root.sh SUITE                            prints the folder, after making it if need be (three minutes, 0.8 GB)
#   root.sh SUITE NAME PACKAGES [COMMAND]    the one of that name, with these packages; then with what a shell command puts into it (mmdebstrap's
#                                            --customize-hook)
# Exit 77, with one line to standard error: it cannot be made here.
# It lies in the cache (XDG_CACHE_HOME or ~/.cache), outside the repository, and is made anew when the packages below change.
# Remove it with rm -rf.
set -eu
suite=$1 name=${2-$1} after=${4-}
# libpmix-dev: Open MPI's headers include PMIx's. procps: tests look for processes that are left; iproute2: for two pretended nodes.
packages="g++ meson ninja-build pkgconf libopenmpi-dev libpmix-dev openmpi-bin libhwloc-dev libfmt-dev nlohmann-json3-dev libcli11-dev \
  libgtest-dev procps iproute2"
packages=$(echo ${3-$packages} | tr ' ' ,)

cannot() { echo "no root folder with Debian $suite: $*" >&2; exit 77; }
[ "$(id -u)" -eq 0 ] || cannot "that takes root"
command -v mmdebstrap >/dev/null || cannot "install mmdebstrap"
unshare --mount true 2>/dev/null || cannot "no mount namespaces here"

cache=${XDG_CACHE_HOME:-$HOME/.cache}/smelt-tests
root=$cache/$name
mkdir -p "$cache"
exec 9>"$cache/$name.lock"
flock 9
if [ "$(cat "$root/smelt-packages" 2>/dev/null)" != "$packages${after:+ $after}" ]; then
  echo "making $root" >&2
  rm -rf --one-file-system "$root" "$root.new"
  # How apt reaches its mirrors here, and whether it minds their age, goes for the other Debian as well.
  set --
  for option in Acquire::http::Proxy Acquire::https::Proxy Acquire::Check-Valid-Until; do
    value=$(apt-config shell value "$option") && [ -n "$value" ] || continue
    eval "$value"
    set -- "$@" --aptopt="$option \"$value\";"
  done
  [ -z "$after" ] || set -- "$@" --customize-hook="$after"
  mmdebstrap --mode=root --variant=essential --include="$packages" --aptopt='Acquire::Languages "none";' "$@" \
    --dpkgopt='path-exclude=/usr/share/doc/*' --dpkgopt='path-exclude=/usr/share/man/*' \
    --dpkgopt='path-exclude=/usr/share/locale/*' "$suite" "$root.new" >"$cache/$name.log" 2>&1 </dev/null 9>&- ||
    { rm -rf --one-file-system "$root.new"; cannot "mmdebstrap: $(grep '^E:' "$cache/$name.log" | head -n 1) ($cache/$name.log)"; }
  echo "$packages${after:+ $after}" >"$root.new/smelt-packages"
  mv "$root.new" "$root"
fi
echo "$root"
