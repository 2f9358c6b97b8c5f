#!/bin/sh
# Every vertex that can be reached is, at its distance: all programs find what one thread does.
#   breadth_first_test.sh SMELT_PROGRAM [MPI_PROGRAM]
set -u
program=$1 with_mpi=${2-}
unset $(env | sed -n 's/^\(OMPI_MCA_[A-Za-z0-9_]*\|SMELT_[A-Z_]*\)=.*/\1/p') 2>/dev/null
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1 OMPI_MCA_mpi_yield_when_idle=1
. "$(dirname "$0")/../ompi_coll_smelt/newer_open_mpi.sh" 2>/dev/null
if "$program" --scale 2 --threads 1 2>&1 | grep -q 'no scheduler'; then echo "skipped: built without threads"; exit 77; fi
failed=0
found_of() { sed -n 's/.*: \([0-9]* vertices, [0-9]* edges, distances [0-9]* in all\), .*/\1/p'; }
same() {  # WHAT COMMAND...
  what=$1
  shift
  said=$(timeout -k 5 100 "$@" --rounds 3 2>&1 </dev/null)
  if [ "$(echo "$said" | found_of)" = "$wanted" ]; then
    echo "ok: $what: $wanted"
  else
    echo "FAIL: $what: wanted $wanted: $said"; failed=1
  fi
}
for scale in 2 9 14; do
  wanted=$("$program" --alone --scale $scale | found_of)
  [ -n "$wanted" ] || { echo "FAIL: nothing found: scale $scale"; exit 1; }
  for threads in "1" "64" "64 --receivers 64" "1000 --receivers 8"; do
    same "scale $scale, $threads user-level threads" "$program" --scale $scale --threads $threads
  done
  [ -n "$with_mpi" ] && command -v mpirun >/dev/null || continue
  for how in "--threads 1" "--threads 8 --receivers 3" "--polling"; do
    same "scale $scale, MPI, $how" mpirun -n 2 --bind-to none "$with_mpi" --scale $scale $how
  done
done
! "$program" --threads 0 2>/dev/null || { echo "FAIL: no threads are taken"; failed=1; }
! "$program" --threads 2 --receivers 3 2>/dev/null || { echo "FAIL: a receiver to whom nobody sends"; failed=1; }
exit $failed
