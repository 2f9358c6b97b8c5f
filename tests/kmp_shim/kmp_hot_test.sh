#!/bin/sh
# The hot team of the shim for LLVM's libomp: the programs are right, their regions are hot, and where there can be no hot team there is
# none. With `versions` that is shown with every libomp that can be had here (versions.sh), else with the one that is installed.
#   kmp_hot_test.sh SHIM SHIM_FOR_LIBGOMP PROGRAMS_BY_CLANG [versions]
set -u
shim=$1 gomp=$2 programs=$3 which=${4-}
[ -z "$which" ] || versions=$("$(dirname "$0")/versions.sh")  # before checks.sh, which gives this test a cache of its own
. "$(dirname "$0")/../gomp_shim/checks.sh"
. "$(dirname "$0")/clang_only.sh"

hot='OpenMP: [0-9]+ regions \([1-9][0-9]* hot'
cold='OpenMP: [0-9]+ regions \(0 hot'
under="SMELT_STATS=1 SMELT_TUNE=spin_us=50 OMP_WAIT_POLICY=passive"
cases="answers settings values locks rounding places depend inner masters children forks around leagues background pauses blocktime"
ends="serial one region"

# hot_case NAME VARIABLES... -- CASE...   is right and hot
hot_case() { name=$1 && shift && right_under "$hot" "$name" parked "$@"; }

if [ -n "$which" ]; then
  echo "$versions" >"$scratch/versions"
  while read -r version folder; do
    for what in $cases; do
      # libomp 16 asserts something in children of fork by itself, now and then.
      if [ "$version $what" = "16 children" ]; then
        skips "libomp $version: $what"
        continue
      fi
      if ! env LD_LIBRARY_PATH="$folder" OMP_WAIT_POLICY=passive timeout 60 "$programs/parked" "$what" >"$output" 2>&1; then
        skips "libomp $version: $what fails by itself"
        continue
      fi
      hot_case "libomp $version" LD_LIBRARY_PATH="$folder" SMELT_CPUS=64 -- "$what"
    done
    for how in $ends; do hot_case "libomp $version" LD_LIBRARY_PATH="$folder" SMELT_CPUS=64 -- ends $how; done
    # It forks, too.
    [ "$version" = 16 ] ||
      check_under "libomp $version: what a program may do" 0 "$hot" $under LD_LIBRARY_PATH="$folder" SMELT_CPUS=64 "$programs/hot"
  done <"$scratch/versions"
  finish
  exit
fi

for what in $cases; do
  check "$what, stock" 0 '^ok$' env OMP_WAIT_POLICY=passive "$programs/parked" "$what"
  hot_case "as it is" SMELT_CPUS=64 -- "$what"
  hot_case "bound" OMP_PROC_BIND=true OMP_PLACES=threads SMELT_CPUS=64 -- "$what"
  hot_case "asleep" SMELT_WAIT=sleep SMELT_CPUS=64 -- "$what"
  hot_case "KMP_AFFINITY" KMP_AFFINITY=compact SMELT_CPUS=64 -- "$what"
  check_under "switched off: $what" 0 "$cold" SMELT_OPENMP=-hot SMELT_STATS=1 SMELT_CPUS=64 OMP_WAIT_POLICY=passive "$programs/parked" "$what"
done
check "threads inside hot regions, stock" 0 '^ok$' env OMP_WAIT_POLICY=passive "$programs/parked" counted
hot_case "threads inside hot regions" SMELT_CPUS=4 -- counted
check_under "many threadprivate values" 0 "$hot" $under SMELT_CPUS=64 "$programs/parked_large" values
check_under "threadprivate values found by number" 0 "$hot" $under SMELT_CPUS=64 "$programs/parked_cached" values
for how in turns "turns inside" settings beside t; do
  check_under "hot $how" 0 '^ok$' $under SMELT_CPUS=64 "$programs/hot" $how
done
for program in "constructs 2 10" "constructs 5 4" nested "tasks 10 2" "tasks 5 4" fork reductions "stress 1 2" "task_phases 20" "loops 1"; do
  run="$programs/$program"
  check_under "$program, hot" 0 '^ok' $under SMELT_CPUS=64 $run
done

# Threads get CPUs, or lose them, after the first regions.
lines() { grep -Eq "$2" "$output" || fails "$1: no line matches '$2'"; }
if [ "$(nproc)" -gt 1 ]; then
  for how in wider narrower; do check "$how, stock" 0 '^ok$' env OMP_WAIT_POLICY=passive "$programs/affinity" $how; done
  check_under "a CPU for each, later" 0 '^ok$' SMELT_VERBOSE=2 "$programs/affinity" wider
  lines "a CPU for each, later" 'threads may use 2 CPUs now, not 1$'
  lines "a CPU for each, later" 'team of 2, CPUs .*: barrier crowd'
  check_under "one CPU for all, later" 0 '^ok$' SMELT_VERBOSE=2 "$programs/affinity" narrower
  lines "one CPU for all, later" 'threads may use 1 CPU now, not [0-9]+$'
  lines "one CPU for all, later" 'team of 2, CPUs .*: barrier crowd'
else
  skips "more CPUs, or fewer: there is one"
fi

# Where none can be.
cold() { check_under "$1: no hot team" 0 "$cold" $under SMELT_CPUS=64 "$2" "$programs/parked" values; }
cold "a limit of threads" OMP_THREAD_LIMIT=8
cold "dynamic adjustment" OMP_DYNAMIC=true
cold "more threads than CPUs" SMELT_CPUS=1
cold "the number is found in another way" KMP_GTID_MODE=2
cold "KMP_INHERIT_FP_CONTROL=0" KMP_INHERIT_FP_CONTROL=0
cold "KMP_AFFINITY has reset" KMP_AFFINITY=compact,reset
# Both shims, as smelt run preloads them: settings come by the one for libgomp first.
both="env LD_PRELOAD=$gomp:$shim $under SMELT_CPUS=64"
for what in $cases; do check "both shims: $what" 0 "$hot" $both "$programs/parked" "$what"; done

finish
