#!/bin/sh
# The Python wheel: built on Debian 12 (build.sh), installed by pip into a virtual environment of another Debian, where there is no compiler,
# by a user without rights, and used there.
#   wheel_test.sh SOURCE_ROOT SUITE          e.g. . trixie
# Exit 77, with a line that says why: skipped. The wheel stays where build.sh puts it.
set -eu
source=$(cd "$1" && pwd) suite=$2
here=$(cd "$(dirname "$0")" && pwd)
wheels=$("$here/build.sh" "$source" bookworm wheel)
clean=$("$here/../systems/root.sh" python "$suite")
layer=$(mktemp -d "$clean.layer.XXXXXX")
trap 'rm -rf --one-file-system "$layer"' EXIT
"$here/../systems/enter.sh" -n -l "$layer" -r "$wheels:/wheels" -r "$here:/tests" "$clean" sh -c '
  mkdir -p /home/somebody && chown 1000:1000 /home/somebody &&
    exec setpriv --reuid 1000 --regid 1000 --clear-groups env HOME=/home/somebody sh /tests/wheel_inside.sh'
