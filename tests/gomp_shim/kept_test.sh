#!/bin/sh
# Nested regions, with libgomp's new threads for each and with teams that are kept.
#   kept_test.sh SHIM PROGRAM_DIRECTORY
set -u
shim=$1 programs=$2
. "$(dirname "$0")/checks.sh"

kept=': kept, fork and join '
# Passive: where threads share CPUs, libgomp's own spin for long.
export OMP_WAIT_POLICY=passive
check "stock" 0 '^ok$' "$programs/kept" 6
check_under "off" 0 '^ok$' SMELT_OPENMP=-nested SMELT_VERBOSE=2 SMELT_CPUS=64 "$programs/kept" 6
if grep -Eq "$kept" "$output"; then fails "off, and yet kept"; fi
check_under "kept" 0 "$kept" SMELT_VERBOSE=2 SMELT_CPUS=64 SMELT_TUNE=spin_us=20 "$programs/kept" 12
grep -q '^ok$' "$output" || fails "kept did not come to its end"
for reason in 'a setting was changed' 'another team size' 'the region around ends'; do
  grep -q "hot no more after [0-9]* regions: $reason" "$output" || fails "no kept team ended for: $reason"
done
# Threads of 32 are kept at a time at most, with 8 CPUs: teams that have ended must make room.
check_under "more and more teams" 0 '^ok$' SMELT_VERBOSE=2 SMELT_CPUS=8 SMELT_TUNE=spin_us=20 "$programs/kept" 12
[ "$(grep -Ec "$kept" "$output")" -gt 32 ] || fails "after 32 teams none was kept any more"
check_under "kept asleep" 0 '^ok$' SMELT_CPUS=64 SMELT_WAIT=sleep "$programs/kept" 12
check_under "as many CPUs as there are" 0 '^ok$' "$programs/kept" 8
check_under "bound" 0 '^ok$' OMP_PROC_BIND=true SMELT_CPUS=64 SMELT_TUNE=spin_us=20 "$programs/kept" 8
check_under "inside teams that libgomp forks" 0 '^ok$' SMELT_OPENMP=-hot "$programs/kept" 6
if grep -Eq "$kept" "$output"; then fails "no hot teams, and yet kept"; fi
check_under "a limit of threads: libgomp's" 0 '^ok$' OMP_THREAD_LIMIT=64 SMELT_VERBOSE=2 SMELT_CPUS=64 "$programs/kept" 6
if grep -Eq "$kept" "$output"; then fails "a limit, and yet kept"; fi
check_under "dynamic loops by libgomp" 0 '^ok$' SMELT_OPENMP=-loops SMELT_CPUS=64 SMELT_TUNE=spin_us=20 "$programs/kept" 8
check_under "with tasks by stealing" 0 '^ok$' SMELT_OPENMP=on SMELT_CPUS=64 SMELT_TUNE=spin_us=20 "$programs/kept" 12
check_under "all together" 0 "$kept" SMELT_OPENMP=on SMELT_VERBOSE=2 SMELT_STATS=1 SMELT_CPUS=64 SMELT_TUNE=spin_us=20 "$programs/kept" 12
grep -q '^ok$' "$output" || fails "all together did not come to its end"
grep -Eq '; [1-9][0-9]* dynamic loops; [1-9][0-9]* tasks by stealing' "$output" || fails "not all were together"
check_under "all together, asleep" 0 '^ok$' SMELT_OPENMP=on SMELT_CPUS=64 SMELT_WAIT=sleep "$programs/kept" 6
check_under "all together, bound" 0 '^ok$' SMELT_OPENMP=on OMP_PROC_BIND=true OMP_PLACES=threads SMELT_CPUS=64 SMELT_TUNE=spin_us=20 "$programs/kept" 6
check_under "all together, bound nearby" 0 '^ok$' SMELT_OPENMP=on OMP_PROC_BIND=spread,close SMELT_CPUS=64 SMELT_TUNE=spin_us=20 "$programs/kept" 6
check_under "all together, crowded" 0 '^ok$' SMELT_OPENMP=on "$programs/kept" 6
for program in own_tasks loops; do
  check_under "all together, $program" 0 '^ok$' SMELT_OPENMP=on SMELT_CPUS=64 SMELT_TUNE=spin_us=20 "$programs/$program" 20
done
for program in nested hot constructs tasks; do
  check_under "$program" 0 '^ok$' SMELT_CPUS=64 SMELT_TUNE=spin_us=20 "$programs/$program"
done
for what in object key standard-key waited-for; do
  check "at a thread's end, $what, stock" 0 '^ok$' "$programs/kept" 20 $what
  check_under "at a thread's end, $what" 0 'hot no more after 1 regions: a thread has something to do at its end' SMELT_VERBOSE=2 \
    SMELT_CPUS=64 SMELT_TUNE=spin_us=20 "$programs/kept" 20 $what
  grep -q '^ok$' "$output" || fails "at a thread's end, $what: not to the end"
  check_under "at a thread's end, $what, asleep" 0 '^ok$' SMELT_WAIT=sleep "$programs/kept" 20 $what
done

# Threads are scarce: those that are kept go home first.
for how in late busy; do
  check "scarce, $how, stock" 0 '^ok$' env OMP_STACKSIZE=256k "$programs/scarce" $how
  check_under "scarce, $how" 0 '^ok$' OMP_STACKSIZE=256k "$programs/scarce" $how
  check_under "scarce, $how: sent home" 0 'hot no more after [0-9]* regions: threads could not be made' SMELT_VERBOSE=2 SMELT_CPUS=64 \
    SMELT_TUNE=spin_us=20 OMP_STACKSIZE=256k "$programs/scarce" $how
  grep -q '^ok$' "$output" || fails "scarce, $how, did not come to its end"
done
check_under "no limit" 0 "$kept" SMELT_VERBOSE=2 SMELT_CPUS=64 "$programs/scarce" turns
for kilobytes in 300000 400000 800000; do
  check_under "address space: $kilobytes KiB" 0 '^ok$' SMELT_VERBOSE=2 SMELT_CPUS=64 sh -c "ulimit -v $kilobytes"'; exec "$@"' sh "$programs/scarce" turns
  if grep -Eq "$kept" "$output"; then fails "address space is limited, and yet kept"; fi
done
# Of a user who has no other processes.
if [ "$(id -u)" -eq 0 ] && command -v setpriv >/dev/null && command -v prlimit >/dev/null; then
  cp "$programs/scarce" "$shim" "$scratch" && chmod a+rx "$scratch" "$scratch"/*
  for threads in 14 16 20 28; do
    check "at most $threads threads" 0 '^ok$' setpriv --reuid=64999 --clear-groups prlimit --nproc=$threads \
      env LD_PRELOAD="$scratch/$(basename "$shim")" SMELT_CPUS=64 "$scratch/scarce" turns
  done
else
  skips "limits of a user's threads need root, setpriv and prlimit"
fi
finish
