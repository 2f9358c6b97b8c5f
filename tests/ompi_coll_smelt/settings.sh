# Part of component_test.sh: who is served, by which method, and what the settings do to it.

# --- who serves

ok "counters rise" 2 counters used
ok "counters rise, 5 ranks" 5 counters used
ok "priority 0: not used" 2 --mca coll_smelt_priority 0 counters unused
unset OMPI_MCA_coll_smelt_priority
ok "no priority given: not used" 2 counters unused
ok "SMELT_PRIORITY=90: used" 2 -x SMELT_PRIORITY=90 counters used
ok "SMELT_PRIORITY=0: not used" 2 -x SMELT_PRIORITY=0 counters unused
ok "--mca coll smelt alone: used" 2 --mca coll smelt counters used
for n in 2 5; do
  ok "--mca coll smelt alone: every collective, $n ranks" $n --mca coll smelt many_collectives
  ok "--mca coll smelt alone: communicators, $n ranks" $n --mca coll smelt communicators --rounds 300
done
mpi "--mca coll smelt alone: what is added is said, once" 0 'smelt: coll/smelt: .* added: basic,libnbc,self,tuned' 2 \
  --mca coll smelt -x SMELT_VERBOSE=1 counters used
if [ "$(grep -c '; added: ' "$output")" -ne 1 ]; then fail "what is added is said more than once"; fi
check "ompi_info says what is added" 0 'coll_smelt_added.*"basic,libnbc,self,tuned' env OMPI_MCA_coll=smelt ompi_info --param coll \
  smelt --level 9
ok "--mca coll smelt,basic,libnbc,self" 3 --mca coll smelt,basic,libnbc,self many_collectives
ok "--mca coll ^smelt: not used" 2 --mca coll ^smelt --mca coll_smelt_priority 90 counters unused
ok "--mca coll_smelt_priority 90" 2 --mca coll_smelt_priority 90 counters used
check "smelt run -- mpirun" 0 '^ok$' env -u OMPI_MCA_mca_base_component_path "$smelt" run -- mpirun -n 2 \
  "$programs/counters" used
export OMPI_MCA_coll_smelt_priority=90

# --- what is said

ok "silent by default" 2 crash forget
if [ "$(wc -l <"$output")" -ne 1 ]; then fail "not silent"; fi
mpi "verbose: the methods of each communicator" 0 'smelt: coll/smelt: MPI_COMM_WORLD \(2 ranks\): barrier' 2 -x \
  SMELT_VERBOSE=2 counters used
mpi "coll_smelt_verbose" 0 'smelt: coll/smelt: MPI_COMM_WORLD \(3 ranks\): allreduce' 3 --mca coll_smelt_verbose 2 \
  counters used
mpi "verbose, level 1: a line per communicator" 0 'smelt: coll/smelt: MPI_COMM_WORLD \(2 ranks\): ' 2 -x SMELT_VERBOSE=1 counters used
if [ "$(grep -c 'smelt: coll/smelt: MPI_COMM_WORLD' "$output")" -ne 1 ]; then fail "level 1: more than a line per communicator"; fi
mpi "SMELT_STATS=1: what was served, by one rank" 0 'smelt: coll/smelt: rank 0 of 2: [1-9][0-9]* collectives served, ' 2 -x SMELT_STATS=1 \
  counters used
if [ "$(grep -c 'collectives served' "$output")" -ne 1 ]; then fail "SMELT_STATS=1: not one line per job"; fi
for how in --verbose --messages; do
  check "SMELT_STATS=1 smelt run $how: one line of all ranks" 0 '^smelt: MPI \(2 ranks\): [1-9][0-9]* of [0-9]+ collective calls of all ranks served: ' \
    env -u OMPI_MCA_mca_base_component_path SMELT_STATS=1 "$smelt" run $how -- mpirun -n 2 "$programs/counters" used
  if [ "$(grep -c 'collective calls' "$output")" -ne 1 ]; then fail "smelt run $how: not one line per job"; fi
  if grep -q 'took nothing\|collectives served' "$output"; then fail "smelt run $how: another line says something else"; fi
done
check "smelt run: told not to use it" 0 'MPI: collectives not served: the priority .* is 0' env -u OMPI_MCA_mca_base_component_path \
  SMELT_PRIORITY=0 OMPI_MCA_coll_smelt_priority=0 SMELT_STATS=1 "$smelt" run -- mpirun -n 2 "$programs/counters" unused
