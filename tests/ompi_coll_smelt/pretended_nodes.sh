# Part of component_test.sh: communicators that span several nodes, which pretended_nodes.c makes of this machine.
# two_nodes.sh has nodes with a network between them, and needs root.
pretended=$(realpath "$programs/libpretended_nodes.so")

# on_pretended NODES [mpirun option...] PROGRAM [argument...]
on_pretended() {
  nodes=$1
  shift
  ok "pretended nodes $nodes: $*" ${#nodes} -x LD_PRELOAD="$pretended" -x PRETENDED_NODES="$nodes" "$@"
}
# by slot, by node, unequal, neither; three nodes
for nodes in 0011 0101 0001 0110 0112 00112 010122; do
  on_pretended $nodes -x SMELT_NODES=2 nodes
  on_pretended $nodes -x SMELT_NODES=2 many_collectives
  on_pretended $nodes -x SMELT_NODES=2 several_nodes
done
on_pretended 0123 nodes alone
# Crowded: the machine has two CPUs, whatever it has.
on_pretended 0112 -x SMELT_CPUS=2 nodes crowded
on_pretended 0112 -x SMELT_CPUS=2 many_collectives
on_pretended 0112 -x SMELT_CPUS=2 several_nodes
wrong "control: another order of nodes' operands is noticed" 4 -x LD_PRELOAD="$pretended" -x PRETENDED_NODES=0011 \
  --mca coll ^smelt several_nodes
