#!/bin/sh
# End-to-end: MPI programs under real mpirun, with Smelt's messages and without.
#   pml_test.sh COMPONENT PROGRAM_DIRECTORY COLLECTIVES_DIRECTORY SMELT [--full | --random]
# The third folder has the programs of the collectives' component, whose messages Open MPI's own collectives send.
# Exit 77: skipped, there is no mpirun.
set -u
component=$(realpath "$1") programs=$(realpath "$2") collectives=$(realpath "$3") smelt=$(realpath "$4") length=${5:---quick}
if ! command -v mpirun >/dev/null; then echo "skipped: there is no mpirun"; exit 77; fi
# What the caller's environment asks of Open MPI and Smelt is not what is tested here.
for name in $(env | sed -n 's/^\(OMPI_MCA_[A-Za-z0-9_]*\|SMELT_[A-Z_]*\)=.*/\1/p'); do unset "$name"; done
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1
scratch=$(mktemp -d) || exit 1
trap 'rm -rf "$scratch"' EXIT
. "$(dirname "$0")/../ompi_coll_smelt/newer_open_mpi.sh"
mkdir "$scratch/session" && export OMPI_MCA_orte_tmpdir_base="$scratch/session"
# Alone in its folder, as Open MPI scans it.
mkdir "$scratch/component" && ln -s "$component" "$scratch/component/" || exit 1
export OMPI_MCA_mca_base_component_path="$scratch/component:SYSTEM_DEFAULT"
output=$scratch/output
failed=0 passed=0 limit=120

# check NAME EXPECTED_STATUS PATTERN command...: as in ompi_coll_smelt/component_test.sh
check() {
  name=$1 status=$2 pattern=$3
  shift 3
  timeout -k 5 "$limit" "$@" >"$output" 2>&1 </dev/null
  got=$?
  if [ $got -eq 124 ]; then
    fail "$name: not done after $limit s"
  elif [ "$status" != any ] && [ $got -ne "$status" ]; then
    fail "$name: exit status $got instead of $status"
  elif [ -n "$pattern" ] && ! grep -Eq "$pattern" "$output"; then
    fail "$name: no line matches '$pattern'"
  else
    echo "ok: $name"; passed=$((passed + 1)); return 0
  fi
  sed 's/^/    /' "$output" | head -n 10
  return 1
}
fail() { echo "FAIL: $1"; failed=$((failed + 1)); }
# ok NAME RANKS [mpirun option...] PROGRAM [argument...]
ok() {
  ok_name=$1 ranks=$2
  shift 2
  check "$ok_name" 0 '^ok$' mpirun -n "$ranks" "$@"
}

here=$(dirname "$0")
if [ "$length" = --random ]; then
  unset OMPI_MCA_mca_base_component_path
  export PATH="$programs:$collectives:$PATH" OMPI_MCA_btl_vader_backing_directory="$scratch/session"
  . "$here/random.sh"
  echo "$passed passed, $failed failed"
  [ "$failed" -eq 0 ]
  exit
fi

# --- who serves

ok "off by default" 2 "$programs/pml_rules" --left lengths
check "silent by default" 0 '^ok$' mpirun -n 2 --mca pml_smelt_enable 1 "$programs/pml_rules" lengths
[ "$(wc -l <"$output")" -eq 1 ] || fail "not silent"
check "said who serves" 0 'smelt: pml/smelt: .*MPI_COMM_WORLD \(2 ranks\): served' \
  mpirun -n 2 --mca pml_smelt_enable 1 -x SMELT_VERBOSE=1 "$programs/pml_rules" lengths
check "said who does not: no memory" 0 'left to Open MPI.s pml/ob1: not enough shared memory' \
  mpirun -n 2 --mca pml_smelt_enable 1 -x SMELT_VERBOSE=1 -x SMELT_SHM_MB=0 "$programs/pml_rules" --left lengths
check "said who does not: one of the ranks has it off" 0 'left to Open MPI.s pml/ob1: not all ranks' \
  mpirun -n 2 sh -c '[ "$OMPI_COMM_WORLD_RANK" != 0 ] || export SMELT_VERBOSE=1 OMPI_MCA_pml_smelt_enable=1; exec "$@"' - \
  "$programs/pml_rules" --left lengths
check "said once: a broken promise" 0 'any tag on a communicator whose info promises' \
  mpirun -n 2 --mca pml_smelt_enable 1 "$programs/pml_rules" --served broken_promises
