# Part of component_test.sh and of rails/tests/nodes/nodes_test.sh: what runs a program under mpirun, and judges it. Wants $component, $broken,
# $programs (the folder of the programs), $collectives (that of this file) and $length. Exit 77: skipped, there is no mpirun.
forms=$(realpath "$programs/libother_forms.so")
export PATH="$programs:$PATH"
if ! command -v mpirun >/dev/null; then echo "skipped: there is no mpirun"; exit 77; fi
# What the caller's environment asks of Open MPI and Smelt is not what is tested here.
for name in $(env | sed -n 's/^\(OMPI_MCA_[A-Za-z0-9_]*\|SMELT_[A-Z_]*\)=.*/\1/p'); do unset "$name"; done
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1
scratch=$(mktemp -d) || exit 1
trap 'rm -rf "$scratch"' EXIT
export XDG_CACHE_HOME="$scratch/cache"  # no profile: the guess serves
. "$collectives/newer_open_mpi.sh"
mkdir "$scratch/session" && export OMPI_MCA_orte_tmpdir_base="$scratch/session"
output=$scratch/output
# Long, for it is to end what hangs: ranks that yield get a twentieth of a CPU on which compilers run (Linux 6.18), and Open MPI 6's own
# collectives of four ranks on two CPUs, 5 s alone, then took over two minutes.
failed=0 passed=0 skipped=0 limit=300
[ "$length" = --full ] && limit=900

# check NAME EXPECTED_STATUS PATTERN command...
# The status "any" is any but 0 and that of a time limit; the pattern must be in the output; "" for none.
check() {
  check_name=$1 check_status=$2 check_pattern=$3
  shift 3
  timeout -k 5 "$limit" "$@" >"$output" 2>&1 </dev/null
  check_got=$?
  if [ $check_got -eq 124 ] || ! expected_status; then
    check_failed "exit status $check_got instead of $check_status"
  elif [ -n "$check_pattern" ] && ! grep -Eq "$check_pattern" "$output"; then
    check_failed "no line matches '$check_pattern'"
  else
    echo "ok: $check_name"; passed=$((passed + 1))
  fi
}
expected_status() {
  if [ "$check_status" = any ]; then [ $check_got -ne 0 ]; else [ $check_got -eq "$check_status" ]; fi
}
check_failed() { fail "$check_name: $1"; sed 's/^/    /' "$output" | head -n 10; return 1; }
skip() { echo "skip: $1"; skipped=$((skipped + 1)); }
fail() { echo "FAIL: $1"; failed=$((failed + 1)); }
# ok NAME RANKS [mpirun option...] PROGRAM [argument...]: must succeed and say so. PROGRAM is named without its folder.
ok() { ok_name=$1; shift; mpi "$ok_name" 0 '^ok$' "$@"; }
# wrong NAME RANKS ...: the program must notice that something is wrong.
wrong() { wrong_name=$1; shift; mpi "$wrong_name" any '^FAILED: rank' "$@"; }
mpi() {
  mpi_name=$1 mpi_status=$2 mpi_pattern=$3 ranks=$4
  shift 4
  check "$mpi_name" "$mpi_status" "$mpi_pattern" mpirun -n "$ranks" "$@"
}

summary() {
  echo "$passed passed, $failed failed, $skipped skipped"
  [ "$failed" -eq 0 ]
}

# From here on the component is there and serves.
with_component() {
  folder=$(cd "$(dirname "$component")" && pwd) || exit 1
  export OMPI_MCA_mca_base_component_path="$folder:SYSTEM_DEFAULT" OMPI_MCA_coll_smelt_priority=90
}
