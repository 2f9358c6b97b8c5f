#!/bin/sh
# Every node is visited, and once: both programs count as many as one thread does.
#   tree_search_test.sh SMELT_PROGRAM [MPI_PROGRAM]
set -u
program=$1 with_mpi=${2-}
unset $(env | sed -n 's/^\(OMPI_MCA_[A-Za-z0-9_]*\|SMELT_[A-Z_]*\)=.*/\1/p') 2>/dev/null
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1 OMPI_MCA_mpi_yield_when_idle=1
. "$(dirname "$0")/../ompi_coll_smelt/newer_open_mpi.sh" 2>/dev/null
if "$program" --roots 1 --threads 1 2>&1 | grep -q 'no scheduler'; then echo "skipped: built without threads"; exit 77; fi
failed=0
same() {  # WHAT COMMAND...
  what=$1
  shift
  said=$(timeout -k 5 100 "$@" 2>&1 </dev/null)
  nodes=$(echo "$said" | sed -n 's/.*: \([0-9]*\) nodes.*/\1/p')
  if [ "$nodes" = "$wanted" ]; then
    echo "ok: $what: $nodes nodes"
  else
    echo "FAIL: $what: $wanted nodes wanted: $said"; failed=1
  fi
}
for tree in "--roots 2000 --work 1" "--roots 1" "--roots 100 --work 50"; do
  wanted=$("$program" --alone $tree | sed -n 's/.*: \([0-9]*\) nodes.*/\1/p')
  [ -n "$wanted" ] || { echo "FAIL: nothing counted: $tree"; exit 1; }
  for threads in 1 64 1000; do same "$tree, $threads user-level threads" "$program" $tree --threads $threads; done
  [ -n "$with_mpi" ] && command -v mpirun >/dev/null || continue
  for threads in 1 8; do
    same "$tree, MPI, $threads threads" mpirun -n 2 --bind-to none "$with_mpi" $tree --threads $threads
  done
done
! "$program" --threads 0 2>/dev/null || { echo "FAIL: no threads are taken"; failed=1; }
exit $failed