[ "$(wc -l <"$output")" -eq 3 ] || fail "not said once by each rank"
check "not said: a promise that is kept" 0 '^ok$' \
  mpirun -n 2 --mca pml_smelt_enable 1 "$programs/pml_rules" --served promises
[ "$(wc -l <"$output")" -eq 1 ] || fail "said of a promise that is kept"
check "smelt run --messages -- mpirun" 0 '^ok$' env -u OMPI_MCA_mca_base_component_path "$smelt" run --messages -- \
  mpirun -n 2 "$programs/pml_rules" --served lengths
check "smelt run -- mpirun" 0 '^ok$' env -u OMPI_MCA_mca_base_component_path "$smelt" run -- \
  mpirun -n 2 "$programs/pml_rules" --left lengths
check "--mca pml smelt alone is said, and ends" any 'names no other component' \
  mpirun -n 1 --mca pml smelt --mca pml_smelt_enable 1 "$programs/pml_rules"

# --- MPI's rules

export OMPI_MCA_pml_smelt_enable=1
ok "the rules, 2 ranks" 2 "$programs/pml_rules" --served
ok "the rules where wildcards have been used, 3 ranks" 3 "$programs/pml_rules" --served --ordered
ok "the rules where no memory may be read, 2 ranks" 2 "$programs/pml_rules" --served --refused
one_sided=0
if ompi_info | grep -q 'MCA osc: pt2pt'; then one_sided=1; fi  # Open MPI 5 has it no more
[ $one_sided = 0 ] || ok "one-sided by messages, 2 ranks" 2 --mca osc pt2pt "$programs/pml_rules" --served one_sided
if [ "$length" = --full ]; then
  [ $one_sided = 0 ] || ok "one-sided by messages, 4 ranks" 4 --mca osc pt2pt "$programs/pml_rules" --served one_sided
  for n in 2 3 4 5; do
    for how in --quick --ordered --refused "--ordered --refused"; do
      ok "the rules, $n ranks, $how" $n "$programs/pml_rules" --served $how
    done
  done
fi

# --- MPI_THREAD_MULTIPLE

ok "threads, 3 ranks" 3 "$programs/pml_many_threads"
[ "$length" = --quick ] || ok "more threads, 2 ranks" 2 "$programs/pml_many_threads" --threads 16 --rounds 200

# --- Open MPI's own collectives, communicators and spawned processes over it

ok "nonblocking collectives, 2 ranks" 2 "$collectives/nonblocking" --light
ok "spawned processes, 2 ranks" 2 "$collectives/spawn"
if [ "$length" = --full ]; then
  for n in 2 3 4; do
    for program in many_collectives communicators progress nonblocking "threads --light"; do
      ok "$program, $n ranks" $n "$collectives/"$program
    done
  done
fi

# --- two nodes: what is within one is served, the rest is not

if [ "$length" = --full ]; then
  unset OMPI_MCA_pml_smelt_enable
  sh "$(dirname "$0")/two_nodes.sh" "$scratch/component" "$collectives" "$programs" >"$output" 2>&1
  case $? in
    0) echo "ok: two nodes"; passed=$((passed + 1)) ;;
    77) echo "skipped: $(tail -n 1 "$output")" ;;
    *) fail "two nodes"; sed 's/^/    /' "$output" | tail -n 20 ;;
  esac
  export OMPI_MCA_pml_smelt_enable=1
fi

# --- the end

ok "what is under way at the end comes, 3 ranks" 3 "$programs/pml_unfinished"
# What was given back to malloc is not what it was.
ok "what is not done at the end is left alone, 2 ranks" 2 -x MALLOC_PERTURB_=165 "$programs/pml_unfinished" --never

# --- jobs that die

ways="receive long all"
[ "$length" = --quick ] || ways="receive any probe mprobe synchronous long all short"
for way in $ways; do
  check "who waits for the dead is told: $way" any '^told$' mpirun --enable-recovery -n 2 "$programs/pml_bereaved" $way
done
check "a rank that dies ends the job" any '' mpirun -n 3 "$collectives/crash" kill
small_file='if [ "$OMPI_COMM_WORLD_RANK" = 1 ]; then ulimit -f 64; fi; exec "$@"'
check "no room for one of the ranks" 0 'left to Open MPI.s pml/ob1: not enough shared memory' mpirun -n 3 \
  --mca btl tcp,self -x SMELT_VERBOSE=1 sh -c "$small_file" - "$programs/pml_rules" --left lengths

echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
