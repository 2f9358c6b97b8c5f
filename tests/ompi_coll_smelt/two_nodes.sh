#!/bin/sh
# The component on two nodes that are namespaces of this machine: it must leave a communicator that spans nodes alone
# and serve those within a node.
#   two_nodes.sh COMPONENT_FOLDER PROGRAM_DIRECTORY
# Exit 77, the last line saying why: skipped. Each node is a network namespace (a veth pair into a bridge, which lies in
# a third one), with its own hostname, /etc/hosts and empty /dev/shm. The remote daemon is started by a pretended rsh.
set -u
component=$1 programs=$2
[ "$(id -u)" -eq 0 ] || { echo "two nodes need root"; exit 77; }
for tool in ip nsenter unshare mpirun; do
  command -v $tool >/dev/null || { echo "two nodes need $tool"; exit 77; }
done
name=smelt$$
work=$(mktemp -d) || exit 1
clean_up() {
  for node in 0 1 2; do ip netns del "$name-$node" 2>/dev/null; done
  rm -rf "$work"
}
trap clean_up EXIT
trap 'exit 130' INT TERM

make_nodes() {
  ip netns add "$name-0" && ip -n "$name-0" link add bridge type bridge &&
    ip -n "$name-0" link set bridge up || return 1
  echo "127.0.0.1 localhost" >"$work/hosts"
  for node in 1 2; do
    ip netns add "$name-$node" &&
      ip -n "$name-0" link add "port$node" type veth peer name inside netns "$name-$node" &&
      ip -n "$name-0" link set "port$node" master bridge && ip -n "$name-0" link set "port$node" up &&
      ip -n "$name-$node" link set lo up && ip -n "$name-$node" addr add "10.78.0.$node/24" dev inside &&
      ip -n "$name-$node" link set inside up || return 1
    echo "10.78.0.$node node$node" >>"$work/hosts"
  done
}

# enter NODE command...
write_enter() {
  cat >"$work/enter" <<END
#!/bin/sh
node=\$1
shift
exec nsenter --net=/var/run/netns/$name-\$node unshare --uts --mount --propagation private sh -c '
  hostname node'\$node' && mount --bind $work/hosts /etc/hosts && mount -t tmpfs -o mode=1777 tmpfs /dev/shm &&
  exec "\$@"' - "\$@"
END
  cat >"$work/rsh" <<END
#!/bin/sh
while [ "\${1#-}" != "\$1" ]; do shift; done
node=\${1#node}
shift
exec $work/enter "\$node" sh -c "\$*"
END
  chmod +x "$work/enter" "$work/rsh"
}

# on_nodes RANKS_PER_NODE [mpirun option...] program...
on_nodes() {
  each=$1
  shift
  timeout -k 5 60 "$work/enter" 1 mpirun --allow-run-as-root --oversubscribe --host "node1:$each,node2:$each" \
    --mca plm_rsh_agent "$work/rsh" --mca plm_rsh_no_tree_spawn 1 --mca oob_tcp_if_include 10.78.0.0/24 \
    --mca btl_tcp_if_include 10.78.0.0/24 "$@" </dev/null
}

failed=0
expect_ok() {
  what=$1
  shift
  echo "--- $what"
  on_nodes "$@" >"$work/output" 2>&1
  status=$?
  cat "$work/output"
  if [ $status -ne 0 ] || ! grep -q '^ok$' "$work/output"; then echo "FAIL: $what: exit status $status"; failed=1; fi
}

if ! make_nodes 2>"$work/error"; then echo "two nodes need network namespaces: $(tail -n 1 "$work/error")"; exit 77; fi
write_enter
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
unset OMPI_MCA_mca_base_component_path OMPI_MCA_coll_smelt_priority OMPI_MCA_orte_tmpdir_base
if ! on_nodes 1 "$programs/many_collectives" >"$work/output" 2>&1; then
  tail -n 5 "$work/output"
  echo "stock Open MPI does not run on two pretended nodes here"
  exit 77
fi
use="--mca mca_base_component_path $component:SYSTEM_DEFAULT --mca coll_smelt_priority 90"
export OMPI_MCA_mca_base_component_path="$component:SYSTEM_DEFAULT"
for map in slot node; do
  expect_ok "2 ranks each, by $map" 2 $use --map-by $map "$programs/nodes"
  expect_ok "2 ranks each, by $map: every collective" 2 $use --map-by $map "$programs/many_collectives"
done
expect_ok "3 ranks each, by node" 3 $use --map-by node "$programs/nodes"
expect_ok "1 rank each" 1 $use "$programs/nodes"
expect_ok "3 ranks each, by node: every collective" 3 $use --map-by node "$programs/many_collectives"
expect_ok "2 ranks each, --mca coll smelt" 2 --mca coll smelt "$programs/many_collectives"
[ $failed -eq 0 ]
