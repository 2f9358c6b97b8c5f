#!/bin/sh
# How threads wait under the shim, where something is in the way.
#   waiting_test.sh SHIM PROGRAM_DIRECTORY
set -u
shim=$1 programs=$2
. "$(dirname "$0")/checks.sh"

# Membarrier refused after threads have slept with it, for all of the process. SMELT_CPUS, SMELT_TUNE=spin_us: threads that spin and soon sleep, on any machine.
check "a sandbox, stock" 0 '' "$programs/sandboxed" KILL
if grep -q '^ok$' "$output"; then
  for error in EPERM ENOSYS; do
    check_under "membarrier fails later: $error" 0 '^ok$' SMELT_CPUS=64 SMELT_TUNE=spin_us=20 "$programs/sandboxed" $error
  done
  check_under "... and threads did sleep" 0 ' [1-9][0-9]+ sleeps' SMELT_STATS=1 SMELT_CPUS=64 SMELT_TUNE=spin_us=20 "$programs/sandboxed" EPERM
  # What the manual says: SMELT_WAIT=sleep makes neither of the calls that libgomp does not make. Without it the filter strikes.
  check_under "membarrier kills: SMELT_WAIT=sleep" 0 '^ok$' SMELT_WAIT=sleep "$programs/sandboxed" KILL
  check_under "membarrier kills: a crowd, SMELT_WAIT=sleep" 0 '^ok$' SMELT_CPUS=1 SMELT_WAIT=sleep "$programs/sandboxed" KILL
  check_under "membarrier kills without it" 159 '' SMELT_CPUS=64 SMELT_TUNE=spin_us=20 sh -c '"$@"; exit $?' sh "$programs/sandboxed" KILL
else
  skips "the kernel permits no filters"
fi

# Nobody sleeps here, and yet the barriers that sleepers will ask for are known to the kernel.
for first in "" thread; do
  check "registered, stock $first" 0 '^not registered$' "$programs/registered" $first
  check_under "registered before the first thread $first" 0 '^registered$' SMELT_CPUS=64 SMELT_TUNE=spin_us=1000000 "$programs/registered" $first
  check_under "registered by none that never sleeps so $first" 0 '^not registered$' SMELT_CPUS=64 SMELT_WAIT=sleep "$programs/registered" $first
  check_under "registered by none that is off $first" 0 '^not registered$' SMELT_OPENMP=-libgomp "$programs/registered" $first
done
finish
