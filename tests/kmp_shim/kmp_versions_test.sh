#!/bin/sh
# Every libomp that can be had here (versions.sh), under the shim: it is taken, the programs are right, and one that exports what Smelt does
# not know is left alone.
#   kmp_versions_test.sh SHIM NEGATIVE_CONTROL PROGRAMS_BY_CLANG
set -u
shim=$1 control=$2 programs=$3
versions=$("$(dirname "$0")/versions.sh")  # before checks.sh, which gives this test a cache of its own
. "$(dirname "$0")/../gomp_shim/checks.sh"
. "$(dirname "$0")/clang_only.sh"

taken='smelt: [0-9.]+: libomp, [0-9]+ threads, pattern .*symbols taken'
echo "$versions" >"$scratch/versions"
while read -r version folder; do
  on="LD_LIBRARY_PATH=$folder OMP_WAIT_POLICY=passive"
  for program in "constructs 2 10" "tasks 5 4" reductions arguments alone fork_if handed_on; do
    hot=
    [ "$program" != handed_on ] || hot=SMELT_OPENMP=-hot  # it looks at regions that libomp forks
    check "libomp $version: $program" 0 '^ok$' env LD_PRELOAD="$shim" SMELT_CPUS=64 $hot $on "$programs/"$program
  done
  check "libomp $version: taken" 0 "$taken" env LD_PRELOAD="$shim" SMELT_VERBOSE=1 $on "$programs/constructs" 2 3
  check "libomp $version: tasks without marking fail" 1 'failed: ' env LD_PRELOAD="$control" SMELT_CPUS=64 $on "$programs/tasks" 300 3
  # One name of it changed into another of the same length, in a copy: this libomp is not known.
  mkdir "$scratch/$version"
  sed 's/__kmpc_ok_to_fork/__kmpc_ok_to_spin/g' "$folder/libomp.so.5" >"$scratch/$version/libomp.so.5"
  check "libomp $version with an unknown entry point: steps aside" 0 'takes nothing: this libomp has __kmpc_ok_to_spin' \
    env LD_PRELOAD="$shim" SMELT_VERBOSE=1 LD_LIBRARY_PATH="$scratch/$version" OMP_WAIT_POLICY=passive "$programs/constructs" 2 3
done <"$scratch/versions"
[ "$passed" -gt 0 ] || { : >"$output"; fails "no libomp was found"; }

finish
