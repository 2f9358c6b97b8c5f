#!/bin/sh
# What libsmelt.so needs and exports, and that every public header stands alone.
#   library_test.sh LIBSMELT FOLDER_OF_HEADERS...
set -u
export LC_ALL=C  # one order for sort and diff
library=$1
shift
failed=0
fail() { echo "FAIL: $*"; failed=$((failed + 1)); }

needed=$(readelf -d "$library" | sed -n 's/.*(NEEDED).*\[\(.*\)\].*/\1/p' | grep -v '^libc\.so\.6$' | tr '\n' ' ')
[ -z "$needed" ] || fail "libsmelt.so needs more than libc: $needed"
readelf -d "$library" | grep -q BIND_NOW || fail "libsmelt.so is not bound at load time"
! readelf -lW "$library" | grep -q 'GNU_STACK.*RWE' || fail "libsmelt.so wants an executable stack"

scratch=$(mktemp -d) || exit 1
trap 'rm -rf "$scratch"' EXIT
nm -D --defined-only "$library" | awk '$2 != "A" { sub(/@.*/, "", $3); print $3 }' | sort >"$scratch/exported"
includes=
for folder in "$@"; do
  includes="$includes -I$(dirname "$folder")"
  # Those of rails are another library's.
  sed -n 's/^SMELT_API .*\b\(smelt_[a-z_]*\)(.*/\1/p' "$folder"/*.h | grep -v '^smelt_rails\{0,1\}_' >>"$scratch/unsorted"
done
sort "$scratch/unsorted" >"$scratch/declared"
[ "$(wc -l <"$scratch/declared")" -ge 50 ] || fail "the headers declare $(wc -l <"$scratch/declared") functions"
diff "$scratch/declared" "$scratch/exported" || fail "libsmelt.so exports (>) other functions than smelt/*.h declare (<)"

for folder in "$@"; do
  for header in "$folder"/*.h; do
    name=smelt/$(basename "$header")
    echo "#include <$name>" | ${CC:-cc} -std=c11 -Wall -Wextra -Wpedantic -Werror $includes -fsyntax-only -x c - ||
      fail "$name does not stand alone as C11"
    echo "#include <$name>" | ${CXX:-c++} -std=c++17 -Wall -Wextra -Wpedantic -Werror $includes -fsyntax-only -x c++ - ||
      fail "$name does not stand alone as C++17"
  done
done
echo "$failed violations"
[ "$failed" -eq 0 ]
