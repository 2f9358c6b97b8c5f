#!/bin/sh
# Every vertex that can be reached is, at its distance: all programs find what one thread does.
#   breadth_first_test.sh SMELT_PROGRAM [MPI_PROGRAM]
set -u
program=$1 with_mpi=${2-} smallest="--scale 2"
found_of() { sed -n 's/.*: \([0-9]* vertices, [0-9]* edges, distances [0-9]* in all\), .*/\1/p'; }
. "$(dirname "$0")/../bench_tree_search/searches.sh"
for scale in 2 9 14; do
  alone --scale $scale
  graph="--scale $scale --rounds 3"
  for threads in "1" "64" "64 --receivers 64" "1000 --receivers 8"; do
    same "scale $scale, $threads user-level threads" "$program" $graph --threads $threads
  done
  [ -n "$with_mpi" ] && command -v mpirun >/dev/null || continue
  for how in "--threads 1" "--threads 8 --receivers 3" "--polling"; do
    same "scale $scale, MPI, $how" mpirun -n 2 --bind-to none "$with_mpi" $graph $how
  done
done
! "$program" --threads 0 2>/dev/null || { echo "FAIL: no threads are taken"; failed=1; }
! "$program" --threads 2 --receivers 3 2>/dev/null || { echo "FAIL: a receiver to whom nobody sends"; failed=1; }
exit $failed
