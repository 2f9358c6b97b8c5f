#!/bin/sh
# Every node is visited, and once: both programs count as many as one thread does.
#   tree_search_test.sh SMELT_PROGRAM [MPI_PROGRAM]
set -u
program=$1 with_mpi=${2-} smallest="--roots 1"
found_of() { sed -n 's/.*: \([0-9]* nodes\).*/\1/p'; }
. "$(dirname "$0")/searches.sh"
for tree in "--roots 2000 --work 1" "--roots 1" "--roots 100 --work 50"; do
  alone $tree
  for threads in 1 64 1000; do same "$tree, $threads user-level threads" "$program" $tree --threads $threads; done
  [ -n "$with_mpi" ] && command -v mpirun >/dev/null || continue
  for threads in 1 8; do
    same "$tree, MPI, $threads threads" mpirun -n 2 --bind-to none "$with_mpi" $tree --threads $threads
  done
done
! "$program" --threads 0 2>/dev/null || { echo "FAIL: no threads are taken"; failed=1; }
exit $failed
