#!/bin/sh
# Everything at once, at random (mixed.c): stock, and under the shim with its switches one by one and together, on a
# pretended machine, where each thread believes to have a CPU. And under shims with a mistake each: they must be noticed.
#   mixed_test.sh SHIM PROGRAM_DIRECTORY
#   MIXED_SEEDS=1000 MIXED_FIRST=31    how many programs, and from which seed on; by default 24 from 1
#   MIXED_CONTROLS=20                  so many seeds for each mistake, to see how many notice; by default until one does
set -u
shim=$1 programs=$2
. "$(dirname "$0")/checks.sh"
. "$(dirname "$0")/pretend.sh"

export OMP_WAIT_POLICY=passive  # inner teams of libgomp's spin long else
everything="SMELT_TASKS=1 SMELT_DYNAMIC_LOOPS=1 SMELT_NESTED=1"
for seed in 1 2 3; do check "seed $seed, stock" 0 '^ok$' "$programs/mixed" "$seed" 20 8; done

seed=${MIXED_FIRST:-1}
last=$((seed + ${MIXED_SEEDS:-24} - 1))
while [ "$seed" -le "$last" ]; do
  case $((seed % 6)) in
    0) switches="SMELT_TASKS=1 SMELT_DYNAMIC_LOOPS=0 SMELT_NESTED=0" ;;
    1) switches="SMELT_TASKS=1 SMELT_DYNAMIC_LOOPS=0 SMELT_NESTED=0 SMELT_HOT_TEAM=0" ;;
    2) switches="SMELT_TASKS=0 SMELT_DYNAMIC_LOOPS=1 SMELT_NESTED=1" ;;
    3) switches="$everything SMELT_WAIT=sleep" ;;
    4) switches=$everything ;;
    5) switches="$everything SMELT_HOT_TEAM=0" ;;
  esac
  case $((seed / 6 % 3)) in
    0) most=4 ;;
    1) most=2 ;;
    2) most=8 ;;
  esac
  check "seed $seed, up to $most threads, $switches" 0 '^ok$' env $(small) SMELT_SPIN_US=20 $switches "$programs/mixed" "$seed" 20 "$most"
  seed=$((seed + 1))
done
check "both are served" 0 '; [1-9][0-9]* dynamic loops; [1-9][0-9]* tasks by stealing$' \
  env $(small) SMELT_SPIN_US=20 SMELT_STATS=1 $everything "$programs/mixed" 1 20 4
check_under "a crowd" 0 '^ok$' $everything "$programs/mixed" 1 20 8

right=$shim
for fault in unmarked strangers counted_late looked_first sums_swapped; do
  shim=$programs/libsmelt_gomp_planted_$fault.so
  noticed=0 seed=0
  while [ $seed -lt "${MIXED_CONTROLS:-150}" ]; do  # of sums_swapped one in four programs tells
    seed=$((seed + 1))
    timeout 30 env $(small) SMELT_SPIN_US=20 SMELT_TASKS=1 "$programs/mixed" $seed 60 4 15 >"$output" 2>&1
    # A wrong result, no end, or a fall.
    got=$?
    if grep -Eq '^(wrong|hung)' "$output" || [ $got -gt 128 ]; then noticed=$((noticed + 1)); fi
    if [ -z "${MIXED_CONTROLS:-}" ] && [ $noticed -gt 0 ]; then break; fi
  done
  echo "mistake \"$fault\": $noticed of $seed programs notice it: $(tail -n 1 "$output")"
  if [ $noticed -gt 0 ]; then passes "$fault is noticed"; else fails "$fault is not noticed"; fi
done
shim=$right
finish
