# Part of component_test.sh: bound, unbound, some bound, all on one CPU, many ranks, many communicators.

same_programs() {  # NAME RANKS [mpirun option...]
  same_name=$1
  shift
  ok "$same_name: reductions" "$@" reductions --light
  ok "$same_name: barrier and mixed" "$@" barrier --light
  ok "$same_name: broadcasts" "$@" broadcasts --light
  ok "$same_name: nonblocking" "$@" nonblocking --light --smelt
}
same_programs "bound" 2 --bind-to core
same_programs "unbound" 2 --bind-to none
same_programs "unbound, 4 ranks" 4 --bind-to none
# keyed on the rank: one bound, the others free to go anywhere, also to its CPU
mpi "one of three bound" 0 '^ok$' 3 --bind-to none sh -c \
  'if [ "$OMPI_COMM_WORLD_RANK" = 0 ]; then exec taskset -c 0 "$@"; fi; exec "$@"' - barrier --light
mpi "all on one CPU: barrier and mixed" 0 '^ok$' 3 --bind-to none taskset -c 0 barrier --light
mpi "all on one CPU: reductions" 0 '^ok$' 3 --bind-to none taskset -c 0 reductions --light
mpi "all on one CPU: nonblocking" 0 '^ok$' 3 --bind-to none taskset -c 0 nonblocking --light --smelt
ok "4,096 communicators alive" 2 -x SMELT_TUNE=patience=0 communicators --light --rounds 50 --alive 4096
first_sum=
for binding in core none; do
  same_sum "same bits, --bind-to $binding" 2 --bind-to $binding same_bits --light --order
done
same_sum "same bits, all on one CPU" 2 --bind-to none taskset -c 0 same_bits --light --order
ok "20 ranks" 20 barrier --light --rounds 200 --mixed 200
if [ "$length" = --full ]; then
  ok "20 ranks: same bits in blocks of 16" 20 same_bits --light --order
  ok "20 ranks: user operations" 20 user_operations --light
  ok "70 ranks" 70 barrier --light --rounds 50 --mixed 50
  ok "70 ranks: same bits" 70 same_bits --light --order
fi
