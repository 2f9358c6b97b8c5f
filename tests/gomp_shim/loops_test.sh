#!/bin/sh
# Dynamic loops, dealt by libgomp and in shares.
#   loops_test.sh SHIM PROGRAM_DIRECTORY
set -u
shim=$1 programs=$2
. "$(dirname "$0")/checks.sh"

check "stock" 0 '^ok$' "$programs/loops"
. "$(dirname "$0")/pretend.sh"
# On a pretended machine: where threads share CPUs, loops are libgomp's.
shared='; [1-9][0-9]{4,} dynamic loops in shares$'  # a third have 2 threads
in_shares() { n=$1; shift; check "$n" 0 "$shared" env $(small) SMELT_SPIN_US=20 SMELT_STATS=1 "$@"; }
check "off" 0 '^ok$' env $(small) SMELT_SPIN_US=20 SMELT_DYNAMIC_LOOPS=0 SMELT_STATS=1 "$programs/loops"
if grep -q 'in shares' "$output"; then fails "off, and yet in shares"; fi
for seed in 1 2; do
  in_shares "in shares, seed $seed" "$programs/loops" 40 $seed
  grep -q '^ok$' "$output" || fails "seed $seed did not come to its end"
done
in_shares "asleep" SMELT_WAIT=sleep "$programs/loops"
in_shares "no hot team" SMELT_HOT_TEAM=0 "$programs/loops"
check_under "as many CPUs as there are" 0 '^ok$' "$programs/loops"
check_under "one CPU: libgomp's" 0 ' own, ' SMELT_STATS=1 SMELT_CPUS=1 "$programs/loops"
if grep -q 'in shares' "$output"; then fails "a crowd's loops in shares"; fi
check_under "in the child of a fork" 0 '^ok$' SMELT_CPUS=64 "$programs/loops" child
check_under "who comes late finds little left" 0 '^ok$' SMELT_CPUS=64 "$programs/loops" late
check_under "late, no hot team" 0 '^ok$' SMELT_CPUS=64 SMELT_HOT_TEAM=0 "$programs/loops" late
check_under "schedule(runtime): dynamic" 0 '; 20 dynamic loops in shares$' SMELT_STATS=1 SMELT_CPUS=64 \
  OMP_SCHEDULE=dynamic,3 "$programs/loops" runtime
for schedule in monotonic:dynamic guided static auto; do
  check_under "schedule(runtime): $schedule is libgomp's" 0 '^ok$' SMELT_STATS=1 SMELT_CPUS=64 \
    "OMP_SCHEDULE=$schedule" "$programs/loops" runtime
  if grep -q 'in shares' "$output"; then fails "schedule $schedule in shares"; fi
done
check_under "in order where it is monotonic" 0 '^ok$' SMELT_CPUS=64 OMP_SCHEDULE=monotonic:dynamic \
  "$programs/loops" in-order
check_under "cancellation on: steps aside" 0 '^ok$' OMP_CANCELLATION=true "$programs/loops"
check_under "nothing is taken" 0 '^ok$' SMELT_GOMP=0 "$programs/loops"
finish
