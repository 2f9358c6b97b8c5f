#!/bin/sh
# Do bench/mpi_message's rows come, each with a time above 0, and does compare.py put sides beside each other?
#   messages_test.sh BUILD_FOLDER COMPARE_PY
# Exit 77: skipped, there is no mpirun.
set -u
build=$1 compare=$2
if ! command -v mpirun >/dev/null; then echo "skipped: there is no mpirun"; exit 77; fi
for name in $(env | sed -n 's/^\(OMPI_MCA_[A-Za-z0-9_]*\|SMELT_[A-Z_]*\)=.*/\1/p'); do unset "$name"; done
# --near: wherever the CPUs are, it is one table.
said=$(timeout 240 python3 "$compare" "$build" --sides ob1-yield --rounds 1 --limit 0.05 --most 1000 --near 1e12) || exit 1
echo "$said"
rows=$(echo "$said" | grep -cE '^(size|any|posted|unexpected|reverse|latency|rate) +[0-9]+ +[0-9]*[1-9][0-9]*\.[0-9] +0% *$')
# The short time may leave out rows, but one of each kind comes.
kinds=$(echo "$said" | grep -E '^[a-z]+ ' | cut -d' ' -f1 | sort -u | wc -l)
[ "$rows" -ge 7 ] && [ "$kinds" -eq 7 ] || { echo "FAIL: $rows rows of $kinds kinds"; exit 1; }
python3 "$compare" "$build" --sides nobody 2>/dev/null && { echo "FAIL: an unknown side is taken"; exit 1; }
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1
timeout 60 mpirun -n 2 "$build/bench/mpi_message/mpi_message" --limit 0.05 nonsense >/dev/null 2>&1 </dev/null &&
  { echo "FAIL: an unknown row is taken"; exit 1; }
exit 0