mpi "bad value: said, and the program goes on" 0 '^ok$' 2 -x SMELT_TUNE=chunk=abc counters used
if [ "$(grep -c 'SMELT_TUNE=chunk=abc' "$output")" -ne 2 ]; then fail "bad value: not one line per process"; fi
mpi "bad value of a parameter" 0 '^ok$' 2 --mca coll_smelt_flat_limit abc counters used
if ! grep -q 'SMELT_TUNE=flat_limit=abc' "$output"; then fail "bad value of a parameter: not said"; fi
# The name in earlier versions: it still works.
: >"$scratch/counts"
mpi "old name of a parameter" 0 '^ok$' 2 --mca coll_smelt_stats_file "$scratch/counts" counters used
[ "$(grep -c '"end":true' "$scratch/counts")" = 2 ] || fail "old name of a parameter: not one account per rank"
mpi "bad piece: said, and the program goes on" 0 '^ok$' 2 -x SMELT_TUNE=chunk=1001 aligned_operands
grep -q 'SMELT_TUNE=chunk=1001 is not a multiple of 64' "$output" || fail "bad piece: not said"
check "parameters: those that ranks read" 0 'parameter "coll_smelt_chunk"' ompi_info --param coll smelt --level 9
for name in cpus pattern profile verbose shm_mb flat_limit reduce_order copy_limit sync patience priority; do
  grep -q "parameter \"coll_smelt_$name\"" "$output" || fail "parameters: no coll_smelt_$name"
done
for name in wait spin_us yield_us gomp hot_team; do
  grep -q "coll_smelt_$name\"" "$output" && fail "parameters: coll_smelt_$name is read by no rank"
done
mpi "unknown pattern: said, and the program goes on" 0 'SMELT_TUNE=pattern=nonsense' 2 -x SMELT_TUNE=pattern=nonsense counters \
  used
grep -q '^ok$' "$output" || fail "unknown pattern: the program did not go on"

# --- two ranks without a profile try both methods

# tried COLLECTIVE SIZE: both have been, each in some time, and one was chosen.
tried() {
  grep -Eq "two ranks have tried $1 of <= $2: shared memory [0-9.]*[1-9][0-9.]* us, single copy [0-9.]*[1-9][0-9.]* us; from now on s" \
    "$output" || fail "two ranks: $1 of $2 was not tried by both methods"
}
ok "two ranks try both methods" 2 -x SMELT_VERBOSE=2 -x SMELT_CPUS=64 tried
if grep -q 'no single copy' "$output"; then
  grep -q 'two ranks have tried' "$output" && fail "two ranks: tried what the kernel does not permit"
  skip "two ranks try both methods: the kernel permits no single copy"
else
  for which in bcast reduce allreduce alltoall allgather gather scatter; do
    for size in '4 KiB' '8 KiB' '64 KiB' '512 KiB'; do tried $which "$size"; done
  done
fi
ok "two ranks, a limit is set: nothing is tried" 2 -x SMELT_VERBOSE=2 -x SMELT_CPUS=64 -x SMELT_TUNE=copy_limit=20000 tried
grep -q 'two ranks have tried' "$output" && fail "two ranks: tried although a limit is set"
ok "three ranks: nothing is tried" 3 -x SMELT_VERBOSE=2 -x SMELT_CPUS=64 tried
grep -q 'two ranks have tried' "$output" && fail "three ranks: tried"

# --- forced methods: right results, and the same bits by each

first_sum=
for method in SMELT_TUNE=flat_limit=0 SMELT_TUNE=flat_limit=1000000000 SMELT_TUNE=copy_limit=0 SMELT_TUNE=copy_limit=1000000000 \
  SMELT_TUNE=chunk=256 SMELT_TUNE=chunk=8192 SMELT_TUNE=patience=0 SMELT_CPUS=64; do
  ok "$method: reductions" 3 -x $method reductions --light
  ok "$method: many collectives" 3 -x $method -x SMELT_STATS=1 many_collectives
  grep -Eq 'coll/smelt: rank 0 of 3: [1-9][0-9]* collectives served' "$output" || fail "$method: many collectives were not served"
  ok "$method: nonblocking" 3 -x $method nonblocking --light --smelt
  same_sum "$method: same bits" 4 -x $method same_bits --light --order
  # The random programs (random.sh) are under most of these settings, too.
  [ "$length" = --full ] || continue
  ok "$method: user operations" 3 -x $method user_operations --light
  ok "$method: broadcasts" 3 -x $method broadcasts --light --mixed-empty
  ok "$method: allgathers" 3 -x $method allgathers --light
  ok "$method: alltoalls" 3 -x $method alltoalls --light
  ok "$method: neighbours" 3 -x $method neighbours --light
  ok "$method: gathers" 3 -x $method gathers --light
  ok "$method: lengths that differ" 3 -x $method lengths --all
  ok "$method: first calls" 3 -x $method first_calls
  ok "$method: mixed" 3 -x $method barrier --light --rounds 500
