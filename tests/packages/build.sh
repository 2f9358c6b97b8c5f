#!/bin/sh
# The Debian packages or the Python wheel of the source as it lies there, built in a root folder without network.
#   build.sh SOURCE_ROOT SUITE debs|wheel      prints the folder that they are in then
# Exit 77, with a line that says why: it cannot be done here. Otherwise what went wrong comes to standard error.
set -eu
source=$(cd "$1" && pwd) suite=$2 what=$3
here=$(cd "$(dirname "$0")" && pwd)
fail() { echo "FAIL: $*" >&2; exit 1; }
git -C "$source" rev-parse -q --verify HEAD >/dev/null 2>&1 || { echo "this is no checkout" >&2; exit 77; }
version=$(sed -n '1s/^smelt (\([^)-]*\)-.*/\1/p' "$source/debian/changelog")
grep -q "^  version: '$version'" "$source/meson.build" || fail "debian/changelog: $version; meson.build has another"
root=$("$here/../systems/root.sh" build "$suite")

# What meson dist would pack, were the work at hand committed.
place=$root/build/$what
rm -rf "$place"
mkdir -p "$place/products"
(cd "$source" && git ls-files --cached --others --exclude-standard | while read -r file; do
  [ ! -e "$file" ] || echo "$file"; done) >"$place/list"
tar -c -C "$source" -T "$place/list" --transform "s,^,smelt-$version/,S" --owner=0 --group=0 | tar -x -C "$place"
cp "$here/build_${what}.sh" "$place/"
"$here/../systems/enter.sh" -n "$root" sh "/build/$what/build_${what}.sh" "$version" >&2
echo "$place/products"
