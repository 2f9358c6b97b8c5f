#!/bin/sh
# Every setting is read by those whom its row in options.def names, and by nobody else: a setting that is offered and does nothing
# misleads whoever tunes with it.
#   settings_test.sh SOURCE_ROOT
# A setting is read where options() is asked for it, where the component asks for it by name, or through a threshold that names it in
# thresholds.def. That participants compare their settings (settings_hash) is not a use.
set -u
root=$(cd "$1" && pwd) || exit 1

threads='gomp_shim/*.cc kmp_shim/*.cc core/openmp/*.cc core/team/*.cc core/policy/wait.cc'
processes='ompi_coll_smelt/*.c rails/nodes/*.c core/group/*.cc core/policy/limits.cc core/policy/long_copy.cc core/include/smelt/collectives.def'
everybody='core/profile/profile.cc core/base/stats_file.cc core/cli/launch_plan.cc'

# text FILE...: without what does not count.
text() { cat "$@" | sed '/^uint64_t settings_hash/,/^}/d; s|//.*||'; }
asks() { grep -Eq "options\(\)\.$id([^a-z_]|\$)|settings\.$id([^a-z_]|\$)|coll_smelt_setting\(\"$name\""; }
# reads FILE...: do these read the setting $id, $name?
reads() {
  text "$@" | asks && return 0
  text core/policy/thresholds.cc | asks || return 1
  for threshold in $(sed -n "s/^THRESHOLD(\(k[A-Za-z]*\),.*\"$name\".*/\1/p" core/policy/thresholds.def); do
    text "$@" | grep -Eq "(ThresholdId::|^SMELT_COLLECTIVE\(.*, )$threshold([^A-Za-z]|\$)" && return 0
  done
  return 1
}

# check_all SOURCE_ROOT: one line per setting whose row is wrong; how many there are is the exit status, 100 where no row was found.
check_all() (
  cd "$1" || exit 100
  wrong=0 rows=0
  while read -r id name scope; do
    rows=$((rows + 1)) found=
    reads $threads $everybody && found=THREADS
    if reads $processes $everybody; then
      if [ -n "$found" ]; then found=BOTH; else found=PROCESSES; fi
    fi
    [ "$found" = "$scope" ] || { echo "$name is $scope, but read by ${found:-NOBODY}"; wrong=$((wrong + 1)); }
  done <<ROWS
$(sed -n '/^SWITCHES/d; s/^[A-Z]*(\([a-z_]*\), "\(SMELT_[A-Za-z_=]*\)", \([A-Z]*\),.*/\1 \2 \3/p
  s/^SWITCH(\([a-z_]*\), "\(-[a-z]*\)",.*/\1 SMELT_OPENMP=\2 THREADS/p' core/base/options.def)
ROWS
  [ "$rows" -ge 10 ] || { echo "only $rows settings found in $1"; exit 100; }
  exit "$wrong"
)

failed=0
check_all "$root" || failed=1

# The test must be able to fail. control NAME EXPECTED_LINE FILE SED_SCRIPT: a copy of the source with one thing wrong.
scratch=$(mktemp -d) || exit 1
trap 'rm -rf "$scratch"' EXIT
mkdir "$scratch/core"
cp -r "$root/core/base" "$root/core/profile" "$root/core/policy" "$root/core/team" "$root/core/group" "$root/core/openmp" "$root/core/include" \
  "$scratch/core"
mkdir "$scratch/core/cli" && cp "$root/core/cli/launch_plan.cc" "$scratch/core/cli"
mkdir "$scratch/rails" && cp -r "$root/rails/nodes" "$scratch/rails"
cp -r "$root/gomp_shim" "$root/kmp_shim" "$root/ompi_coll_smelt" "$scratch"
control() {
  cp "$scratch/$3" "$scratch/kept"
  sed -i "$4" "$scratch/$3"
  if [ "$(check_all "$scratch")" = "$2" ]; then echo "ok: control: $1"; else echo "FAIL: control: $1"; failed=1; fi
  cp "$scratch/kept" "$scratch/$3"
}
control "a setting that nobody reads" "SMELT_IDLE is BOTH, but read by NOBODY" core/base/options.def \
  '$a BOOL(idle, "SMELT_IDLE", BOTH, false, "")'
control "a switch that nobody reads" "SMELT_OPENMP=-idle is THREADS, but read by NOBODY" core/base/options.def \
  '$a SWITCH(idle, "-idle", nullptr, nullptr)'
control "a setting that ranks are offered and do not read" "SMELT_TUNE=spin_us is BOTH, but read by THREADS" core/base/options.def \
  's/"SMELT_TUNE=spin_us", THREADS/"SMELT_TUNE=spin_us", BOTH/'
control "a setting that ranks read and are not offered" "SMELT_SHM_MB is THREADS, but read by PROCESSES" core/base/options.def \
  's/"SMELT_SHM_MB", PROCESSES/"SMELT_SHM_MB", THREADS/'
control "a threshold that no longer asks for its setting" "SMELT_TUNE=yield_us is THREADS, but read by NOBODY" core/policy/thresholds.cc \
  's/options().yield_us/-1/'
control "a threshold that nobody uses" "SMELT_TUNE=patience is PROCESSES, but read by NOBODY" ompi_coll_smelt/component.c \
  's/coll_smelt_setting("SMELT_TUNE=patience", NULL)/8/'
exit $failed
