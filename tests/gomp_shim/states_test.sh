#!/bin/sh
# A thread's states and the transitions between them (gomp_shim/states.h): states.c under the shim, that and other programs under its
# checking build, and docs/openmp.md against the table. tests/mutants has mistakes that each half must find.
#   states_test.sh SHIM PROGRAM_DIRECTORY SOURCE_ROOT
set -u
shim=$1 programs=$2 root=$3
. "$(dirname "$0")/checks.sh"

export OMP_WAIT_POLICY=passive  # inner teams of libgomp's spin long else
check "stock" 0 '^nowait: ok$' "$programs/states"
for wait in SMELT_CPUS=64 SMELT_CPUS=1 SMELT_WAIT=sleep; do
  check_under "$wait" 0 '^nowait: ok$' $wait SMELT_TUNE=spin_us=20 "$programs/states"
done
for off in SMELT_OPENMP=-hot SMELT_OPENMP=-nested SMELT_OPENMP=-tasks SMELT_OPENMP=-loops; do
  check_under "$off" 0 '^nowait: ok$' $off "$programs/states"
done
if [ "$(nproc)" -gt 1 ]; then
  check_under "as many CPUs as threads, later" 0 'threads may use 2 CPUs now, not 1$' SMELT_VERBOSE=2 \
    "$programs/states" affinity
  grep -Eq 'threads may use 1 CPU now, not [0-9]+$' "$output" || fails "fewer CPUs than threads, later"
else
  skips "more CPUs, or fewer: there is one"
fi

plain=$shim
shim=$programs/libsmelt_gomp_checked.so
check_under "checked" 0 '^nowait: ok$' "$programs/states"
check_under "checked: hot teams are started" 0 'hot, fork and join' SMELT_VERBOSE=2 "$programs/states" targets
check_under "checked: a team of one is kept" 0 'team of 1: hot' SMELT_VERBOSE=2 "$programs/states" first_setting
check_under "checked: inner teams are kept" 0 'kept, fork and join' SMELT_VERBOSE=2 "$programs/states" target_inside
check_under "checked: regions of one" 0 '^ok$' "$programs/solo" 5 60 3
check_under "checked: kept teams" 0 '^ok' "$programs/kept"
check_under "checked: hot teams" 0 '' "$programs/hot"
for seed in 101 102 103; do check_under "checked: everything, seed $seed" 0 '^ok$' SMELT_CPUS=64 SMELT_TUNE=spin_us=20 "$programs/mixed" $seed 20 4; done
if ! grep -aq 'the table does not have it' "$shim" || grep -aq 'the table does not have it' "$plain"; then
  fails "the checking build checks, and only that one"
fi
shim=$plain

# One line of the document for each row.
for kind in STATE TRANSITION; do
  sed -n "s/^$kind(\([A-Za-z]*\), .*\"\(.*\)\".*/\1 | \2 |/p" "$root/gomp_shim/states.def"
done >"$scratch/rows"
rows=$(wc -l <"$scratch/rows") missing=0
: >"$output"
while IFS= read -r row; do
  grep -Fq "| $row" "$root/docs/openmp.md" || { echo "$row" >>"$output"; missing=$((missing + 1)); }
done <"$scratch/rows"
if [ "$rows" -gt 20 ] && [ $missing -eq 0 ]; then passes "docs/openmp.md has all $rows rows"; else fails "$missing of $rows rows are not in docs/openmp.md"; fi
finish
