# Part of pml_test.sh --random: random messages (random_messages.c) between Smelt's collectives, in several settings, and jobs that are killed
# (../ompi_coll_smelt/seeds.sh and kills.sh say how many).

limit=600  # to end what hangs: where compilers run on both CPUs, two ranks have been seen to take two minutes instead of two seconds
. "$here/../ompi_coll_smelt/seeds.sh"
check "control: two receives that are taken for each other are noticed" any '^FAILED: rank' mpirun -n 3 pml_random_messages --swap
as="$smelt run --messages --"
one_seed() {
  n=$(pick "$1" 2 3 4 2 3 4 2 8) threads=1
  setting=$(pick $(($1 / 2)) patience=8 patience=0 copy_limit=0 copy_limit=1000000 patience=0)
  if [ $(($1 % 3)) -eq 0 ] && [ "$n" -le 4 ]; then threads=$((2 + $1 % 2 * 2)); fi
  check "seed $1, $n ranks, $threads threads, SMELT_TUNE=$setting" 0 '^ok$' $as mpirun -n "$n" -x "SMELT_TUNE=$setting" \
    pml_random_messages --seed "$1" --threads $threads --smelt || return
  random_messages=$((random_messages + $(sed -n 's/ messages,.*//p' "$output")))
}
random_messages=0
each_seed 4 4
echo "$random_messages messages"
victims="pml_random_messages --phases 20
pml_rules --served
random_collectives --steps 60"
. "$here/../ompi_coll_smelt/kills.sh"
