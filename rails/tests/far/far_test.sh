#!/bin/sh
# Messages between nodes: MPI programs on two nodes that are namespaces of this machine, with two networks between them.
#   far_test.sh COMPONENT PROGRAM_DIRECTORY COLLECTIVES_DIRECTORY SMELT [--full]
# Exit 77, the last line saying why: skipped.
set -u
component=$(realpath "$1") programs=$(realpath "$2") collectives=$(realpath "$3") smelt=$(realpath "$4") length=${5:---quick}
for name in $(env | sed -n 's/^\(OMPI_MCA_[A-Za-z0-9_]*\|SMELT_[A-Z_]*\)=.*/\1/p'); do unset "$name"; done
. "$(dirname "$0")/../../../tests/ompi_coll_smelt/newer_open_mpi.sh"
. "$(dirname "$0")/../../../tests/ompi_coll_smelt/node_namespaces.sh"

make_both() {
  make_nodes && ip -n "$name-1" link add second type veth peer name second netns "$name-2" || return 1
  for node in 1 2; do
    ip -n "$name-$node" addr add "10.79.0.$node/24" dev second && ip -n "$name-$node" link set second up || return 1
  done
}
start_nodes make_both "$collectives/many_collectives"

# The networks are sampled as a site would do it. Both nodes are this machine, so one profile is both's.
sample() {
  XDG_CACHE_HOME=$work/other "$work/enter" 1 "$smelt" network listen >"$work/listen" 2>&1 &
  listener=$!
  for try in $(seq 100); do
    grep -q listening "$work/listen" || ! kill -0 $listener 2>/dev/null && break
    sleep 0.3
  done
  XDG_CACHE_HOME=$work/cache "$work/enter" 2 "$smelt" network sample --seconds 1 --quiet 10.78.0.1 >"$work/sample" 2>&1 ||
    { kill $listener 2>/dev/null; return 1; }
  wait $listener
}
if ! sample; then
  cat "$work/listen" "$work/sample"
  echo "the networks cannot be sampled here"
  exit 77
fi
ls "$work"/cache/smelt/*.network >/dev/null || { echo "FAIL: no network profile was written"; exit 1; }
mkdir "$work/component" && ln -s "$component" "$work/component/" || exit 1
enabled="--mca mca_base_component_path $work/component:SYSTEM_DEFAULT --mca pml_smelt_enable 1"
bare="$enabled --mca pml_smelt_nodes 1"
cache="-x XDG_CACHE_HOME=$work/cache"
use="$bare $cache"

# --- who serves

expect_line "2 ranks each: what is said" "MPI_COMM_WORLD (4 ranks): served" 2 $use -x SMELT_VERBOSE=1 "$programs/pml_rules" \
  --served --far lengths
expect_ok "no profile: left alone" 2 $bare -x XDG_CACHE_HOME="$work/nothing" "$programs/pml_rules" --left lengths
expect_line "no profile: what is said" "messages between nodes: left to Open MPI.s pml/ob1: there is no network profile here" 2 $bare \
  -x XDG_CACHE_HOME="$work/nothing" -x SMELT_VERBOSE=1 "$programs/pml_rules" --left lengths
expect_ok "not asked for: left alone" 2 $enabled $cache "$programs/pml_rules" --left lengths
expect_ok "one rank has not asked: left alone" 2 $enabled $cache \
  sh -c '[ "$OMPI_COMM_WORLD_RANK" = 3 ] || export OMPI_MCA_pml_smelt_nodes=1; exec "$@"' - "$programs/pml_rules" --left lengths
expect_ok "a profile named" 2 $bare -x XDG_CACHE_HOME="$work/nothing" \
  --mca pml_smelt_network "$(find "$work/cache/smelt" -name '*.network' | head -n 1)" "$programs/pml_rules" --served --far lengths
# One that lacks something takes all of them along.
only='[ "$OMPI_COMM_WORLD_RANK" != 3 ] || export'
expect_ok "one rank without a profile: left alone" 2 $use \
  sh -c "$only XDG_CACHE_HOME=$work/nothing; exec \"\$@\"" - "$programs/pml_rules" --left lengths
expect_ok "one rank without the component: left alone" 2 --mca mca_base_component_path "$work/component:SYSTEM_DEFAULT" \
  -x XDG_CACHE_HOME="$work/cache" sh -c '[ "$OMPI_COMM_WORLD_RANK" = 3 ] || export OMPI_MCA_pml_smelt_enable=1 OMPI_MCA_pml_smelt_nodes=1; exec "$@"' - \
  "$programs/pml_rules" --left lengths
expect_ok "one node without shared memory: left alone" 2 $use \
  sh -c '[ "$OMPI_COMM_WORLD_RANK" -lt 2 ] || export SMELT_SHM_MB=0; exec "$@"' - "$programs/pml_rules" --left lengths

# --- MPI's rules, between near and far ones

one_sided=
if ompi_info | grep -q 'MCA osc: pt2pt'; then one_sided="--mca osc pt2pt"; fi
expect_ok "the rules, 2 ranks each" 2 $use $one_sided "$programs/pml_rules" --served --far
expect_ok "the rules, 2 ranks each, by node" 2 $use $one_sided --map-by node "$programs/pml_rules" --served --far
expect_ok "the rules where wildcards have been used, 1 rank and 2" 1+2 $use $one_sided "$programs/pml_rules" --served --far --ordered
expect_ok "the rules, 1 rank each" 1 $use $one_sided "$programs/pml_rules" --served --far
expect_ok "within the nodes" 2 $use "$programs/pml_rules" --served --node
expect_ok "threads, 2 ranks each" 2 $use "$programs/pml_many_threads"
expect_ok "every collective, 2 ranks each" 2 $use "$collectives/many_collectives"
expect_ok "communicators, 2 ranks each" 2 $use "$collectives/communicators"
expect_ok "what is under way at the end comes" 2 $use "$programs/pml_unfinished"
expect_ok "what is not done at the end is left alone" 2 $use -x MALLOC_PERTURB_=165 "$programs/pml_unfinished" --never
if [ "$length" = --full ]; then
  for layout in 1 2 1+3 3+1 3; do
    for how in "" --ordered --refused; do
      expect_ok "the rules, $layout, $how" $layout $use $one_sided --map-by node "$programs/pml_rules" --served --far $how
    done
    expect_ok "threads, $layout" $layout $use "$programs/pml_many_threads" --threads 16 --rounds 50
    expect_ok "nonblocking collectives, $layout" $layout $use "$collectives/nonblocking" --light
  done
fi

# --- jobs that die

expect_end "a rank that dies ends the job" 2 $use "$collectives/crash" kill

[ $failed -eq 0 ]
