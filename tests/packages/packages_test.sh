#!/bin/sh
# The Debian packages, as a maintainer would look at them and an administrator would meet them: built from the source
# in a root folder that has what debian/control asks for, without network; lintian finds no error; installed into a
# clean Debian, used (debian/tests), upgraded, removed, purged: nothing is left behind.
#   packages_test.sh SOURCE_ROOT SUITE          e.g. . bookworm
# Exit 77, with a line that says why: skipped. The packages stay in the root folder where they were built, in
# /build/packages. Both root folders are entered in namespaces of their own, so that nothing stays mounted or running;
# the clean one lies under a layer in memory that goes away with them.
set -eu
source=$(cd "$1" && pwd) suite=$2
here=$(cd "$(dirname "$0")" && pwd)
fail() { echo "FAIL: $*"; exit 1; }
git -C "$source" rev-parse -q --verify HEAD >/dev/null 2>&1 || { echo "skipped: this is no checkout"; exit 77; }
version=$(sed -n '1s/^smelt (\([^)-]*\)-.*/\1/p' "$source/debian/changelog")
grep -q "^  version: '$version'" "$source/meson.build" || fail "debian/changelog: $version; meson.build has another"
builder=$("$here/root.sh" build "$suite")
clean=$("$here/root.sh" use "$suite")

# What meson dist would pack, were the work at hand committed.
rm -rf "$builder/build/smelt-$version" "$builder/build/packages"
mkdir -p "$builder/build/packages" "$builder/build/ccache"
(cd "$source" && git ls-files --cached --others --exclude-standard | while read -r file; do
  [ ! -e "$file" ] || echo "$file"; done) >"$builder/build/list"
tar -c -C "$source" -T "$builder/build/list" --transform "s,^,smelt-$version/,S" --owner=0 --group=0 |
  tar -x -C "$builder/build"
cp "$here/build_inside.sh" "$builder/build/"

# inside ROOT COMMAND...: runs that in the root folder; with LAYER, in a layer over it that is forgotten.
inside() {
  unshare --mount --pid --fork --kill-child --propagation private --net sh -c '
    root=$1
    shift
    if [ -n "${LAYER-}" ]; then
      mount -t tmpfs tmpfs "$LAYER" && mkdir "$LAYER/upper" "$LAYER/work" "$LAYER/root" &&
        mount -t overlay -o "lowerdir=$root,upperdir=$LAYER/upper,workdir=$LAYER/work" overlay "$LAYER/root" || exit 1
      root=$LAYER/root
      mkdir "$root/packages" "$root/tests" && mount --bind "$PACKAGES" "$root/packages" &&
        mount --bind "$TESTS" "$root/tests" || exit 1
    fi
    mount -t proc proc "$root/proc" && mount --rbind /sys "$root/sys" && mount --rbind /dev "$root/dev" &&
      mount -t tmpfs -o mode=1777 tmpfs "$root/dev/shm" && mount -t tmpfs -o mode=1777 tmpfs "$root/tmp" || exit 1
    ip link set lo up 2>/dev/null || :
    exec chroot "$root" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LANG=C.UTF-8 \
      DEBIAN_FRONTEND=noninteractive "$@"' - "$@"
}
inside "$builder" sh /build/build_inside.sh "$version"

cp -r "$source/debian/tests" "$builder/build/packages/tests"
layer=$(mktemp -d)
trap 'rmdir "$layer"' EXIT
LAYER=$layer PACKAGES=$builder/build/packages TESTS=$here
export LAYER PACKAGES TESTS
inside "$clean" sh /tests/use_inside.sh "$version"
echo "Debian $suite: packages of $version built, installed, used, upgraded, purged"
