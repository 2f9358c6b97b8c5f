# Part of tree_search_test.sh and of ../bench_breadth_first/breadth_first_test.sh, which have set `program`, `smallest`
# (options) and found_of (what a program's line says that it found). Ends with 77 where there are no user-level threads.
unset $(env | sed -n 's/^\(OMPI_MCA_[A-Za-z0-9_]*\|SMELT_[A-Z_]*\)=.*/\1/p') 2>/dev/null
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1 OMPI_MCA_mpi_yield_when_idle=1
. "$(dirname "$0")/../../../../tests/ompi_coll_smelt/newer_open_mpi.sh" 2>/dev/null
if "$program" $smallest --threads 1 2>&1 | grep -q 'no scheduler'; then echo "skipped: built without threads"; exit 77; fi
failed=0
# What one thread finds, for all that follow.
alone() {  # OPTION...
  wanted=$("$program" --alone "$@" | found_of)
  [ -n "$wanted" ] || { echo "FAIL: nothing found: $*"; exit 1; }
}
same() {  # WHAT COMMAND...
  what=$1
  shift
  said=$(timeout -k 5 100 "$@" 2>&1 </dev/null)
  if [ "$(echo "$said" | found_of)" = "$wanted" ]; then
    echo "ok: $what: $wanted"
  else
    echo "FAIL: $what: wanted $wanted: $said"; failed=1
  fi
}
