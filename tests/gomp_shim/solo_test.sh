#!/bin/sh
# Regions of one thread at random, made by libgomp and kept by us, beside hot teams and inside them (solo.c).
#   solo_test.sh SHIM PROGRAM_DIRECTORY
#   SOLO_SEEDS=1000      how many programs for each way; by default 4
set -u
shim=$1 programs=$2
. "$(dirname "$0")/checks.sh"

export OMP_WAIT_POLICY=passive  # inner teams of libgomp's spin long else
own='team of 1: hot' own_inside='team of 1 \(nested\): hot'
for seed in 1 2 3; do check "seed $seed, stock" 0 '^ok$' "$programs/solo" "$seed"; done
check "several threads, stock" 0 '^ok$' "$programs/solo" 1 60 3
check_under "kept in the serial part" 0 "^smelt: $own" SMELT_VERBOSE=2 "$programs/solo" 1
grep -Eq "$own_inside" "$output" || fails "none was kept inside another region"
grep -q '^ok$' "$output" || fails "kept: not to the end"
check_under "SMELT_OPENMP=-hot: none" 0 '^ok$' SMELT_VERBOSE=2 SMELT_OPENMP=-hot "$programs/solo" 1
if grep -Eq "$own|$own_inside" "$output"; then fails "off, and yet kept"; fi
check_under "SMELT_OPENMP=-nested: none inside" 0 "$own" SMELT_VERBOSE=2 SMELT_OPENMP=-nested "$programs/solo" 1
if grep -Eq "$own_inside" "$output"; then fails "off inside, and yet kept there"; fi
seed=1
while [ "$seed" -le "${SOLO_SEEDS:-4}" ]; do
  check_under "seed $seed" 0 '^ok$' "$programs/solo" "$seed"
  check_under "seed $seed, tasks by stealing" 0 '^ok$' SMELT_OPENMP=on SMELT_CPUS=64 SMELT_TUNE=spin_us=20 "$programs/solo" "$seed"
  check_under "seed $seed, asleep" 0 '^ok$' SMELT_CPUS=64 SMELT_WAIT=sleep "$programs/solo" "$seed"
  check_under "seed $seed, several threads" 0 '^ok$' SMELT_CPUS=64 SMELT_TUNE=spin_us=20 "$programs/solo" "$seed" 60 3
  check_under "seed $seed, no dynamic loops" 0 '^ok$' SMELT_OPENMP=-loops "$programs/solo" "$seed" 60
  seed=$((seed + 1))
done
finish
