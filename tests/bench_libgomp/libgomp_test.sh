#!/bin/sh
# bench/libgomp's yardstick is a libgomp: same symbols, same versions, and the shim's programs run with it as with the system's.
#   libgomp_test.sh BUILD_SH OWN_DIRECTORY PROGRAM_DIRECTORY      exit status 77: no source of this gcc to build it from
set -eu
build=$1 own=$2 programs=$3
failed=0 passed=0
unset OMP_NUM_THREADS OMP_PROC_BIND OMP_WAIT_POLICY OMP_CANCELLATION GOMP_SPINCOUNT LD_PRELOAD
"$build" "$own" || exit $?  # 77 as well
yardstick=$own/libgomp.so.1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# result NAME TRUTH: counts; a failure shows what the last command said.
result() {
  if [ "$2" = true ]; then echo "ok: $1"; passed=$((passed + 1))
  else echo "FAIL: $1"; sed 's/^/    /' "$work/said" | head -n 10; failed=$((failed + 1)); fi
}

system=$(ldd "$programs/constructs" | awk '$1 == "libgomp.so.1" { print $3 }')
symbols() { nm -D --defined-only --with-symbol-versions "$1" | awk '{ print $2, $3 }' | sort; }
nodes() { symbols "$1" | grep -o '@G[A-Z]*_.*' | sort -u; }
if [ "$(nodes "$system")" = "$(nodes "$yardstick")" ]; then
  symbols "$system" >"$work/theirs"
  symbols "$yardstick" >"$work/ours"
  diff "$work/theirs" "$work/ours" >"$work/said" && same=true || same=false
  result "exports what the system's exports ($(wc -l <"$work/ours") symbols)" "$same"
else
  echo "skip: $system is of another release than gcc, its symbols differ"
fi
readelf -d "$yardstick" >"$work/said"
grep -q 'SONAME.*\[libgomp\.so\.1\]' "$work/said" && same=true || same=false
result "is named libgomp.so.1" "$same"
LD_PRELOAD=$yardstick ldd "$programs/constructs" >"$work/said"
grep -q 'libgomp\.so\.1 =>' "$work/said" && same=false || same=true
result "takes the system's place when preloaded" "$same"

# run NAME command...   ends with 0 and says ok
run() {
  name=$1
  shift
  if timeout 120 "$@" >"$work/said" 2>&1 && grep -q '^ok$' "$work/said"; then result "$name" true; else result "$name" false; fi
}
for threads in 2 4; do
  for program in constructs nested tasks cancel fork; do
    run "$program, $threads threads, system's" env OMP_NUM_THREADS=$threads "$programs/$program"
    run "$program, $threads threads" env LD_PRELOAD="$yardstick" OMP_NUM_THREADS=$threads "$programs/$program"
    # Passive sleeps at once, so SLEEPER and the wakes are at work; 100 polls end about when the release comes.
    for setting in OMP_WAIT_POLICY=passive OMP_WAIT_POLICY=active GOMP_SPINCOUNT=100; do
      run "$program, $threads threads, $setting" \
        env LD_PRELOAD="$yardstick" OMP_NUM_THREADS=$threads $setting "$programs/$program"
    done
  done
  run "cancel, $threads threads, cancellation on, system's" env OMP_CANCELLATION=true OMP_NUM_THREADS=$threads "$programs/cancel"
  for policy in passive active; do
    for program in "$programs/cancel" "$own/barrier_cancel"; do
      run "$(basename "$program"), $threads threads, $policy, cancellation on" env LD_PRELOAD="$yardstick" \
        OMP_CANCELLATION=true OMP_NUM_THREADS=$threads OMP_WAIT_POLICY=$policy "$program"
    done
  done
done

echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
