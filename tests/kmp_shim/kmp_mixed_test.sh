#!/bin/sh
# Everything at once, at random (../gomp_shim/mixed.c), as clang builds it: stock, and under the shim with hot teams and without, where each
# thread believes to have a CPU. And under a shim that marks no tasks: that must be noticed.
#   kmp_mixed_test.sh SHIM UNMARKED_SHIM PROGRAMS_BY_CLANG
#   MIXED_SEEDS=1000 MIXED_FIRST=31    how many programs, and from which seed on; by default 36 from 1
set -u
shim=$1 unmarked=$2 programs=$3
. "$(dirname "$0")/../gomp_shim/checks.sh"
. "$(dirname "$0")/clang_only.sh"

export OMP_WAIT_POLICY=passive  # inner teams of libomp's spin long else
alone="SMELT_CPUS=64 SMELT_TUNE=spin_us=20"
# Those that libomp 14 itself serves without fail. Tasks are left out beside two kinds, for faults of its own (19 has the
# first, too):
#   - threads: where one has a region with tasks and ends, its workers still hold the freed memory of those tasks in a
#     list, and follow it when they serve another thread's tasks (___kmp_fast_free). Such a program falls in every run.
#   - inner: the team of an inner region with tasks is freed while a worker still looks for tasks in it (__kmp_steal_task):
#     3 of 400 runs of seed 12 fall. Where inner teams are hot, and so not freed, 4 of 40 runs of seed 22 hang.
kinds=region,sizes,levels,threadprivate,barriers,loops,sections,singles,locks,flags,idle,target
kinds_of() { if [ $(($1 % 2)) = 0 ]; then echo "$kinds,trees,tree,tasks"; else echo "$kinds,inner,threads"; fi; }

# libomp 19 as Debian builds it, with assertions, fails two of them now and then: kmp_dispatch.cpp(1618) and kmp_tasking.cpp(3248), in 3 of
# 632 runs of these programs without Smelt and 1 of 632 with it. Such a run says nothing of the shim: it is made again, and counted.
theirs=$scratch/theirs again=$scratch/again
: >"$theirs"
cat >"$again" <<'AGAIN'
for attempt in 1 2 3; do
  said=$("$@" 2>&1)
  status=$?
  case $said in *"Assertion failure at kmp_dispatch.cpp(1618)"* | *"Assertion failure at kmp_tasking.cpp(3248)"*) ;; *) break ;; esac
  echo "$*" >>"$THEIRS"
done
printf '%s\n' "$said"
exit "$status"
AGAIN
export THEIRS="$theirs"

for seed in 1 2 3; do check "seed $seed, stock" 0 '^ok$' sh "$again" "$programs/mixed" "$seed" 20 8 100 "$(kinds_of "$seed")"; done

seed=${MIXED_FIRST:-1}
last=$((seed + ${MIXED_SEEDS:-36} - 1))
while [ "$seed" -le "$last" ]; do
  case $((seed % 4)) in
    0) switches=SMELT_OPENMP=-hot ;;
    1) switches=SMELT_WAIT=sleep ;;
    *) switches=SMELT_OPENMP=on ;;
  esac
  case $((seed / 4 % 3)) in
    0) most=4 ;;
    1) most=2 ;;
    2) most=8 ;;
  esac
  check_under "seed $seed, up to $most threads, $switches" 0 '^ok$' $alone $switches sh "$again" "$programs/mixed" "$seed" 40 "$most" 100 "$(kinds_of "$seed")"
  seed=$((seed + 1))
done
echo "libomp's own assertions failed $(wc -l <"$theirs") times"
check_under "regions are hot" 0 'OpenMP: [0-9]+ regions \([1-9][0-9]* hot' $alone SMELT_STATS=1 "$programs/mixed" 1 40 4 100 trees

seed=0 noticed=no
while [ $noticed = no ] && [ $seed -lt 150 ]; do
  seed=$((seed + 1))
  timeout 30 env LD_PRELOAD="$unmarked" $alone "$programs/mixed" $seed 60 4 15 trees >"$output" 2>&1
  got=$?  # a wrong result, no end, or a fall
  if grep -Eq '^(wrong|hung)' "$output" || [ $got -gt 128 ]; then noticed=yes; fi
done
echo "no marks: seed $seed: $(tail -n 1 "$output")"
if [ $noticed = yes ]; then passes "no marks are noticed"; else fails "no marks are not noticed in $seed programs"; fi
finish
