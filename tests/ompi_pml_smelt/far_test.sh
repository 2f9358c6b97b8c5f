#!/bin/sh
# Messages between nodes: MPI programs on two nodes that are namespaces of this machine, with two networks between them.
#   far_test.sh COMPONENT PROGRAM_DIRECTORY COLLECTIVES_DIRECTORY SMELT [--full]
# Exit 77, the last line saying why: skipped.
set -u
component=$(realpath "$1") programs=$(realpath "$2") collectives=$(realpath "$3") smelt=$(realpath "$4") length=${5:---quick}
for name in $(env | sed -n 's/^\(OMPI_MCA_[A-Za-z0-9_]*\|SMELT_[A-Z_]*\)=.*/\1/p'); do unset "$name"; done
. "$(dirname "$0")/../ompi_coll_smelt/node_namespaces.sh"
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1

add_network() {
  ip -n "$name-1" link add second type veth peer name second netns "$name-2" || return 1
  for node in 1 2; do
    ip -n "$name-$node" addr add "10.79.0.$node/24" dev second && ip -n "$name-$node" link set second up || return 1
  done
}
name=smelt$$
if ! { make_nodes && add_network; } 2>"$work/error"; then
  echo "two nodes need network namespaces: $(tail -n 1 "$work/error")"
  exit 77
fi
write_enter
if ! on_nodes 1 "$collectives/many_collectives" >"$work/output" 2>&1; then
  tail -n 5 "$work/output"
  echo "stock Open MPI does not run on two pretended nodes here"
  exit 77
fi

# The networks are sampled as a site would do it. Both nodes are this machine, so one profile is both's.
sample() {
  XDG_CACHE_HOME=$work/other "$work/enter" 1 "$smelt" network listen >"$work/listen" 2>&1 &
  listener=$!
  for try in 1 2 3 4 5 6 7 8 9 10; do
    grep -q listening "$work/listen" && break
    sleep 0.3
  done
  XDG_CACHE_HOME=$work/cache "$work/enter" 2 "$smelt" network sample --seconds 1 --quiet 10.78.0.1 >"$work/sample" 2>&1 || return 1
  wait $listener
}
if ! sample; then
  cat "$work/listen" "$work/sample"
  echo "the networks cannot be sampled here"
  exit 77
fi
ls "$work"/cache/smelt/*.network >/dev/null || { echo "FAIL: no network profile was written"; exit 1; }
mkdir "$work/component" && ln -s "$component" "$work/component/" || exit 1
bare="--mca mca_base_component_path $work/component:SYSTEM_DEFAULT --mca pml_smelt_enable 1"
use="$bare -x XDG_CACHE_HOME=$work/cache"
