#!/bin/sh
# README's commands, unchanged, on another system: ./quickstart on a machine of a newcomer, who is not root, what smelt run serves there, and tests.
#   systems_test.sh SOURCE_ROOT SUITE        e.g. . trixie; SUITE as in root.sh
# Exit 77, with a line that says why: skipped. The system is laid over its root folder and forgotten; what it printed stays in the root's
# .newcomer.log. The last line is the system's row in docs/start.md.
set -eu
source=$(cd "$1" && pwd) suite=$2
here=$(cd "$(dirname "$0")" && pwd)
root=$("$here/root.sh" newcomer "$suite")
layer=$(mktemp -d "$root.layer.XXXXXX")
trap 'rm -rf --one-file-system "$layer"' EXIT
mkdir "$layer/source"
(cd "$source" && git ls-files --cached --others --exclude-standard | while read -r file; do [ ! -e "$file" ] || echo "$file"; done) |
  tar -c -C "$source" -T - | tar -x -C "$layer/source"
"$here/enter.sh" -l "$layer" -r /etc/resolv.conf:/etc/resolv.conf -b "$layer/source:/home/newcomer/smelt" "$root" \
  sh /home/newcomer/smelt/tests/systems/inside.sh >"$root.newcomer.log" 2>&1 || { cat "$root.newcomer.log"; exit 1; }
tail -n 1 "$root.newcomer.log"
