# Part of random.sh, here and of ompi_pml_smelt: which random programs run.
#   RANDOM_SEEDS=200 RANDOM_FIRST=31   how many, and from which seed on; without RANDOM_FIRST from the time on. What a seed means is fixed

# pick NUMBER word...   (modulo how many there are)
pick() {
  at=$(($1 % ($# - 1) + 1))
  shift "$at"
  echo "$1"
}
# each_seed FIXED CHANCE: one_seed SEED for the seeds that are asked for, or so many from 1 on and so many by chance. Beside every fourth
# other processes compute.
each_seed() {
  if [ -n "${RANDOM_SEEDS-}" ]; then
    seeds=$(seq "${RANDOM_FIRST:=$(date +%s)}" $((RANDOM_FIRST + RANDOM_SEEDS - 1)))
  else
    seeds="$(seq "$1") $(seq "$(date +%s)" $(($(date +%s) + $2 - 1)))"
  fi
  for seed in $seeds; do
    if [ $((seed % 4)) -eq 1 ]; then
      sh -c 'while :; do :; done & while :; do :; done' & beside=$!
      one_seed "$seed"
      pkill -KILL -P $beside; kill -KILL $beside; wait $beside
    else
      one_seed "$seed"
    fi 2>/dev/null
  done
}
