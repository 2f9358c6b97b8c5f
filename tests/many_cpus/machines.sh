# Sourced: machines to be emulated. machine NAME sets $arch, $qemu (options) and what the machine must be found to be:
#   $cpus, $cores, $caches (last-level), $nodes, $packages
#   $pairs   "name=ordered pairs" for each distance, names as smelt info writes them, blanks as _
#   $teams, $ranks   sizes worth trying there
#   $waiting         settings for threads that wait there
#   $rounds_meanwhile  of each program that runs while CPUs come and go
#   $close, $spread  the CPUs of a team of four that is bound so, a regular expression
nodes_of() {  # NUMBER CPUS-EACH MEMORY: nodes with as much memory each
  node=0
  while [ $node -lt "$1" ]; do
    printf ' -object memory-backend-ram,id=m%d,size=%s -numa node,nodeid=%d,cpus=%d-%d,memdev=m%d' \
      $node "$3" $node $((node * $2)) $((node * $2 + $2 - 1)) $node
    node=$((node + 1))
  done
}
distance() { printf ' -numa dist,src=%d,dst=%d,val=%d' "$@"; }

machine() {
  waiting= rounds_meanwhile=100
  case $1 in
    x86_64-16)  # 2 packages of 4 cores with 2 threads, a node each
      arch=amd64 cpus=16 cores=8 caches=2 nodes=2 packages=2 teams="3 4 7 8 16" ranks="8 16"
      close="0 1 2 3" spread="[01] [45] [89] 1[23]"
      pairs="same_core=16 same_last-level_cache=96 other_package=128"
      qemu="-smp 16,sockets=2,cores=4,threads=2 -m 3G $(nodes_of 2 8 1536M) $(distance 0 1 21)" ;;
    x86_64-64)  # 4 packages of 8 cores with 2 threads, a node each, two of them nearer to each other than to the others
      arch=amd64 cpus=64 cores=32 caches=4 nodes=4 packages=4 teams="33 64" ranks="16"
      close="0 1 2 3" spread="[01] 1[67] 3[23] 4[89]"
      pairs="same_core=64 same_last-level_cache=896 other_package=3072"
      qemu="-smp 64,sockets=4,cores=8,threads=2 -m 4G $(nodes_of 4 16 1G) $(distance 0 1 16) $(distance 2 3 16)
        $(distance 0 2 22) $(distance 0 3 22) $(distance 1 2 22) $(distance 1 3 22)" ;;
    aarch64-8)  # 2 packages of 2 clusters of 2 cores, a node each
      arch=arm64 cpus=8 cores=8 caches=4 nodes=2 packages=2 teams="3 8" ranks="8" rounds_meanwhile=10
      waiting="SMELT_TUNE=spin_us=20 OMP_WAIT_POLICY=passive"  # who spins there keeps a CPU of this machine from the others
      close="0 1 2 3" spread="0 2 4 6"
      pairs="same_last-level_cache=8 same_node=16 other_package=32"
      qemu="-smp 8,sockets=2,clusters=2,cores=2,threads=1 -m 3G $(nodes_of 2 4 1536M) $(distance 0 1 21)" ;;
    *) echo "no machine is called $1" >&2; return 1 ;;
  esac
}
