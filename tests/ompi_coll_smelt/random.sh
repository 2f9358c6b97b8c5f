# Part of component_test.sh --random: random programs (random_collectives.c), in several settings (seeds.sh says how many).
# One that does not end says whether it hung or was slow, and where its ranks were. It may take RANDOM_SECONDS.

seconds=${RANDOM_SECONDS:-100}
limit=$((seconds + 30))
. "$here/seeds.sh"

# The program must be able to fail, and to tell hung from slow. Here everything is Open MPI's own.
mpi "control: a rank that never goes on is told from a slow run" 2 '^hung: nobody made progress' 3 random_collectives \
  --seconds 2 --hang
mpi "control: a run that is only slow" 3 '^slow: there was progress' 2 random_collectives --seconds 2 --slow
for how in bit order early spill stale source swapped groups restart; do
  negative_control $how 3 --oversubscribe random_collectives --seed 3
done

# random_programs [argument...]
random_programs() {
  random_arguments=$*
  random_calls=0
  each_seed 16 4
  echo "$random_calls calls of collectives"
}
one_seed() {
  n=$(pick "$1" 2 3 4 2 3 4 2 8) steps=400 threads=1
  setting=$(pick $(($1 / 2)) patience=8 patience=0 chunk=256 copy_limit=0 copy_limit=1000000 flat_limit=0)
  if [ $(($1 % 6)) -eq 0 ] && [ "$n" -le 4 ]; then threads=$((2 + $1 / 6 % 2 * 2)) steps=150; fi
  ok "seed $1, $n ranks, $threads threads, SMELT_TUNE=$setting" "$n" -x "SMELT_TUNE=$setting" random_collectives \
    --seconds "$seconds" --seed "$1" --steps $steps --threads $threads $random_arguments || return
  random_calls=$((random_calls + $(sed -n 's/ calls of collectives$//p' "$output")))
}
