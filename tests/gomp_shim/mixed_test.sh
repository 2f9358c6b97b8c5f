#!/bin/sh
# Everything at once, at random (mixed.c): stock, and under the shim programs and settings by chance, new ones each time
# (mixed_run.py), some on a pretended machine, where each thread believes to have a CPU. And under shims with a mistake
# each: they must be noticed.
#   mixed_test.sh SHIM PROGRAM_DIRECTORY [--full]
#   MIXED_SEEDS=1000 MIXED_SEED=7    so many programs, and which; by default a hundred by the time
#   MIXED_CONTROLS=20                so many seeds for each mistake, to see how many notice; by default until one does
# --full: thousands, beside busy processes, stopped and moved now and then, and nothing else.
set -u
shim=$1 programs=$2
. "$(dirname "$0")/checks.sh"
. "$(dirname "$0")/pretend.sh"

everything=SMELT_OPENMP=on
by_chance() {
  name=$1 programs_by_chance=$2
  shift 2
  if "$(dirname "$0")/mixed_run.py" --shim "$shim" --program "$programs/mixed" --programs "$programs_by_chance" \
    --at-times "$(small) SMELT_TUNE=spin_us=20 OMP_WAIT_POLICY=passive" ${MIXED_SEED:+--seed "$MIXED_SEED"} "$@" >"$output"; then
    passes "$name: $(tr '\n' ' ' <"$output")"
  else
    cat "$output"
    fails "$name"
  fi
}
if [ "${3:-}" = --full ]; then
  by_chance "programs by chance" "${MIXED_SEEDS:-2000}" --beside 1 --jolts
  finish
  exit
fi
for seed in 1 2 3; do check "seed $seed, stock" 0 '^ok$' "$programs/mixed" "$seed" 20 8 100 -child_regions; done
by_chance "programs by chance" "${MIXED_SEEDS:-100}" --limit 30

export OMP_WAIT_POLICY=passive  # inner teams of libgomp's spin long else
check "both are served" 0 '; [1-9][0-9]* dynamic loops; [1-9][0-9]* tasks by stealing$' \
  env $(small) SMELT_TUNE=spin_us=20 SMELT_STATS=1 $everything "$programs/mixed" 1 20 4 100 trees
check_under "a crowd" 0 '^ok$' $everything "$programs/mixed" 1 20 8 100 trees

right=$shim
for fault in unmarked strangers counted_late looked_first sums_swapped; do
  shim=$programs/libsmelt_gomp_planted_$fault.so
  noticed=0 seed=0
  while [ $seed -lt "${MIXED_CONTROLS:-1500}" ]; do  # of sums_swapped one program in a hundred tells, where CPUs are near
    seed=$((seed + 1))
    timeout 30 env $(small) SMELT_TUNE=spin_us=20 SMELT_OPENMP=on "$programs/mixed" $seed 60 4 15 trees >"$output" 2>&1
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
