#!/bin/sh
# bench/run_everything prints every part with the command that made it, in the time it was given, and leaves the user's profile alone.
#   run_everything_test.sh SOURCE_ROOT BUILD
set -u
root=$1 build=$2
scratch=$(mktemp -d) || exit 1
trap 'rm -rf "$scratch"' EXIT
failed=0
export XDG_CACHE_HOME="$scratch/cache"
begin=$(date +%s)
"$root/bench/run_everything" --build "$build" --seconds 60 > "$scratch/out" 2>&1 || { echo "FAIL: exit status $?"; failed=1; }
took=$(($(date +%s) - begin))
[ "$took" -le 75 ] || { echo "FAIL: it took $took s instead of at most 60"; failed=1; }
has() { grep -Eq "$1" "$scratch/out" || { echo "FAIL: no line like $1"; failed=1; }; }
has '^# 20[0-9-]+, .* CPUs$'
has '^\$ core/smelt calibrate --limit '
has '^measured +[0-9]+ CPUs'
has '^\$ core/smelt compare --live --op barrier --cpus '
has '^rank correlation'
has '^\$ epcc/compare .*--threads 2'
has '^BARRIER +((near|far) +)?[0-9]'  # the CPUs of a virtual machine may have moved
has '^profile +machine.profile \(SMELT_PROFILE\)'
! grep -Fq "$build" "$scratch/out" || { echo "FAIL: the file names folders of this machine"; failed=1; }
[ -z "$(find "$scratch/cache" -name '*.profile' 2>/dev/null)" ] || { echo "FAIL: the user's profile was written"; failed=1; }
"$root/bench/run_everything" --seconds soon > "$scratch/out" 2>&1
[ $? -eq 2 ] || { echo "FAIL: --seconds soon was taken"; failed=1; }
"$root/bench/run_everything" --build "$scratch" > "$scratch/out" 2>&1
[ $? -eq 2 ] && grep -q 'build with' "$scratch/out" || { echo "FAIL: an empty folder is a build"; failed=1; }
[ $failed -eq 0 ] || cat "$scratch/out"
exit $failed
