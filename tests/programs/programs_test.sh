#!/bin/sh
# End-to-end: whole programs, unmodified, print under the shim what they print on the stock libgomp, bit for bit.
#   programs_test.sh SHIM PROGRAM_DIRECTORY
# Every program checks its own result too and ends with 1 if it is wrong. The stock output is taken once per team size; the
# shim must meet it in every setting. No time is looked at.
set -u
shim=$1 programs=$2
failed=0 passed=0 skipped=0
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
for variable in $(env | grep -Eo '^(OMP|GOMP|SMELT)_[A-Z_]+') LD_PRELOAD; do unset "$variable"; done
export XDG_CACHE_HOME="$work"  # no profile: the guess serves

fail() { echo "FAIL: $1"; sed 's/^/    /' "$2" | head -n 10; failed=$((failed + 1)); }
pass() { echo "ok: $1"; passed=$((passed + 1)); }

# under NAME SETTING... : runs the program under the shim; its output goes to $work/out, what it says else to $work/err
under() {
  name=$1
  shift
  # shellcheck disable=SC2086  # $program holds arguments
  timeout 120 env LD_PRELOAD="$shim" OMP_NUM_THREADS="$threads" "$@" "$programs/"$program >"$work/out" 2>"$work/err"
  got=$?
  [ "$got" -eq 0 ] || fail "$name: exit status $got" "$work/err"
  return "$got"
}

# compare NAME SETTING... : and its output must be stock's
compare() {
  under "$@" || return
  if cmp -s "$work/stock" "$work/out"; then pass "$1"; return; fi
  { echo "stock:"; cat "$work/stock"; echo "under the shim:"; cat "$work/out"; } >"$work/both"
  fail "$1: not what stock prints" "$work/both"
}

taken='smelt: [0-9.]+: libgomp GOMP_[0-9.]+, [0-9]+ threads, pattern .*symbols taken'

while read -r program; do
  file=${program%% *}
  if [ "$file" = matrices.py ]; then
    "$programs/$file" >"$work/out" 2>&1
    if [ $? -eq 77 ]; then echo "skip: $program: $(tail -n 1 "$work/out")"; skipped=$((skipped + 1)); continue; fi
  fi
  if [ ! -x "$programs/$file" ]; then
    case $file in
      *_f90) echo "skip: $program: built without a Fortran compiler"; skipped=$((skipped + 1)) ;;
      *) echo "FAIL: $program: not built"; failed=$((failed + 1)) ;;
    esac
    continue
  fi
  for threads in 1 2 3 4 8; do
    label="$program, team of $threads"
    # shellcheck disable=SC2086
    if timeout 120 env OMP_NUM_THREADS=$threads "$programs/"$program >"$work/stock" 2>"$work/err" && [ -s "$work/stock" ]; then
      pass "$label, stock"
    else
      fail "$label, stock" "$work/err"
      continue
    fi
    compare "$label"
    compare "$label, no hot team" SMELT_OPENMP=-hot
    compare "$label, bound" OMP_PROC_BIND=true
    compare "$label, passive" OMP_WAIT_POLICY=passive
    compare "$label, asleep" SMELT_WAIT=sleep
    # The runtime may make teams smaller from one region to the next. What is summed per thread has other bits then, so there
    # the program's own check must do.
    case $file in
      conjugate_gradient) under "$label, dynamic (its own check)" OMP_DYNAMIC=true && pass "$label, dynamic (its own check)" ;;
      matrices.py) ;;  # OpenBLAS waits for ever for a team of the size that it asked for, on the stock libgomp too
      *) compare "$label, dynamic" OMP_DYNAMIC=true ;;
    esac
  done
  # Else all of this would compare stock with stock.
  threads=2
  if under "$program: the shim is in between" SMELT_VERBOSE=1; then
    if grep -Eq "$taken" "$work/err"; then pass "$program: the shim is in between"
    else fail "$program: the shim is not in between" "$work/err"; fi
  fi
done <<PROGRAMS
stencil region
stencil loop
stencil_f90
conjugate_gradient
graph_search
sort
fibonacci
sparse_lu
quicksort_f90
pipeline
matrices.py
PROGRAMS

if "$programs/matrices.py" >"$work/out" 2>&1; then
  program=matrices.py threads=2
  under "matrices.py: its regions are hot" SMELT_STATS=1 SMELT_CPUS=64
  if grep -Eq 'OpenMP: [0-9]+ regions \([1-9][0-9]* hot' "$work/err"; then pass "matrices.py: its regions are hot"
  else fail "matrices.py: no region was hot" "$work/err"; fi
  program="matrices.py children"
  under "matrices.py in children of fork" && pass "matrices.py in children of fork"
  under "matrices.py in children of fork, no hot team" SMELT_OPENMP=-hot && pass "matrices.py in children of fork, no hot team"
fi

echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" -eq 0 ]
