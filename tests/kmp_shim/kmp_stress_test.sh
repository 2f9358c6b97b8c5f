#!/bin/sh
# Random programs (tests/gomp_shim/stress.c, built by clang) on LLVM's libomp under the shim: on pretended machines and as crowds, every way
# of waiting, patterns of every kind.
#   kmp_stress_test.sh SHIM NEGATIVE_CONTROL PROGRAMS_BY_CLANG PROGRAMS_BY_GCC
#   STRESS_SEEDS=1000 STRESS_FIRST=31    how many programs, and from which seed on; by default 32 from 1. What a seed means is fixed
set -u
shim=$1 control=$2 clang_programs=$3 programs=$3
. "$(dirname "$0")/../gomp_shim/checks.sh"
. "$(dirname "$0")/clang_only.sh"
programs=$4
. "$(dirname "$0")/../gomp_shim/pretend.sh"

# libomp counts the CPUs of the mask and finds more than there are: an assertion of its own, without any shim. It must not look.
export KMP_AFFINITY=disabled
seconds=${STRESS_SECONDS:-200}
limit=$((seconds + 30))

check "a shim that marks no tasks is noticed" 1 '^wrong: ' env LD_PRELOAD="$control" SMELT_CPUS=64 OMP_WAIT_POLICY=passive \
  "$clang_programs/stress" 1 100 8
for seed in 1 2; do
  check "seed $seed, stock" 0 '^ok$' env OMP_WAIT_POLICY=passive "$clang_programs/stress" "$seed" 100 32 "$seconds"
done

seed=${STRESS_FIRST:-1}
last=$((seed + ${STRESS_SEEDS:-32} - 1))
while [ "$seed" -le "$last" ]; do
  # Programs with several masters (stress.c: by the seed): libomp 14 itself ends most of them with a segmentation fault when a master ends
  # whose tasks others have run.
  if [ $((seed % 3)) -eq 0 ] && [ $((seed / 3 % 3)) -ne 0 ]; then
    skips "seed $seed: several masters"
    seed=$((seed + 1))
    continue
  fi
  machine=$(pick "$seed" large small large crowd)
  waiting=$(pick $((seed / 4)) SMELT_TUNE=spin_us=20 SMELT_WAIT=sleep SMELT_TUNE=canary=0 SMELT_TUNE=yield_us=20)
  pattern=$(pick $((seed / 3)) best hierarchical spread hybrid adaptive-sorted dissemination:2 sequential knomial:3 mst all-to-all optimised relay:1 line)
  short=
  [ "$machine" = crowd ] || short=SMELT_TUNE=spin_us=20
  most=32
  [ "$machine" = small ] && most=24
  # libomp's own waiting, at forks and joins: its threads share CPUs, too.
  check "seed $seed: $machine, $waiting, $pattern" 0 '^ok$' env $($machine) $short "$waiting" OMP_WAIT_POLICY=passive "SMELT_TUNE=pattern=$pattern" \
    "$clang_programs/stress" "$seed" 100 "$most" "$seconds"
  seed=$((seed + 1))
done

finish
