#!/bin/sh
# Every relative link of the Markdown files, and every picture, leads to something; docs/settings.md has the table that
# options.def makes; the files that docs/papers.md names are there.
#   links_test.sh SOURCE_ROOT
set -u
root=$1

# broken ROOT: a line per link that leads nowhere; at the end how many links were followed.
broken() (
  cd "$1" || exit 1
  count=0
  for page in *.md docs/*.md pictures/*.md rails/*.md core/*/*.md core/*/*/*.md; do
    [ -e "$page" ] || continue
    for link in $(grep -o '](\([^)]*\))' "$page" | sed 's/^](//; s/)$//; s/#.*//' | grep -v '^[a-z]*:' | sort -u); do
      count=$((count + 1))
      [ -e "$(dirname "$page")/$link" ] || echo "$page: $link leads nowhere"
    done
  done
  echo "$count links"
)

failed=0
found=$(broken "$root")
echo "$found"
! echo "$found" | grep -q 'leads nowhere' || failed=1
[ "$(echo "$found" | sed -n 's/ links$//p')" -ge 20 ] || { echo "FAIL: too few links: is $root the source?"; failed=1; }

"$root/docs/settings.py" || failed=1

# misplaced PAGE: a line per file of the source that a page of tables names in its second column and that is not there.
# A name alone lies where the one before it does.
misplaced() {
  folder=
  for file in $(sed -n 's/^|[^|]*|\([^|]*\)|.*/\1/p' "$1" | grep -o '`[a-z0-9_./]*`' | tr -d '`'); do
    case $file in */*) folder=${file%/*} ;; *) [ -e "$root/$file" ] || file=$folder/$file ;; esac
    [ -e "$root/$file" ] || echo "$1: $file is not there"
  done
}
found=$(misplaced "$root/docs/papers.md")
[ -z "$found" ] || { echo "FAIL: $found"; failed=1; }

# The test must be able to fail.
scratch=$(mktemp -d) || exit 1
trap 'rm -rf "$scratch"' EXIT
mkdir "$scratch/docs"
echo '[here](two.md) [there](../one.md) [away](https://example.org/x) ![](none.svg)' >"$scratch/docs/two.md"
: >"$scratch/one.md"
[ "$(broken "$scratch" | grep -c 'leads nowhere')" = 1 ] || { echo "FAIL: control: one link of four leads nowhere"; failed=1; }
echo '| a | `core/base/log.h`, `arena.h`, `nothing.h` | b |' >"$scratch/three.md"
[ "$(misplaced "$scratch/three.md" | grep -c .)" = 1 ] || { echo "FAIL: control: one file of three is not there"; failed=1; }
exit $failed
