#!/bin/sh
# ./release, as far as it takes seconds: the tarball of a tag, and of a commit without one, in a copy of this repository, with its recipes
# and checksums; and what it refuses. What its packages and its wheel are worth is the other tests' subject here: they come from the same build.sh.
#   release_test.sh SOURCE_ROOT
# Exit 77, with a line that says why: skipped.
set -eu
source=$(cd "$1" && pwd)
git -C "$source" rev-parse -q --verify HEAD >/dev/null 2>&1 || { echo "skipped: this is no checkout"; exit 77; }
fail() { echo "FAIL: $*"; exit 1; }
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
version=$(sed -n "s/^  version: '\(.*\)',$/\1/p" "$source/meson.build")

# The work at hand as a commit, dated and tagged, as a maintainer would leave it.
git init --quiet "$place/source"
(cd "$source" && git ls-files --cached --others --exclude-standard | while read -r file; do [ ! -e "$file" ] || echo "$file"; done) |
  tar -c -C "$source" -T - | tar -x -C "$place/source"
cd "$place/source"
commit() { git add -A && git -c user.name=x -c user.email=x@smelt.example commit --quiet --message "$1"; }
commit "as it is"

# A checkout without tags: a version of its commit's date, after the last release and before the next.
sed -i "s/^## $version (.*/## $version (unreleased)/" CHANGELOG.md
commit "on the way" || :
./release HEAD "$place/snapshot" source >"$place/said" 2>&1 || { cat "$place/said"; fail "./release HEAD"; }
dated=$(cd "$place/snapshot" && ls smelt-*.tar.xz | sed 's/^smelt-//; s/\.tar\.xz$//')
echo "$dated" | grep -qx "0\.[0-9]*\.$(git show -s --format=%cs | tr -d -)+g$(git rev-parse --short=10 HEAD)" || fail "its version: $dated"
if command -v dpkg >/dev/null; then
  dpkg --compare-versions 0.1.0-1 lt "$dated-1" && dpkg --compare-versions "$dated-1" lt "$version-1" || fail "how Debian sorts $dated"
fi
tar -xJf "$place/snapshot/smelt-$dated.tar.xz" -C "$place"
[ "$(sed -n '1s/^smelt (\(.*\)).*/\1/p' "$place/smelt-$dated/debian/changelog")" = "$dated-1" ] || fail "its changelog"
! grep -q " $version" "$place/smelt-$dated/debian/libsmelt0.symbols" || fail "its library asks for a later version"
meson setup "$place/build" "$place/smelt-$dated" -Dcli=disabled -Dmpi=disabled -Drails=disabled >"$place/said" 2>&1 ||
  { cat "$place/said"; fail "meson refuses its version"; }
grep -q "^Project version: $dated$" "$place/said" || fail "meson's version"

git tag v0.0.1
git tag "v$version"
refused() { # WHY TAG...
  why=$1
  shift
  ! ./release "$@" >"$place/said" 2>&1 || fail "taken: $*"
  grep -q "$why" "$place/said" || { cat "$place/said"; fail "refused for another reason: $*"; }
}
refused 'there is no tag and no commit nosuch' nosuch "$place/out"
refused 'meson.build of v0.0.1 is not of version 0.0.1' v0.0.1 "$place/out"
refused "CHANGELOG.md of v$version" "v$version" "$place/out"
sed -i "s/^## $version (unreleased)/## $version (2026-12-01)/" CHANGELOG.md
commit "dated"
git tag --force "v$version" >/dev/null
refused 'there is no nonsense' "v$version" "$place/other" nonsense
refused 'is not empty' "v$version" "$place" source

# Nothing comes along that is not of the tag.
echo left >left_behind
SMELT_RELEASE_URL=https://mirror.example/smelt ./release "v$version" "$place/made" source >"$place/said" || { cat "$place/said"; fail "./release"; }
cd "$place/made"
sha256sum --quiet --check SHA256SUMS || fail "checksums"
[ "$(wc -l <SHA256SUMS)" -eq "$(find . -type f ! -name SHA256SUMS | wc -l)" ] || fail "a file without a checksum"
tar -tJf "smelt-$version.tar.xz" >"$place/files"
for file in meson.build quickstart release LICENSE debian/rules contrib/recipes/facts.toml; do
  grep -qx "smelt-$version/$file" "$place/files" || fail "the tarball has no $file"
done
! grep -q 'left_behind\|/\.git/' "$place/files" || fail "the tarball has what is not of the tag"
sum=$(sha256sum <"smelt-$version.tar.xz" | cut -d ' ' -f 1)
for recipe in recipes/conda/meta.yaml recipes/spack/packages/smelt/package.py; do
  grep -q "$sum" $recipe && grep -q "https://mirror.example/smelt/smelt-$version.tar.xz" $recipe || fail "$recipe"
done
grep -q "^ADD smelt-$version.tar.xz /$" recipes/Containerfile || fail "recipes/Containerfile"
echo "smelt-$version.tar.xz: $(wc -l <"$place/files") files"
