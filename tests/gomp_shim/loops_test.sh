#!/bin/sh
# Dynamic loops, handed out by libgomp and by the shim.
#   loops_test.sh SHIM PROGRAM_DIRECTORY
set -u
shim=$1 programs=$2
. "$(dirname "$0")/checks.sh"

check "stock" 0 '^ok$' "$programs/loops"
. "$(dirname "$0")/pretend.sh"
# On a pretended machine: where threads share CPUs, loops are libgomp's.
ours='; [1-9][0-9]{3,} dynamic loops(;|$)'  # a third have 2 threads
by_us() { n=$1; shift; check "$n" 0 "$ours" env $(small) SMELT_TUNE=spin_us=20 SMELT_STATS=1 "$@"; }
check "off" 0 '^ok$' env $(small) SMELT_TUNE=spin_us=20 SMELT_OPENMP=-loops SMELT_STATS=1 "$programs/loops"
if grep -q ' dynamic loops' "$output"; then fails "off, and yet ours"; fi
for seed in 1 2; do
  by_us "by us, seed $seed" "$programs/loops" 40 $seed
  grep -q '^ok$' "$output" || fails "seed $seed did not come to its end"
done
by_us "asleep" SMELT_WAIT=sleep "$programs/loops"
by_us "no hot team" SMELT_OPENMP=-hot "$programs/loops"
check_under "as many CPUs as there are" 0 '^ok$' "$programs/loops"
check_under "one CPU: libgomp's" 0 ' own, ' SMELT_STATS=1 SMELT_CPUS=1 "$programs/loops"
if grep -q ' dynamic loops' "$output"; then fails "a crowd's loops are ours"; fi
check_under "in the child of a fork" 0 '^ok$' SMELT_CPUS=64 "$programs/loops" child
check_under "a thread that comes late finds little left" 0 '^ok$' SMELT_CPUS=64 "$programs/loops" late
check_under "late, no hot team" 0 '^ok$' SMELT_CPUS=64 SMELT_OPENMP=-hot "$programs/loops" late
for hot in on -hot; do
  check_under "chunks leave in order, SMELT_OPENMP=$hot" 0 '^ok$' SMELT_CPUS=64 SMELT_OPENMP=$hot "$programs/loops" pairs
  check_under "iterations wait for those before, SMELT_OPENMP=$hot" 0 '^ok$' SMELT_CPUS=64 SMELT_TUNE=spin_us=20 \
    SMELT_OPENMP=$hot "$programs/loops" turns
done
check_under "sections" 0 '; [0-9]{3,} dynamic loops(;|$)' SMELT_STATS=1 SMELT_CPUS=64 SMELT_TUNE=spin_us=20 "$programs/loops" sections
for schedule in dynamic,3 guided,3 monotonic:dynamic monotonic:guided static auto; do
  check_under "schedule(runtime): $schedule is libgomp's" 0 '^ok$' SMELT_STATS=1 SMELT_CPUS=64 \
    "OMP_SCHEDULE=$schedule" "$programs/loops" runtime
  if grep -q ' dynamic loops' "$output"; then fails "schedule $schedule is ours"; fi
done
check_under "in order where it is monotonic" 0 '^ok$' SMELT_CPUS=64 OMP_SCHEDULE=monotonic:dynamic \
  "$programs/loops" in-order
check_under "cancellation on: steps aside" 0 '^ok$' OMP_CANCELLATION=true "$programs/loops"
check_under "nothing is taken" 0 '^ok$' SMELT_OPENMP=-libgomp "$programs/loops"
finish
