#!/bin/sh
# How threads and processes end that have a hot team: nothing hangs, nothing is lost.
#   life_test.sh SHIM PROGRAM_DIRECTORY
set -u
shim=$1 programs=$2
. "$(dirname "$0")/checks.sh"

hot='OpenMP: [0-9]+ regions \([1-9][0-9]+ hot'
for how in main-exits masters keys none-left cancel untold-children; do
  check "$how, stock" 0 '^ok$' "$programs/life" "$how"
done
# Who is where at the end depends on the moment: several times.
for try in 1 2 3; do
  for how in main-exits masters keys none-left cancel untold-children forks; do
    check_under "$how ($try)" 0 '^ok$' SMELT_CPUS=64 "$programs/life" "$how"
    check_under "$how, passive ($try)" 0 '^ok$' SMELT_CPUS=64 OMP_WAIT_POLICY=passive "$programs/life" "$how"
  done
done
for how in main-exits masters keys none-left cancel untold-children forks; do
  check_under "$how, no hot team" 0 '^ok$' SMELT_OPENMP=-hot "$programs/life" "$how"
  check_under "$how, bound" 0 '^ok$' OMP_PROC_BIND=true "$programs/life" "$how"
  check_under "$how: the teams were hot" 0 "$hot" SMELT_CPUS=64 SMELT_STATS=1 "$programs/life" "$how"
  check_under "$how, every line that can be said" 0 '^ok$' SMELT_CPUS=64 SMELT_VERBOSE=2 "$programs/life" "$how"
done

# Threads that live for a few regions: what one of them needs is kept for the next.
check "short threads, stock" 0 '^ok$' "$programs/short_threads"
for how in SMELT_CPUS=64 SMELT_OPENMP=-hot SMELT_WAIT=sleep OMP_PROC_BIND=true OMP_WAIT_POLICY=passive; do
  check_under "short threads, $how" 0 '^ok$' $how SMELT_TUNE=spin_us=50 "$programs/short_threads" kept
done
check_under "short threads, SMELT_OPENMP=on" 0 '^ok$' SMELT_OPENMP=on SMELT_TUNE=spin_us=50 "$programs/short_threads"

# A libgomp that comes with a library opened later, as in Python: its thread-local block is one that the dynamic linker does not list.
check_under "a libgomp that was opened later gets a hot team" 0 "$hot" SMELT_CPUS=64 SMELT_STATS=1 "$programs/host" "$programs/libplugin.so"

# New threads do not begin on their maker's CPU, and nobody sees that in their masks. The test knows two CPUs or more.
if [ "$(nproc)" -ge 2 ]; then
  check "masks, stock" 0 '^ok, set 0 times$' "$programs/masks" 3
  check_under "masks: two new threads, then one of a maker with one CPU" 0 '^ok, set 4 times$' SMELT_CPUS=64 "$programs/masks" 3
  check_under "masks: more threads than CPUs" 0 '^ok, set 0 times$' SMELT_CPUS=2 "$programs/masks" 3
  check_under "masks: nothing is taken" 0 '^ok, set 0 times$' SMELT_OPENMP=-libgomp "$programs/masks" 3
  check_under "masks: one CPU" 0 '^ok, set 0 times$' SMELT_CPUS=64 taskset -c "$(taskset -cp $$ | sed 's/.*[ ,-]//')" "$programs/masks" 3
fi
finish
