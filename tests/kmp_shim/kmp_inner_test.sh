#!/bin/sh
# Regions inside regions under the shim for LLVM's libomp, which forks and joins them: the programs are right, and barriers inside are the
# shim's. With `versions` that is shown with every libomp that can be had here (versions.sh), else with the one that is installed.
#   kmp_inner_test.sh SHIM PROGRAMS_BY_CLANG [versions]
set -u
shim=$1 programs=$2 which=${3-}
[ -z "$which" ] || versions=$("$(dirname "$0")/versions.sh")  # before checks.sh, which gives this test a cache of its own
. "$(dirname "$0")/../gomp_shim/checks.sh"
. "$(dirname "$0")/clang_only.sh"

under="SMELT_VERBOSE=2 SMELT_TUNE=spin_us=50 OMP_WAIT_POLICY=passive"
served='team of [0-9]+ \(nested\), CPUs .*: barrier '
cases="answers one blocktime depths sizes constructs around settings values locks rounding depend places masters children pauses random"

# inner_case NAME VARIABLES... -- CASE...   is right, and has inner teams with barriers of the shim's
inner_case() { name=$1 && shift && right_under "$served" "$name" inner "$@"; }

if [ -n "$which" ]; then
  echo "$versions" >"$scratch/versions"
  while read -r version folder; do
    for what in $cases; do
      if ! env LD_LIBRARY_PATH="$folder" OMP_WAIT_POLICY=passive timeout 60 "$programs/inner" "$what" >"$output" 2>&1; then
        skips "libomp $version: $what fails by itself"
        continue
      fi
      inner_case "libomp $version" LD_LIBRARY_PATH="$folder" SMELT_CPUS=64 -- "$what"
    done
  done <"$scratch/versions"
  finish
  exit
fi

for what in $cases; do
  check "$what, stock" 0 '^ok$' env OMP_WAIT_POLICY=passive "$programs/inner" "$what"
  inner_case "as it is" SMELT_CPUS=64 -- "$what"
  inner_case "bound" OMP_PROC_BIND=true OMP_PLACES=threads SMELT_CPUS=64 -- "$what"
  inner_case "bound apart" OMP_PROC_BIND=spread,close OMP_PLACES=threads SMELT_CPUS=64 -- "$what"
  inner_case "asleep" SMELT_WAIT=sleep SMELT_CPUS=64 -- "$what"
  inner_case "more threads than CPUs" SMELT_CPUS=2 -- "$what"
done
for what in answers constructs sizes; do
  inner_case "libomp keeps inner threads, too" KMP_HOT_TEAMS_MAX_LEVEL=2 SMELT_CPUS=64 -- $what
done
for what in depths random; do inner_case "no hot team around" SMELT_OPENMP=-hot SMELT_CPUS=64 -- $what; done
for how in serial around inside; do inner_case "the end, $how" SMELT_CPUS=64 -- ends $how; done

finish
