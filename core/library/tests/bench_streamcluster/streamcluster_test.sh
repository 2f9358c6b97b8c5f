#!/bin/sh
# The k-median kernel gives the same bits whatever the barrier and the number of threads, and whatever runs OpenMP.
#   streamcluster_test.sh STREAMCLUSTER STREAMCLUSTER_OMP [SHIM]
set -u
threads_program=$1 openmp_program=$2 shim=${3:-}
unset OMP_NUM_THREADS OMP_PROC_BIND OMP_WAIT_POLICY OMP_DYNAMIC OMP_THREAD_LIMIT OMP_PLACES LD_PRELOAD
failed=0 passed=0
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
# 700 barriers a run: on a loaded machine, with more threads than CPUs, each takes milliseconds.
small="--points 600 --chunk 300 --dimensions 12 --min-centers 4 --max-centers 4 --rounds 2"

# result NAME TRUTH: counts; a failure shows what the last command said.
result() {
  if [ "$2" = true ]; then echo "ok: $1"; passed=$((passed + 1))
  else echo "FAIL: $1"; sed 's/^/    /' "$work/said" | head -n 12; failed=$((failed + 1)); fi
}

# same NAME command...   ends with 0 and prints the expected digest
same() {
  name=$1
  shift
  if timeout 300 "$@" >"$work/said" 2>&1 && grep -qx "$digest" "$work/said"; then result "$name" true
  else result "$name" false; fi
}

timeout 300 "$threads_program" $small --threads 1 --barrier pthread >"$work/said" 2>&1 && ended=true || ended=false
result "one thread" $ended
digest=$(grep '^digest [0-9a-f]\{16\}$' "$work/said")
# Four clusters were made, well apart: a point is about sqrt(12 * 2 / 64) = 0.6 from its cluster's median, and 1.5 from
# another's.
grep -q '^4 centres, ' "$work/said" && right=true || right=false
result "as many centres as clusters" $right
awk '/ centres, cost / { good = $4 > 0 && $4 < 600 } END { exit !good }' FS='[ ,]+' "$work/said" \
  && right=true || right=false
result "they are the clusters' centres" $right

for threads in 1 2 3 4; do
  same "all barriers, $threads threads" "$threads_program" $small --threads $threads
  for barrier in smelt pthread std dissemination mcs central tree; do
    grep -q "^$barrier " "$work/said" || result "$barrier was run with $threads threads" false
  done
  grep -q '^best other / Smelt: ' "$work/said" && right=true || right=false
  result "they are compared, $threads threads" $right
  same "OpenMP, $threads threads" "$openmp_program" $small --threads $threads
  if [ -n "$shim" ]; then
    same "OpenMP under the shim, $threads threads" env LD_PRELOAD="$shim" SMELT_STATS=1 \
      "$openmp_program" $small --threads $threads
    grep -q 'barriers: [1-9][0-9]* own' "$work/said" && right=true || right=false
    result "the shim's barriers were used, $threads threads" $right
  fi
done
same "threads on one CPU" "$threads_program" $small --threads 2 --barrier smelt,mcs \
  --cpus "$(taskset -pc $$ | sed 's/.*: //; s/[,-].*//')"

# The digest must be able to differ.
timeout 300 "$threads_program" $small --barrier pthread --seed 2 >"$work/said" 2>&1
grep -q '^digest ' "$work/said" && ! grep -qx "$digest" "$work/said" && right=true || right=false
result "other points, another digest" $right

for wrong in "--barrier none" "--threads 0" "--min-centers 9 --max-centers 8" "--cpus 1023" "--chunk 0"; do
  timeout 20 "$threads_program" $wrong >"$work/said" 2>&1
  status=$?
  [ $status -ne 0 ] && [ $status -lt 124 ] && [ "$(wc -l <"$work/said")" -le 3 ] && right=true || right=false
  result "$wrong is told to be wrong" $right
done

echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
