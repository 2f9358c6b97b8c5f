#!/bin/sh
# The reference that Doxygen makes of the public headers: no warning, every function that the library exports, none
# without a word.
#   reference_test.sh DOXYFILE LIBRARY FOLDER_OF_HEADERS...
set -u
export LC_ALL=C
doxyfile=$1 library=$2
shift 2
command -v doxygen >/dev/null || { echo "skipped: no doxygen here (Debian: doxygen)"; exit 77; }
scratch=$(mktemp -d) || exit 1
trap 'rm -rf "$scratch"' EXIT
nm -D --defined-only "$library" | sed -n 's/.* T \(smelt_[a-z_]*\).*/\1/p' | sort >"$scratch/exported"
functions=$(wc -l <"$scratch/exported")
[ "$functions" -ge 50 ] || { echo "FAIL: $library exports $functions functions"; exit 1; }

# complaints FOLDERS: a line for each warning, each exported function that is not in the reference, each without a word.
complaints() {
  cp "$doxyfile" "$scratch/whole"
  printf '%s\n' "INPUT = $1" "OUTPUT_DIRECTORY = $scratch/out" "GENERATE_TAGFILE = $scratch/tags" >>"$scratch/whole"
  doxygen "$scratch/whole" 2>&1 || echo "doxygen: exit status $?"
  sed -n 's,.*<name>\(smelt_[a-z_]*\)</name>.*,\1,p' "$scratch/tags" | sort >"$scratch/shown"
  comm -23 "$scratch/exported" "$scratch/shown" | sed 's/$/ is not in the reference/'
  { cat "$scratch/whole"; printf '%s = NO\n' EXTRACT_ALL WARN_AS_ERROR GENERATE_HTML; } >"$scratch/words"
  doxygen "$scratch/words" 2>&1 | grep '(function).*is not documented'
}

found=$(complaints "$*")
[ -z "$found" ] || echo "FAIL: $found"

# The test must be able to fail: a comment is gone, a function is gone, a declaration does not end.
mkdir "$scratch/smelt"
for folder in "$@"; do cp "$folder"/* "$scratch/smelt"; done
sed -i 's,^/\* "major.*,,; s,^ \* static storage.*,,' "$scratch/smelt/base.h"
sed -i '/smelt_barrier_free/d' "$scratch/smelt/barrier.h"
sed -i 's,^SMELT_END,/* A. */\nstruct smelt_unended {\n&,' "$scratch/smelt/tree.h"
control=$(complaints "$scratch/smelt")
for fault in 'smelt_version.*is not documented' 'smelt_barrier_free is not in the reference' unbalanced; do
  echo "$control" | grep -q "$fault" || { echo "FAIL: control: no complaint of $fault in: $control"; found="$found."; }
done
echo "$functions functions"
[ -z "$found" ]
