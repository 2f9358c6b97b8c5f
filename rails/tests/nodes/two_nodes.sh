#!/bin/sh
# The component on two nodes that are namespaces of this machine: it serves the communicators within a node, and those
# that span nodes, node by node.
#   two_nodes.sh COMPONENT_FOLDER COLLECTIVES_PROGRAMS PROGRAMS
# Exit 77, the last line saying why: skipped.
set -u
component=$1 programs=$2 own=$3
. "$(dirname "$0")/../../../tests/ompi_coll_smelt/node_namespaces.sh"
start_nodes make_nodes "$programs/many_collectives"
# The nodes are crowded, and everything is to be served nevertheless, but where it says otherwise.
crowd="--mca mca_base_component_path $component:SYSTEM_DEFAULT --mca coll_smelt_priority 90"
use="$crowd -x SMELT_NODES=2"
export OMPI_MCA_mca_base_component_path="$component:SYSTEM_DEFAULT"
for map in slot node; do
  expect_ok "2 ranks each, by $map" 2 $use --map-by $map "$own/nodes"
  expect_ok "2 ranks each, by $map: every collective" 2 $use --map-by $map "$programs/many_collectives"
  expect_ok "2 ranks each, by $map: order and layouts" 2 $use --map-by $map "$own/several_nodes"
  expect_ok "2 ranks each, by $map: nonblocking and persistent" 2 $use --map-by $map "$programs/nonblocking" --light --nodes --smelt
done
expect_ok "3 ranks each, by node" 3 $use --map-by node "$own/nodes"
expect_ok "3 ranks each, by node: every collective" 3 $use --map-by node "$programs/many_collectives"
expect_ok "3 ranks each, by node: order and layouts" 3 $use --map-by node "$own/several_nodes"
expect_ok "3 ranks and 1" 3+1 $use "$own/nodes"
expect_ok "3 ranks and 1: order and layouts" 3+1 $use "$own/several_nodes"
expect_ok "1 rank and 3: order and layouts" 1+3 $use "$own/several_nodes"
expect_ok "1 rank each: left alone" 1 $use "$own/nodes" alone
expect_ok "SMELT_NODES=0: left alone" 2 $crowd -x SMELT_NODES=0 "$own/nodes" alone
expect_ok "crowded: what is slower is left alone" 2 $crowd "$own/nodes" crowded
expect_ok "crowded: every collective" 2 $crowd "$programs/many_collectives"
expect_ok "crowded: order and layouts" 2 $crowd "$own/several_nodes"
expect_ok "SMELT_TUNE=patience=0" 2 $use -x SMELT_TUNE=patience=0 "$own/several_nodes"
expect_ok "no shared memory: left alone" 2 $use -x SMELT_SHM_MB=0 "$own/several_nodes" --any-order
expect_ok "2 ranks each: operations of programs" 2 $use "$programs/user_operations" --light
expect_ok "2 ranks each: broadcasts" 2 $use "$programs/broadcasts" --light
expect_ok "2 ranks each, --mca coll smelt" 2 --mca coll smelt "$programs/many_collectives"
expect_line "2 ranks each: what is said" "2 nodes, 2 ranks each: barrier" 2 $use -x SMELT_VERBOSE=1 "$own/nodes"
expect_line "1 rank each: what is said" "not used, .*each rank has a node of its own" 1 $use -x SMELT_VERBOSE=1 "$own/nodes" alone
expect_ok "communicators that are never freed" 2 $use "$programs/crash" forget
expect_end "a rank that is killed ends the job" 2 $use "$programs/crash" kill
expect_end "MPI_Abort ends the job" 2 $use "$programs/crash" abort
# The tests can fail: Open MPI's own order of operands is another one.
expect_line "control: another order is noticed" "FAILED: .* in the promised order" 2 --mca coll ^smelt,han "$own/several_nodes"
[ $failed -eq 0 ]