done
for n in 2 3 5; do
  for method in SMELT_TUNE=flat_limit=-1 SMELT_TUNE=flat_limit=0 SMELT_TUNE=copy_limit=0 SMELT_TUNE=chunk=192; do
    ok "$method: operands are aligned, $n ranks" $n -x $method aligned_operands
  done
done
ok "SMELT_TUNE=copy_limit=0 and SMELT_TUNE=flat_limit=0: reductions" 5 -x SMELT_TUNE=copy_limit=0,flat_limit=0 reductions \
  --light
ok "SMELT_TUNE=copy_limit=0 and SMELT_TUNE=flat_limit=0: progress" 3 -x SMELT_TUNE=copy_limit=0,flat_limit=0 progress
same_sum "SMELT_TUNE=copy_limit=0 and SMELT_TUNE=flat_limit=0: same bits" 4 -x SMELT_TUNE=copy_limit=0,flat_limit=0 \
  same_bits --light --order
for way in libc movsb ahead; do
  ok "SMELT_TUNE=copy=$way: collectives" 3 -x SMELT_TUNE=copy=$way,copy_limit=1000000000 many_collectives
  same_sum "SMELT_TUNE=copy=$way: same bits" 4 -x SMELT_TUNE=copy=$way,copy_limit=1000000000 same_bits --light --order
done
ok "SMELT_TUNE=patience=0: communicators" 3 -x SMELT_TUNE=patience=0 communicators --rounds 1000
ok "SMELT_TUNE=patience=0: nonblocking, threads" 2 -x SMELT_TUNE=patience=0 nonblocking --light --threads
ok "SMELT_TUNE=patience=0: threads" 2 -x SMELT_TUNE=patience=0 threads --create
same_sum "no CMA: same bits" 4 --mca btl_vader_single_copy_mechanism none same_bits --light --order

# --- reductions along the tree: who waits for whom, results, and what keeps its bits

for n in 4 5; do
  ok "exact operations along the tree, others in order, $n ranks" $n -x SMELT_TUNE=pattern=knomial:1 reduce_order
  ok "SMELT_REDUCE_ORDER=tree: what commutes along the tree, $n ranks" $n -x SMELT_TUNE=pattern=knomial:1 -x SMELT_REDUCE_ORDER=tree \
    reduce_order --tree
done
mpi "verbose: the tree of reductions" 0 'reduce: <= 280 B: inline, .*by the root, order-free operations along binomial' 4 -x \
  SMELT_VERBOSE=2 -x SMELT_TUNE=pattern=binomial counters used
for pattern in $([ "$length" = --full ] && echo binomial) optimised knomial:1; do
  ok "SMELT_TUNE=pattern=$pattern: reductions" 4 -x SMELT_TUNE=pattern=$pattern reductions --light
  same_sum "SMELT_TUNE=pattern=$pattern: same bits" 4 -x SMELT_TUNE=pattern=$pattern same_bits --light --order
  ok "SMELT_TUNE=pattern=$pattern, SMELT_REDUCE_ORDER=tree: reductions" 4 -x SMELT_TUNE=pattern=$pattern -x SMELT_REDUCE_ORDER=tree \
    reductions --light
  ok "SMELT_TUNE=pattern=$pattern, SMELT_REDUCE_ORDER=tree: user operations" 4 -x SMELT_TUNE=pattern=$pattern -x SMELT_REDUCE_ORDER=tree \
    user_operations --light
done
wrong "SMELT_REDUCE_ORDER=tree gives other bits, and same_bits notices" 4 -x SMELT_TUNE=pattern=binomial -x SMELT_REDUCE_ORDER=tree \
  same_bits --light --order

# --- forced patterns, as if every rank had a CPU and as it is

for pattern in sequential binary binomial mst knomial:3 line:0 line:1 relay:1 all-to-all dissemination dissemination:2 \
  hybrid cluster adaptive-sorted; do
  for n in $([ "$length" = --full ] && echo 3 8) 5; do
    mpi "SMELT_TUNE=pattern=$pattern: barrier and mixed, $n ranks" 0 '^ok$' $n -x SMELT_CPUS=64 -x SMELT_TUNE=pattern=$pattern -x SMELT_VERBOSE=2 \
      barrier --light --rounds 400 --mixed 1500
    grep -Eq "MPI_COMM_WORLD .$n ranks.: barrier and ibarrier: $pattern(:1)?, " "$output" || fail "SMELT_TUNE=pattern=$pattern: another one serves"
  done
  # One of each kind: a tree by levels, one by a formula, a chain, one of the machine's clusters, and what falls back to another.
  case $length,$pattern in
    --full,* | *,binary | *,knomial:3 | *,line:0 | *,cluster | *,dissemination:2)
      ok "SMELT_TUNE=pattern=$pattern: broadcasts" 5 -x SMELT_TUNE=pattern=$pattern broadcasts --light ;;
  esac
done
