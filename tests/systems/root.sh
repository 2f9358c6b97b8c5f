#!/bin/sh
# A root folder with another system in it: what tests of other systems are run in.
#   root.sh KIND SUITE        prints the folder, after making it if need be (one to three minutes, 0.4 to 1.5 GB)
# SUITE: Debian's bookworm, trixie or sid, Ubuntu's noble or resolute. KIND:
#   newcomer    a machine on which programs are run with Open MPI and nothing is built
#   open-mpi    what the tests of the components need
#   build       what debian/control asks for, and lintian
#   use         a compiler and MPI; what Smelt's packages depend on lies in apt's cache, so that installing them needs no network
#   image       what images of it start from
#   python      Python with numpy, scikit-learn and pip; no compiler
#   libgomps    what the tests of the OpenMP shim need, and the source of libgomp's suite; of sid also GCC's snapshot
# Exit 77, with one line to standard error: it cannot be made here.
# It lies in SMELT_TEST_ROOTS, or in the cache (XDG_CACHE_HOME or ~/.cache), outside the repository, and is made anew when the packages
# below change. Remove it with rm -rf.
set -eu
kind=$1 suite=$2
case $suite in
  noble | resolute) mirror=http://archive.ubuntu.com/ubuntu components=main,universe ;;
  *) mirror=http://deb.debian.org/debian components=main ;;
esac
variant=apt fetched=
case $kind in
  newcomer) packages="ca-certificates procps openmpi-bin" ;;
  # libpmix-dev: Open MPI's headers include PMIx's. procps: tests look for processes that are left; iproute2: for two pretended nodes.
  open-mpi) variant=essential packages="g++ meson ninja-build pkgconf libopenmpi-dev libpmix-dev openmpi-bin libhwloc-dev libfmt-dev
    nlohmann-json3-dev libcli11-dev libboost-context-dev libgtest-dev procps iproute2" ;;
  build) variant=buildd packages="lintian fakeroot debhelper meson ninja-build pkgconf libhwloc-dev libfmt-dev nlohmann-json3-dev
    libcli11-dev libboost-context-dev libfabric-dev libopenmpi-dev libpmix-dev openmpi-bin doxygen bash-completion" ;;
  use) packages="gcc libc6-dev libgomp1 openmpi-bin libopenmpi-dev pkgconf"
    fetched="libhwloc15 libfabric1 $([ "$suite" = bookworm ] && echo libfmt9 || echo libfmt10)" ;;
  image) variant=minbase packages=ca-certificates ;;
  python) packages="python3-venv python3-pip python3-numpy python3-sklearn libopenblas0-openmp procps" ;;
  libgomps)
    packages="g++ gfortran meson ninja-build pkgconf libhwloc-dev libfmt-dev nlohmann-json3-dev libcli11-dev libgtest-dev
      libboost-context-dev procps python3"
    case $suite in
      trixie) packages="$packages gcc-14-source" ;;
      sid) packages="$packages gcc-16-source libisl23 libmpc3 libmpfr6 libzstd1" fetched=gcc-snapshot ;;
    esac ;;
  *) echo "usage: root.sh newcomer|open-mpi|build|use|image|python|libgomps SUITE" >&2; exit 2 ;;
esac
packages=$(echo $packages | tr ' ' ,)

cannot() { echo "no root folder with $suite: $*" >&2; exit 77; }
[ "$(id -u)" -eq 0 ] || cannot "that takes root"
command -v mmdebstrap >/dev/null || cannot "install mmdebstrap"
unshare --mount true 2>/dev/null || cannot "no mount namespaces here"

cache=${SMELT_TEST_ROOTS:-${XDG_CACHE_HOME:-$HOME/.cache}/smelt-tests}
root=$cache/$kind-$suite
mkdir -p "$cache"
exec 9>"$root.lock"
flock 9
if [ "$(cat "$root/smelt-packages" 2>/dev/null)" != "$packages,$fetched" ]; then
  echo "making $root" >&2
  rm -rf --one-file-system "$root" "$root.new"
  # How apt reaches its mirrors here, and whether it minds their age, goes for the other system as well.
  set --
  for name in Acquire::http::Proxy Acquire::https::Proxy Acquire::Check-Valid-Until; do
    value=$(apt-config shell value "$name") && [ -n "$value" ] || continue
    eval "$value"
    set -- "$@" --aptopt="$name \"$value\";"
  done
  # Debian 12 has no package of Ubuntu's keys; Debian 13 has, signed as all of its packages are.
  keys=/usr/share/keyrings/ubuntu-archive-keyring.gpg
  if [ "$components" = main,universe ] && [ ! -e $keys ]; then
    keys=$cache/keys$keys
    [ -e "$keys" ] || mmdebstrap --mode=root --variant=extract --include=ubuntu-archive-keyring "$@" trixie "$cache/keys" \
      >"$cache/keys.log" 2>&1 </dev/null 9>&- || cannot "Ubuntu's keys: $(grep '^E:' "$cache/keys.log" | head -n 1) ($cache/keys.log)"
  fi
  [ "$components" = main ] || set -- "$@" --keyring="$keys"
  case $kind in
    newcomer | image) ;;
    use) set -- "$@" --skip=cleanup/apt --customize-hook="chroot \"\$1\" apt-get install --yes --download-only $fetched" ;;
    libgomps)
      # The snapshot's compilers for C, C++ and Fortran without what it wants for devices, 1 GB less. The suite is the last release's,
      # for the snapshot's own source is in no package.
      [ -z "$fetched" ] || set -- "$@" --customize-hook='set -e; cd "$1/tmp"; APT_CONFIG=$MMDEBSTRAP_APT_CONFIG apt-get download '$fetched'
        dpkg-deb --fsys-tarfile gcc-snapshot_*.deb | tar -x -C "$1" --exclude="*/accel/*" --exclude="*/lib32/*" --exclude="*/libx32/*" \
          --exclude="*/lib/debug/*" --exclude="*/go/*" --exclude="*/ada*" --exclude="*gnat*" --exclude="*/libgo*.a" \
          --exclude="*/libgphobos*" --exclude="*/lib*jit*" --exclude="*/share/*"
        rm gcc-snapshot_*.deb' ;;
    build) set -- "$@" --dpkgopt='path-exclude=/usr/share/man/*' --dpkgopt='path-exclude=/usr/share/locale/*' ;;
    *) set -- "$@" --dpkgopt='path-exclude=/usr/share/doc/*' --dpkgopt='path-exclude=/usr/share/man/*' \
      --dpkgopt='path-exclude=/usr/share/locale/*' ;;
  esac
  mmdebstrap --mode=root --variant=$variant --components=$components --include="$packages" --aptopt='Acquire::Languages "none";' \
    --aptopt='APT::Install-Recommends "false";' "$@" "$suite" "$root.new" "$mirror" >"$root.log" 2>&1 </dev/null 9>&- ||
    { rm -rf --one-file-system "$root.new"; cannot "mmdebstrap: $(grep '^E:' "$root.log" | head -n 1) ($root.log)"; }
  echo "$packages,$fetched" >"$root.new/smelt-packages"
  mv "$root.new" "$root"
fi
echo "$root"
