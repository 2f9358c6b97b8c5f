# Part of the two_nodes.sh of ompi_pml_smelt and of rails/tests/nodes, and of rails/tests/far/far_test.sh: nodes that are namespaces of this machine. Each is a network
# namespace (a veth pair into a bridge, which lies in a third one), with its own hostname, /etc/hosts and empty /dev/shm. The remote
# daemon is started by a pretended rsh. Ends with 77, the last line saying why, where that cannot be.
[ "$(id -u)" -eq 0 ] || { echo "two nodes need root"; exit 77; }
for tool in ip nsenter unshare mount mpirun; do
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

# on_nodes RANKS_PER_NODE|RANKS_OF_FIRST+RANKS_OF_SECOND [mpirun option...] program...
# The nodes share this machine's CPUs, which Open MPI cannot know: hence yield_when_idle, and no binding. A node has as many slots as
# ranks; where more are allowed, Open MPI 5 puts all ranks on the first node. Its coll/han, which is on by default there, is wrong where
# ranks gather in different layouts (docs/mpi_reference.md), and makes communicators within the nodes, whose messages would be counted.
export OMPI_MCA_coll=^han
unset OMPI_MCA_rmaps_base_oversubscribe PRTE_MCA_rmaps_default_mapping_policy PRTE_MCA_mapby
on_nodes() {
  layout=$1
  shift
  timeout -k 5 60 "$work/enter" 1 mpirun --allow-run-as-root --bind-to none --mca mpi_yield_when_idle 1 \
    --host "node1:${layout%+*},node2:${layout#*+}" \
    --mca plm_rsh_agent "$work/rsh" --mca plm_rsh_no_tree_spawn 1 --mca oob_tcp_if_include 10.78.0.0/24 \
    --mca btl_tcp_if_include 10.78.0.0/24 "$@" </dev/null
}

# start_nodes MAKE PROGRAM: MAKE makes them, and PROGRAM must run on both, without Smelt and without what smelt run sets, so that where that
# alone is wrong no test says that nothing runs here.
start_nodes() {
  if ! "$1" 2>"$work/error"; then echo "two nodes need network namespaces: $(tail -n 1 "$work/error")"; exit 77; fi
  write_enter
  export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
  unset OMPI_MCA_mca_base_component_path OMPI_MCA_coll_smelt_priority OMPI_MCA_orte_tmpdir_base
  (unset PMIX_MCA_mca_base_component_path; on_nodes 1 "$2") >"$work/output" 2>&1 && return
  tail -n 5 "$work/output"
  echo "stock Open MPI does not run on two pretended nodes here"
  exit 77
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

# expect_line WHAT PATTERN on_nodes'_ARGUMENTS...
expect_line() {
  what=$1 pattern=$2
  shift 2
  echo "--- $what"
  on_nodes "$@" >"$work/output" 2>&1
  if [ $? -eq 124 ] || ! grep -q "$pattern" "$work/output"; then
    cat "$work/output"
    echo "FAIL: $what: no line matches '$pattern'"
    failed=1
  fi
}

# expect_end WHAT on_nodes'_ARGUMENTS...: the job fails, and does not hang.
expect_end() {
  what=$1
  shift
  echo "--- $what"
  on_nodes "$@" >"$work/output" 2>&1
  status=$?
  if [ $status -eq 0 ] || [ $status -eq 124 ]; then echo "FAIL: $what: exit status $status"; failed=1; fi
}

