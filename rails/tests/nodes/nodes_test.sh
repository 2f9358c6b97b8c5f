#!/bin/sh
# Communicators that span several nodes, end-to-end: MPI programs under real mpirun. pretended_nodes.c makes nodes of this machine;
# two_nodes.sh has nodes with a network between them, and needs root.
#   nodes_test.sh COMPONENT BROKEN COLLECTIVES_PROGRAMS PROGRAMS [--full]
# COMPONENT, BROKEN and COLLECTIVES_PROGRAMS are those of tests/ompi_coll_smelt/component_test.sh. Exit 77: skipped, there is no mpirun.
set -u
component=$1 broken=$(realpath "$2") length=${5---quick}
here=$(cd "$(dirname "$0")" && pwd) && programs=$(cd "$3" && pwd) && own=$(cd "$4" && pwd) || exit 1
collectives=$here/../../../tests/ompi_coll_smelt
. "$collectives/checks.sh"
export PATH="$own:$PATH"
with_component
pretended=$own/libpretended_nodes.so

# on_pretended NODES [mpirun option...] PROGRAM [argument...]
on_pretended() {
  nodes=$1
  shift
  ok "pretended nodes $nodes${form:+, $form}: $*" ${#nodes} -x LD_PRELOAD="$pretended${form:+:$forms}" -x FORM="$form" \
    -x PRETENDED_NODES="$nodes" "$@"
}
form=
# by node; three nodes, unequal
every_nodes='0101 0112'
# by slot, unequal, neither, too
[ "$length" != --full ] || every_nodes='0011 0101 0001 0110 0112 00112 010122'
for nodes in $every_nodes; do
  on_pretended $nodes -x SMELT_NODES=2 nodes
  on_pretended $nodes -x SMELT_NODES=2 many_collectives
  on_pretended $nodes -x SMELT_NODES=2 several_nodes
done
on_pretended 0123 nodes alone
# The nonblocking and the persistent forms: any number outstanding, among blocking ones, persistent ones started in
# another order on each rank, communicators freed meanwhile; and every check of the blocking ones, their bits among them.
for nodes in $every_nodes; do
  on_pretended $nodes -x SMELT_NODES=2 nonblocking --light --nodes --smelt
  for form in nonblocking persistent; do on_pretended $nodes -x SMELT_NODES=2 many_collectives; done
  form=
done
on_pretended 0101 -x SMELT_NODES=2 -x SMELT_TUNE=patience=0 nonblocking --light
on_pretended 0112 -x SMELT_NODES=2 nonblocking --light --nodes --threads
on_pretended 0110 -x SMELT_NODES=2 nonblocking --light --nodes --refused
on_pretended 0112 -x SMELT_CPUS=2 nonblocking --light --nodes
on_pretended 0123 nonblocking --light --nodes
for form in nonblocking persistent; do
  on_pretended 0110 -x SMELT_NODES=2 several_nodes --light
  [ "$length" != --full ] || on_pretended 010122 -x SMELT_NODES=2 several_nodes --light
done
form=
# Crowded: the machine has two CPUs, whatever it has.
on_pretended 0112 -x SMELT_CPUS=2 nodes crowded
on_pretended 0112 -x SMELT_CPUS=2 many_collectives
on_pretended 0112 -x SMELT_CPUS=2 several_nodes
wrong "control: another order of nodes' operands is noticed" 4 -x LD_PRELOAD="$pretended" -x PRETENDED_NODES=0011 \
  --mca coll ^smelt several_nodes
wrong "control: another order of nodes' operands is noticed where calls are nonblocking" 4 -x LD_PRELOAD="$pretended:$forms" \
  -x FORM=nonblocking -x PRETENDED_NODES=0011 --mca coll ^smelt several_nodes
wrong "control: nonblocking notices that nothing is served over several nodes" 4 -x LD_PRELOAD="$pretended" -x PRETENDED_NODES=0011 \
  -x SMELT_NODES=0 nonblocking --light --nodes --smelt
wrong "control: wrong operands are noticed over several nodes" 4 -x LD_PRELOAD="$pretended:$broken" -x PRETENDED_NODES=0011 \
  -x SMELT_NODES=2 -x BROKEN=operand nonblocking --light --nodes
mpi "an info key of several nodes is each node's" 0 '^ok$' 4 -x LD_PRELOAD="$pretended" -x PRETENDED_NODES=0011 \
  -x SMELT_NODES=2 -x SMELT_VERBOSE=1 loose_strict dup
[ "$(grep -c '(2 ranks): strict synchronisation: smelt_sync says so' "$output")" -eq 2 ] ||
  fail "an info key of several nodes: not said once by each node"
"$here/two_nodes.sh" "$folder" "$programs" "$own" >"$output" 2>&1
case $? in
  0) echo "ok: two nodes"; passed=$((passed + 1)) ;;
  77) skip "$(tail -n 1 "$output")" ;;
  *) fail "two nodes"; sed 's/^/    /' "$output" | tail -n 15 ;;
esac
summary
