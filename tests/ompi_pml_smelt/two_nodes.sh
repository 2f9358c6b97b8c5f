#!/bin/sh
# The component for messages on two nodes that are namespaces of this machine: what is within a node is served, the rest is not.
#   two_nodes.sh COMPONENT_FOLDER COLLECTIVES_PROGRAMS PROGRAMS
# Exit 77, the last line saying why: skipped.
set -u
. "$(dirname "$0")/../ompi_coll_smelt/node_namespaces.sh"
start_nodes make_nodes "$2/many_collectives"
use="--mca mca_base_component_path $1:SYSTEM_DEFAULT --mca pml_smelt_enable 1"
for map in slot node; do
  expect_ok "messages, 2 ranks each, by $map: between all" 2 $use --map-by $map "$3/pml_rules" --left lengths
  expect_ok "messages, 2 ranks each, by $map: every collective" 2 $use --map-by $map "$2/many_collectives"
  expect_ok "messages, 3 ranks and 2, by $map: within the nodes" 3+2 $use --map-by $map "$3/pml_rules" --node --served
done
expect_line "messages: what is said" "MPI_COMM_WORLD.*not all of its ranks are of this job and on this node" 2 $use \
  -x SMELT_VERBOSE=1 "$2/many_collectives"
[ $failed -eq 0 ]
