#!/bin/sh
# The code is laid out as .clang-format says, and no line of it is longer than 120 characters, none of a document (but of its
# tables) longer than 140. Nothing is left of a merge.
#   format_test.sh SOURCE_ROOT
set -u
cd "$1" || exit 1
command -v clang-format >/dev/null || { echo "skipped: no clang-format here (Debian: clang-format)"; exit 77; }
case $(clang-format --version) in
  *' 14.'*) ;;
  *) echo "skipped: .clang-format is for clang-format 14, which lays some things out otherwise than $(clang-format --version)"; exit 77 ;;
esac
list=$(mktemp) || exit 1
trap 'rm -f "$list" "$list.c"' EXIT
find core gomp_shim kmp_shim pictures rails ompi_coll_smelt ompi_pml_smelt bench epcc tests \( -name '*.cc' -o -name '*.h' -o -name '*.hpp' -o -name '*.c' -o -name '*.def' \) > "$list"
files=$(wc -l < "$list")
[ "$files" -gt 300 ] || { echo "FAIL: only $files files found: is $1 the source?"; exit 1; }
failed=0
# grep, not awk: mawk counts bytes, and a line with a µ is as long as it looks.
long=$(xargs env LC_ALL=C.UTF-8 grep -nHE '^.{121,}' < "$list" | cut -d: -f1,2)
[ -z "$long" ] || { echo "FAIL: longer than 120 characters:"; echo "$long"; failed=1; }
long=$(find . -maxdepth 1 -name '*.md' | xargs env LC_ALL=C.UTF-8 grep -nHE '^[^|].{140,}' docs/*.md core/library/*.md pictures/*.md rails/*.md | cut -d: -f1,2)
[ -z "$long" ] || { echo "FAIL: longer than 140 characters:"; echo "$long"; failed=1; }
left=$({ cat "$list"; find . -maxdepth 1 -name '*.md'; find docs pictures rails results core/library -name '*.md' -o -name '*.txt'; } | xargs grep -nHE '^(<{7}|>{7}) ' | cut -d: -f1,2)
[ -z "$left" ] || { echo "FAIL: left of a merge:"; echo "$left"; failed=1; }
grep -v '\.def$' "$list" > "$list.c"
wrong=$(xargs clang-format --dry-run < "$list.c" 2>&1 | sed -n 's/: warning: .*//p')
[ -z "$wrong" ] || { echo "FAIL: clang-format would change (clang-format -i FILE does):"; echo "$wrong"; failed=1; }
# It must be able to fail, and not over what has few characters and many bytes.
micros() { printf 'µ%.0s' $(seq "$1"); echo; }
[ "$(for n in 120 121; do micros $n; done | LC_ALL=C.UTF-8 grep -ncE '^.{121,}')" = 1 ] || { echo "FAIL: control: 121 characters of 242 bytes, and 120"; failed=1; }
printf 'int  f( ) ;\n' | clang-format --dry-run --assume-filename=core/base/x.cc 2>&1 | grep -q warning ||
  { echo "FAIL: control: clang-format accepts anything"; failed=1; }
echo "$files files"
exit $failed
