#!/bin/sh
# Tasks, libgomp's and by stealing.
#   own_tasks_test.sh SHIM PROGRAM_DIRECTORY
set -u
shim=$1 programs=$2
. "$(dirname "$0")/checks.sh"

stolen='; [1-9][0-9]+ tasks by stealing$'
check "stock" 0 '^ok$' "$programs/own_tasks"
check_under "off" 0 '^ok$' SMELT_OPENMP=-tasks SMELT_STATS=1 SMELT_CPUS=64 SMELT_TUNE=spin_us=20 "$programs/own_tasks"
if grep -q 'by stealing' "$output"; then fails "off, and yet by stealing"; fi
check_under "on by default" 0 "$stolen" SMELT_STATS=1 SMELT_CPUS=64 SMELT_TUNE=spin_us=20 "$programs/own_tasks"
for seed in 1 2 3 4 5 6; do
  # As if every thread had a CPU: more threads than CPUs are left to libgomp.
  check_under "by stealing, seed $seed" 0 "$stolen" SMELT_OPENMP=on SMELT_STATS=1 SMELT_CPUS=64 SMELT_TUNE=spin_us=20 \
    "$programs/own_tasks" 24 $seed
  grep -q '^ok$' "$output" || fails "seed $seed did not come to its end"
done
check "copies that are tasks, stock" 0 '^ok$' "$programs/copies"
for settings in "SMELT_CPUS=64 SMELT_TUNE=spin_us=20" "SMELT_CPUS=64 SMELT_OPENMP=-hot" "SMELT_CPUS=1" "SMELT_OPENMP=-tasks SMELT_CPUS=64"; do
  check_under "copies that are tasks, $settings" 0 '^ok$' $settings "$programs/copies"
done
for settings in "SMELT_OPENMP=on" "SMELT_OPENMP=-hot SMELT_CPUS=64 SMELT_TUNE=spin_us=20" "SMELT_CPUS=1" "SMELT_OPENMP=-tasks"; do
  check_under "tasks past the last barrier, $settings" 0 '^ok$' $settings "$programs/late_tasks"
done
check "undeferred, stock" 0 '^ok$' "$programs/undeferred"
for settings in "SMELT_CPUS=64 SMELT_TUNE=spin_us=20" "SMELT_CPUS=64 SMELT_OPENMP=-hot" "SMELT_CPUS=1" "SMELT_OPENMP=-tasks"; do
  check_under "undeferred, $settings" 0 '^ok$' $settings "$programs/undeferred"
done
# every_way PROGRAM ROUNDS FEWER: stock, by stealing with several seeds, and, in fewer rounds, under other settings
every_way() {
  program=$1 what=$(echo "$1" | tr _ ' ') rounds=$2 fewer=$3
  check "$what, stock" 0 '^ok$' "$programs/$program"
  for seed in 1 2 3 4 5 6; do
    check_under "$what, seed $seed" 0 "$stolen" SMELT_STATS=1 SMELT_CPUS=64 SMELT_TUNE=spin_us=20 "$programs/$program" "$rounds" $seed
    grep -q '^ok$' "$output" || fails "$what, seed $seed, did not come to their end"
  done
  for settings in "SMELT_CPUS=64 SMELT_OPENMP=-hot" "SMELT_CPUS=1" "SMELT_OPENMP=-tasks" "SMELT_OPENMP=on SMELT_CPUS=64" \
    "OMP_MAX_TASK_PRIORITY=400 SMELT_CPUS=64"; do
    check_under "$what, $settings" 0 '^ok$' $settings "$programs/$program" "$fewer" 7
  done
}
every_way task_loops 24 12
every_way task_reductions 8 4
right=$shim
# notices PROGRAM FAULT: it fails where that is planted
notices() {
  shim=$programs/libsmelt_gomp_planted_$2.so
  if timeout 20 env LD_PRELOAD="$shim" SMELT_CPUS=64 SMELT_TUNE=spin_us=20 "$programs/$1" >"$output" 2>&1; then
    fails "$2 is not noticed"
  else
    passes "$2 is noticed"
  fi
}
# Children that are taken for the task's around; an undeferred task whose end is never noticed.
notices undeferred unadopted
notices undeferred unsettled
shim=$right
check "C++, stock" 0 '^ok$' "$programs/own_tasks_cxx"
check_under "C++" 0 "$stolen" SMELT_OPENMP=on SMELT_STATS=1 SMELT_CPUS=64 SMELT_TUNE=spin_us=20 "$programs/own_tasks_cxx"
grep -q '^ok$' "$output" || fails "C++ did not come to its end"
check_under "asleep" 0 '^ok$' SMELT_OPENMP=on SMELT_CPUS=64 SMELT_WAIT=sleep "$programs/own_tasks"
check_under "no hot team" 0 "$stolen" SMELT_OPENMP=-hot SMELT_STATS=1 SMELT_CPUS=64 SMELT_TUNE=spin_us=20 \
  "$programs/own_tasks"
check_under "dynamic loops, too" 0 '^ok$' SMELT_OPENMP=on SMELT_CPUS=64 \
  "$programs/own_tasks"
check_under "as many CPUs as there are" 0 '^ok$' SMELT_OPENMP=on "$programs/own_tasks"
check_under "one CPU: a crowd" 0 "$stolen" SMELT_OPENMP=on SMELT_STATS=1 SMELT_CPUS=1 "$programs/own_tasks"
grep -q '^ok$' "$output" || fails "a crowd did not come to its end"
check "dependences, stock" 0 '^ok$' "$programs/depend"
for seed in 1 2 3 4 5 6; do
  check_under "dependences, seed $seed" 0 "$stolen" SMELT_OPENMP=on SMELT_STATS=1 SMELT_CPUS=64 SMELT_TUNE=spin_us=20 \
    "$programs/depend" 24 $seed
  grep -q '^ok$' "$output" || fails "dependences, seed $seed, did not come to their end"
done
check_under "dependences, a crowd" 0 '^ok$' SMELT_OPENMP=on SMELT_CPUS=1 "$programs/depend"
check_under "dependences, no hot team" 0 '^ok$' SMELT_OPENMP=-hot SMELT_CPUS=64 "$programs/depend"
# Not with OMP_MAX_TASK_PRIORITY: libgomp 12 itself falls then in two of three runs of these programs. Its own suite has priorities.
check_under "kept inner teams, too" 0 '^ok$' SMELT_OPENMP=on SMELT_CPUS=64 "$programs/own_tasks"
check_under "cancellation on: steps aside" 0 '^ok$' SMELT_OPENMP=on OMP_CANCELLATION=true "$programs/own_tasks"
check_under "nothing is taken" 0 '^ok$' SMELT_OPENMP=-libgomp "$programs/own_tasks"
finish
