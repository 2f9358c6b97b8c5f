#!/bin/sh
# Teams of inner regions that the shim for LLVM's libomp keeps: the programs are right, such teams are there, and where there can be none
# there is none. With `versions` that is shown with every libomp that can be had here (versions.sh), else with the one that is installed.
#   kmp_kept_test.sh SHIM NEGATIVE_CONTROL PROGRAMS_BY_CLANG [versions]
set -u
shim=$1 control=$2 programs=$3 which=${4-}
[ -z "$which" ] || versions=$("$(dirname "$0")/versions.sh")  # before checks.sh, which gives this test a cache of its own
. "$(dirname "$0")/../gomp_shim/checks.sh"
. "$(dirname "$0")/clang_only.sh"

under="SMELT_VERBOSE=2 SMELT_SPIN_US=50 OMP_WAIT_POLICY=passive"
kept='CPUs .*: kept, fork and join '
cases="answers blocktime sizes constructs around settings values own locks rounding depend places masters children pauses random"

# kept_case NAME PROGRAM VARIABLES... -- CASE...   is right, and has kept teams
kept_case() { right_under "$kept" "$@"; }

if [ -n "$which" ]; then
  echo "$versions" >"$scratch/versions"
  while read -r version folder; do
    for what in $cases; do
      if ! env LD_LIBRARY_PATH="$folder" OMP_WAIT_POLICY=passive timeout 60 "$programs/kept" "$what" >"$output" 2>&1; then
        skips "libomp $version: $what fails by itself"
        continue
      fi
      kept_case "libomp $version" kept LD_LIBRARY_PATH="$folder" SMELT_CPUS=64 -- "$what"
    done
  done <"$scratch/versions"
  finish
  exit
fi

for what in $cases; do
  check "$what, stock" 0 '^ok$' env OMP_WAIT_POLICY=passive "$programs/kept" "$what"
  kept_case "as it is" kept SMELT_CPUS=64 -- "$what"
  kept_case "bound" kept OMP_PROC_BIND=true OMP_PLACES=threads SMELT_CPUS=64 -- "$what"
  kept_case "bound apart" kept OMP_PROC_BIND=spread,close OMP_PLACES=threads SMELT_CPUS=64 -- "$what"
  kept_case "asleep" kept SMELT_WAIT=sleep SMELT_CPUS=64 -- "$what"
  kept_case "more threads than CPUs" kept SMELT_CPUS=2 -- "$what"
done
kept_case "as it is" kept SMELT_CPUS=64 -- one
kept_case "more threads than CPUs" kept SMELT_CPUS=2 -- one
for what in answers constructs sizes; do
  kept_case "libomp keeps inner threads, too" kept KMP_HOT_TEAMS_MAX_LEVEL=2 SMELT_CPUS=64 -- $what
done
for how in serial around inside; do kept_case "the end, $how" kept SMELT_CPUS=64 -- ends $how; done
kept_case "values found by number" kept_cached SMELT_CPUS=64 -- own
check "tasks without marking fail" 1 'failed: ' env LD_PRELOAD="$control" SMELT_CPUS=64 OMP_WAIT_POLICY=passive "$programs/kept" constructs

# Where none can be.
is_none() { ! grep -q "$kept" "$output" || fails "$1: a team is kept"; }
none() {
  check_under "$1: no team is kept" 0 '^ok$' $under SMELT_CPUS=64 $2 "$programs/kept" answers
  is_none "$1"
}
none "SMELT_NESTED=0" SMELT_NESTED=0
none "SMELT_KMP_HOT_TEAM=0" SMELT_KMP_HOT_TEAM=0
none "a limit of threads" OMP_THREAD_LIMIT=16
none "the number is found in another way" KMP_GTID_MODE=2
check_under "address space is limited: no team is kept" 0 '^ok$' $under SMELT_CPUS=64 \
  sh -c 'ulimit -v 50000000 && exec "$0" answers' "$programs/kept"
is_none "address space is limited"

finish
