#!/bin/sh
# smelt run --fit in control groups with real quotas. Needs root and a hierarchy that it may write to; else it is skipped.
#   fit_quota_test.sh SMELT
set -u
smelt=$1 failed=0
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
exit $failed
