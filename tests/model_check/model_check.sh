#!/bin/sh
# Searches the state space of a model exhaustively, in every case of cases.txt: spin writes a verifier, the C compiler
# builds it, and it visits every state or says that it could not.
#   model_check.sh quick|full MODEL [FOLDER]
# FOLDER has the model and its cases.txt (default: this one).
set -u
set=$1 model=$2
here=$(cd "$(dirname "$0")" && pwd)
folder=$(cd "${3:-$here}" && pwd) || exit 1
command -v spin >/dev/null || { echo "skip: spin (Debian package spin) is not installed"; exit 77; }
scratch=$(mktemp -d) || exit 1
trap 'rm -rf "$scratch"' EXIT
cd "$scratch" || exit 1
# Of the verifier; MEMLIM: MiB, the most memory of a search
options='-w -DSAFETY -DCOLLAPSE -DVECTORSZ=8192 -DMEMLIM=3000'

passed=0 failed=0
# search VERDICT SWITCHES: one line, and what the verifier said where it is another verdict
search() {
  # Most searches take less time than compiling: only those that visit many states are worth an optimiser.
  case $set-$model-$1 in
    full-*-holds | quick-ring-* | quick-bell-holds | quick-views-holds | quick-two_phase_commit-*) optimise=-O2 ;;
    *) optimise=-O0 ;;
  esac
  if ! spin -a $2 "$folder/$model.pml" >log 2>&1 ||
    ! ${CC:-cc} $optimise $options -I"$here" -o pan pan.c >>log 2>&1; then
    verdict="not built"
  else
    # The depth is more than any of them has; a search that was cut says so, and is none.
    ./pan -m100000 -w20 >log 2>&1
    if grep -Eq 'weak: |too small|out of memory|aborted|aborting' log; then verdict="not searched to the end"
    elif grep -q 'assertion violated  *!(race_)' log; then verdict=races
    elif grep -q '^pan:[0-9]*: invalid end state' log; then verdict=hangs
    elif grep -q 'errors: [1-9]' log; then verdict=breaks
    elif grep -q 'not completed' log || ! grep -q 'errors: 0$' log; then verdict="not searched to the end"
    else verdict=holds
    fi
  fi
  states=$(sed -n 's/^ *\([0-9e+.]*\) states, stored.*/\1/p' log)
  if [ "$verdict" = "$1" ]; then
    echo "ok: $model $2: $verdict, $states states"
    passed=$((passed + 1))
  else
    echo "FAIL: $model $2: $verdict, expected: $1"
    tail -n 25 log | sed 's/^/    /'
    failed=$((failed + 1))
  fi
}

while read -r in_set of verdict switches; do
  [ "$in_set" = "$set" ] && [ "$of" = "$model" ] && search "$verdict" "$switches"
done <"$folder/cases.txt"

echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
