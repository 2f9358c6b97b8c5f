# Sourced with $programs set: without programs that clang built there is nothing to test (meson.build says what is needed).
if [ ! -x "$programs/constructs" ]; then
  echo "skip: clang, or its OpenMP (Debian: clang, libomp-dev), is not installed"
  exit 77
fi

# right_under PATTERN NAME PROGRAM VARIABLES... -- CASE...   under the shim, with $under in the environment; a line matches
right_under() {
  match=$1 label=$2 program=$3
  shift 3
  settings=
  while [ "$1" != -- ]; do settings="$settings $1" && shift; done
  shift
  check_under "$label: $*" 0 "$match" $under $settings "$programs/$program" "$@"
  grep -qx ok "$output" || fails "$label: $* did not come to its end"
}
