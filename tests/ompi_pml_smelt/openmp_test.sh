#!/bin/sh
# OpenMP threads that send each other messages, more than there are CPUs: by Smelt's messages and by Open MPI's own.
#   openmp_test.sh COMPONENT SHIM PROGRAM
# Exit 77: skipped, there is no mpirun.
set -u
component=$(realpath "$1") shim=$(realpath "$2") program=$(realpath "$3")
if ! command -v mpirun >/dev/null; then echo "skipped: there is no mpirun"; exit 77; fi
for name in $(env | sed -n 's/^\(OMPI_MCA_[A-Za-z0-9_]*\|\(SMELT\|OMP\)_[A-Z_]*\)=.*/\1/p'); do unset "$name"; done
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1
scratch=$(mktemp -d) || exit 1
trap 'rm -rf "$scratch"' EXIT
. "$(dirname "$0")/../ompi_coll_smelt/newer_open_mpi.sh"
mkdir "$scratch/session" "$scratch/component" && ln -s "$component" "$scratch/component/" || exit 1
export OMPI_MCA_orte_tmpdir_base="$scratch/session" OMPI_MCA_mca_base_component_path="$scratch/component:SYSTEM_DEFAULT"
failed=0 passed=0
# check NAME PATTERN mpirun-option...
check() {
  name=$1 pattern=$2
  shift 2
  if timeout -k 5 300 mpirun -n 2 -x LD_PRELOAD="$shim" -x SMELT_STATS=1 "$@" >"$scratch/output" 2>&1 </dev/null &&
    grep -q 'us per message' "$scratch/output" && ! grep -q WRONG "$scratch/output" && grep -Eq "$pattern" "$scratch/output"; then
    echo "ok: $name"; passed=$((passed + 1))
  else
    echo "FAIL: $name"; sed 's/^/    /' "$scratch/output" | head -n 10; failed=$((failed + 1))
  fi
}
hot='\([1-9][0-9]* hot'
for threads in 3 32; do
  check "$threads threads, Smelt's messages" "$hot" --mca pml_smelt_enable 1 -x SMELT_CPUS=1 "$program" $threads 10 5
  check "$threads threads, Smelt's messages, CPUs that both have" "$hot" --bind-to none --mca pml_smelt_enable 1 -x SMELT_CPUS=2 \
    "$program" $threads 5 3
  check "$threads threads, ob1, which yields" "$hot" --mca pml ob1 --mca mpi_yield_when_idle 1 -x SMELT_CPUS=1 "$program" $threads 3 3
  check "$threads threads, ob1, which does not" "$hot" --mca pml ob1 -x SMELT_CPUS=1 "$program" $threads 2 2
done
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
