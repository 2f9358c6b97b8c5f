#!/bin/sh
# Dynamic loops on LLVM's libomp, handed out by it and by the shim.
#   kmp_loops_test.sh SHIM PROGRAMS_BY_CLANG PROGRAMS_BY_GCC
set -u
shim=$1 clang_programs=$2 programs=$2
. "$(dirname "$0")/../gomp_shim/checks.sh"
. "$(dirname "$0")/clang_only.sh"
programs=$3
. "$(dirname "$0")/../gomp_shim/pretend.sh"
# libomp counts the CPUs of the mask and finds more than there are: an assertion of its own, without any shim. It must not look.
export KMP_AFFINITY=disabled OMP_WAIT_POLICY=passive
short=SMELT_TUNE=spin_us=20

# Every entry point: what all threads of a team are given together is the same, whoever hands it out.
check "every type, schedule and limit, stock" 0 '^ok$' "$clang_programs/dispatch"
cp "$output" "$scratch/stock"
check "the shim's own, stock" 0 '^ok$' "$clang_programs/dispatch" own
cp "$output" "$scratch/own"
same() {  # same STOCK NAME setting... program: as check, and the same output as the file
  file=$1 name=$2
  shift 2
  check "$name" 0 '^ok$' env "$@"
  grep -v '^smelt: ' "$output" | cmp -s - "$scratch/$file" || fails "$name: other answers than stock's"
}
ours='; [0-9]{4,} dynamic loops(;|$)'
for machine in small large; do
  same stock "every type, schedule and limit, $machine" $($machine) $short "$clang_programs/dispatch"
  same own "the shim's own, $machine" $($machine) $short SMELT_STATS=1 "$clang_programs/dispatch" own
  printed=$(grep -c ' threads: ' "$output") all=$(sed -n 's/.*; \([0-9]*\) dynamic loops.*/\1/p' "$output")
  [ "${all:-0}" -ge "$printed" ] || fails "the shim's own, $machine: ${all:-no} loops are ours, $printed are to be"
  check "more iterations than units, $machine" 0 '; [3-9] dynamic loops(;|$)' env $($machine) $short SMELT_STATS=1 "$clang_programs/dispatch" units
done
same stock "asleep" $(small) SMELT_WAIT=sleep "$clang_programs/dispatch"
same stock "a crowd" LD_PRELOAD="$shim" "$clang_programs/dispatch"
for setting in SMELT_OPENMP=-loops SMELT_OPENMP=-libomp OMP_CANCELLATION=true; do
  same own "$setting" $(small) $short $setting SMELT_STATS=1 "$clang_programs/dispatch" own
  if grep -q ' dynamic loops' "$output"; then fails "$setting, and yet ours"; fi
done
check "lastprivate, which libomp loses at times" 0 '^ok$' env $(small) $short "$clang_programs/dispatch" last

# As compilers write them, with what OMP_SCHEDULE may say.
for schedule in static static,3 dynamic dynamic,3 guided guided,3 auto monotonic:dynamic nonmonotonic:dynamic,2 monotonic:guided trapezoidal; do
  check "every schedule, and $schedule, stock" 0 '^ok$' env OMP_SCHEDULE=$schedule "$clang_programs/schedules"
  for machine in small large; do
    check "every schedule, and $schedule, $machine" 0 '; [0-9]{3,} dynamic loops(;|$)' \
      env $($machine) $short OMP_SCHEDULE=$schedule SMELT_STATS=1 "$clang_programs/schedules"
    grep -q '^ok$' "$output" || fails "every schedule, and $schedule, $machine, did not come to its end"
  done
done
check "every schedule, a crowd" 0 '^ok$' env LD_PRELOAD="$shim" "$clang_programs/schedules"

# The program of the other shim's test. (libomp itself loses lastprivate values in it.)
for seed in 1 2 3; do
  check "random loops, seed $seed" 0 "$ours" env $(small) $short SMELT_STATS=1 "$clang_programs/loops" 40 $seed
  grep -q '^ok$' "$output" || fails "seed $seed did not come to its end"
done
check "random loops, far" 0 '^ok$' env $(large) $short "$clang_programs/loops" 40 4
# Here nothing is pretended. With its affinity disabled libomp fails in a child of fork, without any shim (18 and 22).
for what in child late turns; do
  check_under "loops: $what" 0 '^ok$' SMELT_CPUS=64 $short env -u KMP_AFFINITY "$clang_programs/loops" $what
done
same own "in order where that is asked for" $(small) $short KMP_FORCE_MONOTONIC_DYNAMIC_SCHEDULE=true SMELT_STATS=1 "$clang_programs/dispatch" own
guided=$(grep -c ' guided' "$output") all=$(sed -n 's/.*; \([0-9]*\) dynamic loops.*/\1/p' "$output")
# Those of inner teams are not printed each: of 40 loops by 3 threads, 4 each, where 2 and 3 levels may be active.
{ [ "${all:-0}" -ge "$guided" ] && [ "$all" -le $((guided + 2 * 40 * 4)) ]; } || fails "${all:-no} loops are ours, where $guided are guided"

finish
