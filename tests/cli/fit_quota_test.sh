#!/bin/sh
# smelt run --fit in control groups with real quotas. Needs root and a hierarchy that it may write to; else it is skipped.
#   fit_quota_test.sh SMELT PROGRAM   (an OpenMP program, without one: what needs it is left out)
set -u
smelt=$1 meeting=${2-} failed=0
. "$(dirname "$0")/../control_group.sh"
cpus=$(nproc)
# expect QUOTA_US THREADS: in a group with that quota per 100 ms.
expect() {
  limit "$1" || { echo "FAIL: the quota $1 cannot be set"; failed=1; return; }
  got=$(in_group "$smelt" run --fit -- sh -c 'echo $OMP_NUM_THREADS' 2>&1 | tail -n 1)
  if [ "$got" = "$2" ]; then echo "ok: $1 us of 100000: $got"; else echo "FAIL: $1 us of 100000: $got threads, not $2"; failed=1; fi
}
expect 50000 1
expect 100000 1
expect 140000 1
if [ "$cpus" -ge 2 ]; then expect 150000 2; expect 190000 2; expect 200000 2; fi
expect 100000000 "$cpus"

# Who has decided how many threads there are: env, config and try say it, of --fit, of a setting, and of the quota alone.
says() {  # EXPECTED COMMAND...
  expected=$1; shift
  got=$(in_group "$@" 2>&1)
  case $got in *"$expected"*) echo "ok: $expected" ;; *) echo "FAIL: $*: no '$expected' in: $got"; failed=1 ;; esac
}
unset SMELT_FIT OMP_NUM_THREADS OMP_THREAD_LIMIT
if [ "$cpus" -ge 2 ]; then
  limit 100000
  team="teams of 1 thread: the quota pays for 1.00 CPUs of $cpus"
  says ": 'threads: by default, $team; SMELT_FIT=0: as without Smelt';" "$smelt" env
  says "# threads: by default, $team" "$smelt" env --format file
  says ": 'threads: by --fit';" "$smelt" env --fit
  says ": 'threads: by SMELT_FIT=1';" env SMELT_FIT=1 "$smelt" env
  says "smelt: SMELT_FIT=1: 1 thread" env SMELT_FIT=1 "$smelt" env
  says "    here: $team" "$smelt" config
  # With one thread nothing can be served, and yet there is something to gain: try goes on to measure it.
  if [ -n "$meeting" ]; then
    says "$team (SMELT_FIT=0: of $cpus)" "$smelt" run --verbose -- "$meeting" 1 all
    says "not settled" "$smelt" try --quiet --pairs 1 -- "$meeting" 1 all
    says "nothing to gain" "$smelt" try --quiet --pairs 1 -- true
  fi
  for off in SMELT_FIT=0 OMP_NUM_THREADS=2 SMELT_OPENMP=off; do
    got=$(in_group env "$off" "$smelt" env)
    case $got in *threads:*) echo "FAIL: env, $off: $got"; failed=1 ;; *) echo "ok: env, $off: nothing" ;; esac
  done
fi
exit $failed
