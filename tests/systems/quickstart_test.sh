#!/bin/sh
# ./quickstart's front, in seconds: a copy of it where apt-get, sudo, meson, ninja and what is built are pretended. What it does to a real
# machine is the other tests' subject (systems_test.sh).
#   quickstart_test.sh SOURCE_ROOT
set -eu
source=$(cd "$1" && pwd)
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
fail() { echo "FAIL: $*"; cat "$place/output"; exit 1; }
mkdir -p "$place/bin" "$place/smelt/build" "$place/programs"
cp -r "$source/quickstart" "$source/.ci" "$place/smelt"
cd "$place/smelt"
export PLACE="$place" PATH="$place/bin:/usr/bin:/bin" SUDO_UID=

pretend() { # NAME, and what it does
  printf '#!/bin/sh\necho "%s $*" >>"$PLACE/calls"\n%s\n' "$1" "$2" >"$place/bin/$1"
  chmod +x "$place/bin/$1"
}
pretend id 'echo 1000'
pretend dpkg-query 'exit 1'
pretend sudo 'shift; exit 0'
pretend mpirun 'exit 0'
pretend c++ 'echo some-linux-gnu'
pretend meson 'mkdir -p build/core build/epcc build/meson-logs
  echo "Message: there are no rails" >build/meson-logs/meson-log.txt
  for program in core/smelt epcc/compare; do printf "#!/bin/sh\necho did $program \$*\n" >build/$program; chmod +x build/$program; done
  : >build/build.ninja'
pretend ninja 'for n in $(seq 40); do echo "[$n of 40] Compiling"; done'
pretend pkg-config '[ -e "$PLACE/smelt/build-needs/usr" ]'
pretend apt-get 'for word; do case $word in download) : >one.deb ;; install) echo "Inst one (1 Debian)" ;; esac; done'
pretend dpkg-deb 'mkdir -p "$3/usr/lib/some-linux-gnu"'
# runs it as given; what it prints is in output, what it called in calls
run() { : >"$place/calls"; ./quickstart "$@" >"$place/output" 2>&1; }
says() { grep -q -- "$1" "$place/output" || fail "it does not say: $1"; }
called() { grep -q -- "$1" "$place/calls"; }

run --help || fail "--help"
says '^usage: ./quickstart'
says 'about 2 minutes'
[ ! -s "$place/calls" ] || fail "--help does something"
! run --nonsense || fail "--nonsense is taken"
[ "$(wc -l <"$place/output")" -eq 1 ] || fail "--nonsense: more than a line"
says '^quickstart: there is no --nonsense; see ./quickstart --help$'
pretend id 'echo 0'
! SUDO_UID=1000 run || fail "it runs under sudo"
says 'as yourself, without sudo'
! called meson || fail "under sudo it builds"
pretend id 'echo 1000'

# Installing is all that is asked of sudo; without a terminal there is a line for each tenth of the build.
run || fail "./quickstart"
says '^== this takes about 2 minutes'
says '^== installing gcc g++ meson'
[ "$(grep '^sudo' "$place/calls" | sed 's/sudo \(env [^ ]* \)*//' | cut -d ' ' -f 1,2)" = 'apt-get update
apt-get install' ] || { cat "$place/calls"; fail "what it asks of sudo"; }
[ "$(grep -c '^  [0-9]* of 40$' "$place/output")" -eq 10 ] || fail "its progress"
says '^  there are no rails'
says 'did core/smelt calibrate'
says 'did epcc/compare'
tail -n 5 "$place/output" | grep -q "smelt try -- ./your_program" || fail "its end"
run || fail "again"
says '^== this takes about a minute'

# --local: nothing is installed, and nobody is asked for anything.
rm -rf build && mkdir build
run --local || fail "--local"
! called '^sudo' || fail "--local asks sudo"
says '^== unpacking below build-needs: libhwloc-dev libfmt-dev nlohmann-json3-dev libcli11-dev$'
called "^dpkg-deb -x one.deb $place/smelt/build-needs$" || fail "--local unpacks nothing"
says 'did core/smelt calibrate'
run --local || fail "--local again"
! called '^apt-get' || fail "--local fetches again"
# Without apt one line says what is missing, and one how to get it.
rm -rf build-needs "$place/bin/apt-get"
mkdir "$place/tools"
for tool in sh cat sed grep cut dirname mktemp rm mkdir pwd uname seq tee ln; do ln -s "$(command -v $tool)" "$place/tools/"; done
! PATH="$place/bin:$place/tools" run --local || fail "--local without apt"
says '^missing: libhwloc-dev libfmt-dev nlohmann-json3-dev libcli11-dev$'
says '^without root and apt: conda create -p '
