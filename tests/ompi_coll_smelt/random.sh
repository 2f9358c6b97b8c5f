# Part of component_test.sh --random: random programs (random_collectives.c), in several settings.
#   RANDOM_SEEDS=200 RANDOM_FIRST=31    how many, and from which seed on; by default 24 from 1. What a seed means is fixed
# One that does not end says whether it hung or was slow, and where its ranks were. It may take RANDOM_SECONDS.

seconds=${RANDOM_SECONDS:-100}
limit=$((seconds + 30))

# The program must be able to fail, and to tell hung from slow. Here everything is Open MPI's own.
mpi "control: a rank that never goes on is told from a slow run" 2 '^hung: nobody made progress' 3 random_collectives \
  --seconds 2 --hang
mpi "control: a run that is only slow" 3 '^slow: there was progress' 2 random_collectives --seconds 2 --slow
for how in bit order early spill stale source; do negative_control $how 3 --oversubscribe random_collectives; done

# pick NUMBER word...   (modulo how many there are)
pick() {
  at=$(($1 % ($# - 1) + 1))
  shift "$at"
  echo "$1"
}
# random_programs [argument...]
random_programs() {
  seed=${RANDOM_FIRST:-1}
  last=$((seed + ${RANDOM_SEEDS:-24} - 1))
  while [ "$seed" -le "$last" ]; do
    n=$(pick "$seed" 2 3 4 2 3 4 2 8) steps=400 threads=1
    setting=$(pick $((seed / 2)) PATIENCE=8 PATIENCE=0 CHUNK=256 COPY_LIMIT=0 COPY_LIMIT=1000000 FLAT_LIMIT=0)
    if [ $((seed % 6)) -eq 0 ] && [ "$n" -le 4 ]; then threads=2 steps=150; fi
    ok "seed $seed, $n ranks, $threads threads, SMELT_$setting" "$n" -x "SMELT_$setting" random_collectives \
      --seconds "$seconds" --seed "$seed" --steps $steps --threads $threads "$@"
    seed=$((seed + 1))
  done
}
