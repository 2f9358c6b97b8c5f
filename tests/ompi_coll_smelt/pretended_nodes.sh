# Part of component_test.sh: communicators that span several nodes, which pretended_nodes.c makes of this machine.
# two_nodes.sh has nodes with a network between them, and needs root.
pretended=$(realpath "$programs/libpretended_nodes.so")

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
