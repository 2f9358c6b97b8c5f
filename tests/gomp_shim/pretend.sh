# Sourced after checks.sh, with $shim and $programs set: pretended machines. `env $(large) program` runs a program there, under the shim.
#   large    64 CPUs: 2 packages, 4 nodes, 8 last-level caches; threads are far from each other
#   small    16 CPUs: 2 packages, 4 last-level caches, two threads a core; threads are close together
#   winners  as large, but threads are close together, and the pattern bad has won for 3, 4, 5, 7, 8, 16, 33 and 64 threads
#   busy     as large, but senders and receivers are busy for long: trees are worth while
large_shape="pack:2 numa:2 l3:2 core:4 pu:2" small_shape="pack:2 numa:1 l3:2 core:2 pu:2"
{
  "$programs/false_profile" "$scratch/large.profile" "$large_shape" &&
    "$programs/false_profile" "$scratch/small.profile" "$small_shape" &&
    "$programs/false_profile" "$scratch/busy.profile" "$large_shape" busy=0.9 &&
    "$programs/false_profile" "$scratch/winners.profile" "$large_shape" bad:3 bad:4 bad:5 bad:7 bad:8 bad:16 bad:33 bad:64
} >"$output" 2>&1 || { cat "$output"; echo "no profiles of pretended machines"; exit 1; }

# machine PROFILE CPUS STEP
machine() {
  echo "LD_PRELOAD=$programs/libpretended_cpus.so:$shim PRETENDED_CPUS=$2 PRETENDED_STEP=$3 SMELT_CPUS=1000 SMELT_PROFILE=$scratch/$1.profile"
}
large() { machine large 64 9; }
small() { machine small 16 1; }
winners() { machine winners 64 1; }
busy() { machine busy 64 9; }
# For stresses: no such machine, and the word by that number of those that follow, modulo how many there are.
crowd() { echo "LD_PRELOAD=$shim"; }
pick() { at=$(($1 % ($# - 1) + 1)) && shift "$at" && echo "$1"; }
