#!/bin/sh
# Do the models describe the orderings that are written in the code? Holds a list such as orderings.txt against the source.
#   orderings_test.sh SOURCE_ROOT LIST
# The models are of this folder and of the list's, which have a cases.txt each.
set -u
export LC_ALL=C  # one order for sort and comm
root=$1 list=$2
here=$(cd "$(dirname "$0")" && pwd)
scratch=$(mktemp -d) || exit 1
trap 'rm -rf "$scratch"' EXIT

failed=0 lines=0
for file in $(sed -n 's/^file //p' "$list"); do
  # MODEL TEXT, as listed for this file; and TEXT, as the file has it
  awk -v file="$file" '/^#/ { next } $1 == "file" { ours = $2 == file; next } ours' "$list" >"$scratch/listed"
  sed 's/^[^ ]* //' "$scratch/listed" | sort >"$scratch/expected"
  grep -E 'memory_order_|full_fence\(\)|fence_after_update\(\)|fence_between_loads\(\)' "$root/$file" | grep -vE '^ *//' | sed 's/^ *//; s| *// .*||' |
    sort >"$scratch/found"
  lines=$((lines + $(wc -l <"$scratch/found")))
  cmp -s "$scratch/expected" "$scratch/found" && continue
  failed=$((failed + 1))
  echo "FAIL: $file"
  comm -23 "$scratch/expected" "$scratch/found" | while IFS= read -r text; do
    models=$(awk -v text="$text" 'substr($0, index($0, " ") + 1) == text { print $1; exit }' "$scratch/listed")
    echo "    the model $models describes another ordering: $text"
  done
  comm -13 "$scratch/expected" "$scratch/found" | sed 's/^/    no model describes: /'
done

# Every model that is named exists, and has a case that holds and one that does not.
for model in $(awk '!/^#/ && $1 != "file" && $1 != "-" { print $1 }' "$list" | tr , '\n' | sort -u); do
  for verdict in holds '(races|hangs|breaks)'; do
    grep -Eqs "^(quick|full) $model $verdict( |\$)" "$here/cases.txt" "$(dirname "$list")/cases.txt" && continue
    echo "FAIL: cases.txt has no case of $model that $verdict"
    failed=$((failed + 1))
  done
done
echo "$lines lines, $failed failed"
[ "$failed" -eq 0 ] && [ "$lines" -gt 0 ]
