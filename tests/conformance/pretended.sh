#!/bin/sh
# Runs the conformance tests on a pretended machine of 16 CPUs (tests/gomp_shim/pretended_cpus.c), whose profile is made first, since it
# must carry this machine's fingerprint. That barriers are crossed by a pattern there, and not by a crowd, is checked.
#   pretended.sh PROGRAM_DIRECTORY PYTHON conformance.py argument...
set -eu
programs=$1
shift
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
"$programs/false_profile" "$scratch/machine.profile" "pack:2 numa:1 l3:2 core:2 pu:2"
# SMELT_CPUS: as if every thread had a CPU. They do not, so whoever waits gives his up soon.
"$@" --preload "$programs/libpretended_cpus.so" --env PRETENDED_CPUS=16 --env PRETENDED_STEP=5 --env SMELT_CPUS=1000 \
  --env SMELT_PROFILE="$scratch/machine.profile" --env SMELT_TUNE=spin_us=100 \
  --expect 'team of {threads}, CPUs [0-9].*: barrier (?!crowd|alone).*rebuilt'
