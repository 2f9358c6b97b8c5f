#!/bin/sh
# clang-tidy, with the checks of .clang-tidy, over the runtime half and the shims: what runs inside other people's processes.
#   tidy_test.sh CLANG_TIDY SOURCE_ROOT BUILD_ROOT
# Two and a half minutes of CPU; one process per CPU.
set -u
tidy=$1 source=$2 build=$3
cd "$source" || exit 1
scratch=$(mktemp -d) || exit 1
trap 'rm -rf "$scratch"' EXIT

# The test must be able to fail.
echo 'int f(int a) { return a == a; }' >"$scratch/wrong.cc"
"$tidy" --quiet --config-file=.clang-tidy "$scratch/wrong.cc" -- -std=c++20 >"$scratch/control" 2>&1 &&
  { cat "$scratch/control"; echo "FAIL: control: clang-tidy finds nothing"; exit 1; }
grep -q misc-redundant-expression "$scratch/control" || { cat "$scratch/control"; echo "FAIL: control: not the check that was meant"; exit 1; }

files=$(find core/base core/transport core/model core/profile core/policy core/message core/generate core/schedule core/team core/group core/openmp \
  gomp_shim kmp_shim -name '*.cc' ! -path '*/text/*')
# core/library is known to the build unless it was left out (library=false).
[ -z "$(grep -o 'library/queue/create\.cc"' "$build/compile_commands.json")" ] ||
  files="$files $(find core/library -name '*.cc' ! -path '*/tests/*' ! -path '*/bench/*' ! -path '*/examples/*')"
# Known to the build only where libfabric's headers are.
[ -z "$(grep -o 'rails/ofi/open\.cc"' "$build/compile_commands.json")" ] || files="$files $(ls rails/rail/*.cc rails/far/*.cc rails/ofi/*.cc)"
# The components' files are known to the build only where Open MPI is.
[ -z "$(grep -o 'ompi_coll_smelt/module\.c"' "$build/compile_commands.json")" ] || files="$files $(ls ompi_coll_smelt/*.c)"
[ -z "$(grep -o 'rails/nodes/nodes\.c"' "$build/compile_commands.json")" ] || files="$files $(ls rails/nodes/*.c)"
[ -z "$(grep -o 'ompi_pml_smelt/node\.c"' "$build/compile_commands.json")" ] || files="$files $(ls ompi_pml_smelt/*.c)"
count=$(echo $files | wc -w)
[ "$count" -ge 80 ] || { echo "FAIL: only $count files"; exit 1; }
if echo "$files" | tr ' ' '\n' | xargs -P "$(nproc)" -n 4 "$tidy" --quiet -p "$build" >"$scratch/out" 2>"$scratch/err"; then
  echo "$count files, nothing found"
else
  cat "$scratch/out"
  grep -v 'warnings generated' "$scratch/err"
  echo "FAIL: clang-tidy"
  exit 1
fi
