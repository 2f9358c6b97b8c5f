#!/bin/sh
# The Debian packages, as a maintainer would look at them and an administrator would meet them: built from the source in a root folder that
# has what debian/control asks for, without network; lintian finds no error; installed into a clean Debian, used (debian/tests), upgraded,
# removed, purged: nothing is left behind.
#   packages_test.sh SOURCE_ROOT SUITE          e.g. . bookworm
# Exit 77, with a line that says why: skipped. The packages stay where build.sh puts them.
set -eu
source=$(cd "$1" && pwd) suite=$2
here=$(cd "$(dirname "$0")" && pwd)
version=$(sed -n '1s/^smelt (\([^)-]*\)-.*/\1/p' "$source/debian/changelog")
packages=$("$here/build.sh" "$source" "$suite" debs)
clean=$("$here/../systems/root.sh" use "$suite")
layer=$(mktemp -d "$clean.layer.XXXXXX")
trap 'rm -rf --one-file-system "$layer"' EXIT
"$here/../systems/enter.sh" -n -l "$layer" -r "$packages:/packages" -r "$source/debian:/debian" -r "$here:/tests" "$clean" \
  sh /tests/use_inside.sh "$version"
echo "Debian $suite: packages of $version built, installed, used, upgraded, purged"
