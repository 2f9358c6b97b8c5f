#!/bin/sh
# Random programs (stress.c) under the shim: on pretended machines and as crowds, every way of waiting, patterns of every kind.
#   stress_test.sh SHIM NEGATIVE_CONTROL PROGRAM_DIRECTORY
#   STRESS_SEEDS=1000 STRESS_FIRST=31    how many programs, and from which seed on; by default 48 from 1. What a seed means is fixed
# A run that does not end says whether it hung or was slow, and where its threads were. It may take STRESS_SECONDS, by default 200.
set -u
shim=$1 control=$2 programs=$3
. "$(dirname "$0")/checks.sh"
. "$(dirname "$0")/pretend.sh"

seconds=${STRESS_SECONDS:-200}
limit=$((seconds + 30))

check "a thread that never goes on is told from a slow run: hung" 2 '^hung: nobody made progress' "$programs/stress" 1 20 4 2 hang
if ! grep -q 'planted: never goes on' "$output"; then fails "what the hung run's threads were at"; fi
check "a run that is only slow" 3 '^slow: there was progress' "$programs/stress" 1 1000 4 2 slow
check "a shim that marks no tasks is noticed" 1 '^wrong: ' env LD_PRELOAD="$control" SMELT_OPENMP=-tasks SMELT_CPUS=64 "$programs/stress" 1 100 8
for seed in 1 2 3; do
  check "seed $seed, stock" 0 '^ok$' env OMP_WAIT_POLICY=passive "$programs/stress" "$seed" 100 32 "$seconds"
done

seed=${STRESS_FIRST:-1}
last=$((seed + ${STRESS_SEEDS:-48} - 1))
while [ "$seed" -le "$last" ]; do
  machine=$(pick "$seed" large small large crowd)
  waiting=$(pick $((seed / 4)) SMELT_TUNE=spin_us=20 SMELT_WAIT=sleep OMP_WAIT_POLICY=passive SMELT_TUNE=yield_us=20)
  pattern=$(pick $((seed / 3)) best hierarchical spread hybrid adaptive-sorted dissemination:2 sequential knomial:3 mst all-to-all optimised relay:1 line)
  # Where each believes to have a CPU, but has none, none may spin as long as it would with one.
  short=
  [ "$machine" = crowd ] || short=SMELT_TUNE=spin_us=20
  hot=SMELT_OPENMP=on
  [ $((seed % 5)) -eq 0 ] && hot=SMELT_OPENMP=-hot
  tasks=$(pick $((seed / 2)) SMELT_OPENMP=on SMELT_OPENMP=-tasks)
  most=32
  [ "$machine" = small ] && most=24
  check "seed $seed: $machine, $waiting, $pattern, $hot, $tasks" 0 '^ok$' env $($machine) $short "$waiting" "$hot" "$tasks" "SMELT_TUNE=pattern=$pattern" \
    "$programs/stress" "$seed" 100 "$most" "$seconds"
  seed=$((seed + 1))
done

finish
