#!/bin/sh
# End-to-end: MPI programs under real mpirun, with the component and without.
#   component_test.sh COMPONENT BROKEN PROGRAM_DIRECTORY SMELT [--full | --random | PART...]
# COMPONENT is the file of the component; "stock" runs the general programs on Open MPI alone, to test the tests. BROKEN
# is the negative control to preload. --random: random programs alone (random.sh). PART: programs, or a part of this
# script by its file's name; without one all of them. Exit 77: skipped, there is no mpirun.
set -u
component=$1 broken=$(realpath "$2") smelt=$(realpath "$4")
case ${5-} in
  --*) length=$5 parts= ;;
  *) length=--quick parts=$(shift $(($# < 4 ? $# : 4)); echo "$*") ;;
esac
parts=${parts:-programs settings loose_strict lives placement canary failures}
as="$smelt run --"  # for kills
victims="random_collectives --steps 100
communicators --rounds 60
barrier --light --rounds 50"
here=$(cd "$(dirname "$0")" && pwd) && programs=$(cd "$3" && pwd) && collectives=$here || exit 1
. "$here/checks.sh"

# same_sum NAME RANKS ...: same_bits --light, whose checksum must be that of the first such call since first_sum was emptied.
same_sum() {
  ok "$@" || return
  sum=$(sed -n 's/^checksum //p' "$output")
  [ -n "$first_sum" ] || first_sum=$sum
  if [ "$sum" != "$first_sum" ]; then fail "$1: checksum $sum instead of $first_sum"; fi
}

# --- every program at every number of ranks

# other_form RANKS PROGRAM ...: the program's collectives in the form of $form.
other_form() {
  other_ranks=$1
  shift
  ok "$form: $1, $other_ranks ranks" $other_ranks -x LD_PRELOAD="$forms" -x FORM=$form "$@"
}
every_program() {
  mixed_empty=--mixed-empty order=--order smelt_serves=--smelt differ=--all
  if [ "$component" = stock ]; then mixed_empty= order= smelt_serves= differ=; fi
  sizes='2 3 5' sizes_of_forms=
  if [ "$length" = --full ]; then sizes='2 3 4 5 8 10' sizes_of_forms='2 3 5'; fi
  for n in $sizes; do
    # Five ranks on two CPUs are slow: in the first tier they have only those programs in which they meet what three don't.
    if [ "$length" = --full ] || [ $n -ne 5 ]; then
      ok "reductions, $n ranks" $n reductions "$length"
      ok "user operations, $n ranks" $n user_operations "$length"
      ok "progress, $n ranks" $n progress "$length"
      ok "barrier and mixed, $n ranks" $n barrier "$length" --seed $n
      if [ -n "$order" ]; then ok "first calls, $n ranks" $n first_calls --patience; fi
      if [ $n -le 5 ]; then ok "threads, $n ranks" $n threads "$length" --create; fi
    fi
    ok "broadcasts, $n ranks" $n broadcasts "$length" $mixed_empty
    ok "allgathers, $n ranks" $n allgathers "$length"
    ok "alltoalls, $n ranks" $n alltoalls "$length"
    ok "neighbours, $n ranks" $n neighbours "$length"
    ok "gathers, $n ranks" $n gathers "$length"
    ok "communicators, $n ranks" $n communicators "$length"
    ok "many collectives, $n ranks" $n many_collectives
    if [ -n "$order" ]; then ok "same bits, $n ranks" $n same_bits "$length" --order; fi
    if [ -n "$differ" ] || [ $n -eq 2 ]; then ok "lengths that differ, $n ranks" $n lengths $differ; fi
    if [ $n -le 4 ]; then ok "spawned ranks, $n ranks" $n spawn; fi
    if [ $n -le 5 ]; then ok "nonblocking, $n ranks" $n nonblocking "$length" $smelt_serves; fi
    if [ $n -le 4 ]; then ok "nonblocking, threads, $n ranks" $n nonblocking "$length" --threads; fi
  done
  if [ "$length" != --full ]; then
    ok "reductions, 8 ranks" 8 reductions "$length"
    ok "barrier and mixed, 8 ranks" 8 barrier "$length" --seed 8
  fi
  for form in nonblocking persistent; do
    other_form 3 many_collectives
    if [ "$length" != --full ]; then other_form 3 user_operations --light; fi
    for n in $sizes_of_forms; do
      other_form $n reductions --light
      other_form $n user_operations --light
      other_form $n broadcasts --light $mixed_empty
      other_form $n allgathers --light
      other_form $n alltoalls --light
      other_form $n neighbours --light
      other_form $n gathers --light
      other_form $n barrier --light --rounds 500
      other_form $n progress
      if [ -n "$order" ]; then other_form $n same_bits --light --order; fi
    done
    other_form 2 threads --light --create
    other_form 3 communicators --rounds 300
  done
  if [ -n "$smelt_serves" ]; then
    ok "nonblocking: no memory for long messages" 3 nonblocking --refused
    for n in 2 4 17; do ok "neighbours in all forms, $n ranks" $n neighbours --forms; done
    case $(mpirun --version) in  # 6.0 makes no mistake there
      'mpirun (Open MPI) '[45].*)
        wrong "control: what Open MPI makes of rings of two is noticed by neighbours" 2 --mca coll ^smelt neighbours --forms ;;
    esac
    wrong "control: in another form the blocking ones are not called" 2 -x LD_PRELOAD="$forms" -x FORM=nonblocking counters used
  fi
  if [ "$length" = --full ]; then mpi "big" 0 '^ok$|skipped' 2 big; fi
}

# --- the tests must be able to fail

# negative_control HOW RANKS OPTION PROGRAM [argument...]
negative_control() {
  how=$1 broken_ranks=$2
  shift 2
  wrong "control: $how is noticed by $2" "$broken_ranks" -x LD_PRELOAD="$broken" -x BROKEN="$how" "$@"
}
controls() {
  # Stock mpirun, stock component: what is broken is known. The second argument is an option that changes nothing.
  for program in reductions user_operations same_bits communicators barrier threads many_collectives; do
    negative_control bit 3 --oversubscribe $program
  done
  negative_control bit 3 --oversubscribe allgathers
  for program in reductions user_operations; do
    negative_control block 3 --oversubscribe $program
    negative_control prefix 3 --oversubscribe $program
  done
  negative_control bit 3 --oversubscribe alltoalls
  negative_control swapped 3 --oversubscribe neighbours
  negative_control bit 3 --oversubscribe gathers
  for how in scatter scatterv gatherv allgatherv; do negative_control $how 3 --oversubscribe gathers; done
  for how in neighbor_allgather neighbor_allgatherv neighbor_alltoallv neighbor_alltoallw; do
    negative_control $how 3 --oversubscribe neighbours
  done
  negative_control order 3 --oversubscribe user_operations
  negative_control early 3 --oversubscribe barrier
  negative_control spill 2 --oversubscribe broadcasts
  negative_control spill 2 --oversubscribe lengths
  negative_control stale 3 --oversubscribe broadcasts
  negative_control stale 3 --oversubscribe barrier
  negative_control source 2 --oversubscribe reductions
  negative_control source 2 --oversubscribe user_operations
  negative_control leak 2 --oversubscribe communicators
  wrong "control: other bits are noticed by same_bits" 5 same_bits  # tuned's order depends on length and root
  wrong "control: other bits are noticed by first_calls" 5 first_calls
  check "control: a barrier that stops everything is noticed by progress" 0 '' sh -c 'timeout 5 "$@"; test $? -eq 124' - \
    mpirun -n 2 -x LD_PRELOAD="$broken" -x BROKEN=stuck progress
  wrong "control: counters notice that nothing is served" 2 counters used
}

wanted() { case " $parts " in *" $1 "*) ;; *) return 1 ;; esac; }

# Jobs that are ended by force leave Open MPI's own shared memory behind: where it is removed with everything else.
export OMPI_MCA_btl_vader_backing_directory="$scratch/session"
if [ "$length" = --random ]; then . "$here/random.sh"; elif wanted programs; then controls; fi
unset OMPI_MCA_btl_vader_backing_directory
if [ "$component" = stock ]; then
  if [ "$length" = --random ]; then random_programs; else every_program; fi
else
  with_component
  if [ "$length" = --random ]; then
    random_programs --order --smelt
    summary
    exit
  fi
  if wanted programs; then every_program; fi
  for part in settings loose_strict lives placement canary failures kills; do
    if wanted $part; then . "$here/$part.sh"; fi
  done
fi
summary
