#!/bin/bash
# smelt env and smelt env --off in real shells: in a session, in the hooks of a conda environment, and in a virtual environment of
# Python. Off puts everything back, and what the user preloads stays, whether it came before Smelt or after. A shell that is not here
# is left out.
#
#   switch_test.sh SMELT SOURCE_ROOT
smelt=$(realpath "$1") page=$(realpath "$2")/docs/containers.md failed=0 count=0
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch" || exit 1
export PATH=${smelt%/*}:$PATH HOME=$scratch
unset LD_PRELOAD OMP_NUM_THREADS OMP_PLACES SMELT_FIT SMELT_PRIORITY ${!OMPI_@} ${!PMIX_@} ${!_SMELT_@}
fail() { echo "FAIL: $*"; failed=$((failed + 1)); }

# Libraries that a user may preload; these are harmless.
mine=libc.so.6 later=libm.so.6
shims=$(smelt env --json | sed -n 's/.*"LD_PRELOAD": "\(.*\)".*/\1/p')
component=$(smelt env --json | sed -n 's/.*component_path": "\([^:]*\):.*/\1/p')
[ -n "$shims" ] || { echo "FAIL: smelt env names no shim"; exit 1; }
paths=${component:+$component:}SYSTEM_DEFAULT:USER_DEFAULT
[ -n "$component" ] && priority=90 || { paths=none priority=none; }

# Run by any shell as a program: what its children see, and what the script has left behind.
cat >show <<'END'
#!/bin/sh
echo "$1: ${LD_PRELOAD-none} ${OMPI_MCA_mca_base_component_path-none} ${OMPI_MCA_coll_smelt_priority-none} ${OMP_NUM_THREADS-none}" \
  $(env | grep -i '^_*smelt_' | cut -d= -f1)
END
chmod +x show

# says SHELL NAME LINES SCRIPT: the script's only output is those lines.
says() {
  local said set='set -eu; set_() { export "$1=$2"; }; '
  case $1 in
    bash) said=$(bash --norc -c "$set$4" 2>&1) ;;
    zsh) said=$(zsh -f -c "$set$4" 2>&1) ;;
    fish) said=$(fish --no-config -c "$4" 2>&1) ;;
    *) said=$($1 -c "$set$4" 2>&1) ;;
  esac
  count=$((count + 1))
  [ "$said" = "$3" ] && return
  fail "$1, $2:"
  diff <(echo "$3") <(echo "$said")
}

on="$shims $paths $priority"
in_session() {  # SHELL ON OFF SET: SET makes an exported variable
  local shell=$1 on_=$2 off_=$3 set=$4
  says $shell "on and off" "a: $on none
b: none none none none" "$on_; ./show a; $off_; ./show b"
  says $shell "on twice, off twice" "a: $on none
b: none none none none" "$on_; $on_; ./show a; $off_; $off_; ./show b"
  says $shell "off alone" "a: $mine none none none" "$set LD_PRELOAD $mine; $off_; ./show a"
  says $shell "the user's own preload before and after" "a: $shims:$mine $paths $priority none
b: $mine:$later none none none" "$set LD_PRELOAD $mine; $on_; ./show a; $set LD_PRELOAD \"\$LD_PRELOAD\":$later; $off_; ./show b"
  says $shell "the user's in front, by a blank" "a: $mine none none none" "$on_; $set LD_PRELOAD \"$mine \$LD_PRELOAD\"; $off_; ./show a"
  [ -z "$component" ] ||
    says $shell "the user's folder and priority" "a: $shims $component:/own 40 none
b: none /own 40 none" "$set OMPI_MCA_coll_smelt_priority 40; $set OMPI_MCA_mca_base_component_path /own; $on_; ./show a; $off_; ./show b"
}
with_fit() {  # SHELL ON OFF SET: 1 thread is what a mask of one CPU leaves
  local shell=$1 on_=$2 off_=$3 set=$4
  says $shell "--fit, put back" "a: none none none 7" "$set OMP_NUM_THREADS 7; $on_; $on_; $off_; ./show a"
  says $shell "--fit, unset again" "a: none none none none" "$on_; $off_; ./show a"
  says $shell "--fit, and the user's since" "a: none none none 5" "$on_; $set OMP_NUM_THREADS 5; $off_; ./show a"
}
one_cpu="taskset -c $(taskset -cp $$ | sed 's/.*: *//; s/[-,].*//')"

# By the lines of the page, which begin with cd "$VARIABLE and end with a blank line or the block.
from_page() { (eval "set -eu; $(sed -n "/^cd \"\$$1/,/^\(\`\`\`\)*$/{/^[\`]*$/d;p}" "$page")") || fail "the page's lines for $1"; }
# A conda environment as conda lays it out and runs it: the hooks that end with the shell's name or sh.
mkdir -p conda/etc/conda
CONDA_PREFIX=conda from_page CONDA_PREFIX
smelt env --format fish >conda/etc/conda/activate.d/smelt.fish
smelt env --off --format fish >conda/etc/conda/deactivate.d/smelt.fish
python3 -m venv --without-pip venv >/dev/null 2>&1 && has_venv=yes || { has_venv=; echo "venv: not here"; }
if [ "$has_venv" ]; then
  VIRTUAL_ENV=venv from_page VIRTUAL_ENV
  smelt env --off --format fish | sed -i '/^function deactivate/r /dev/stdin' venv/bin/activate.fish
  smelt env --format fish >>venv/bin/activate.fish
fi
in_environment() {  # SHELL KIND ACTIVATE DEACTIVATE SET
  says $1 "$2, on and off, twice" "a: $on none
b: none none none none
c: none none none none" "$3; ./show a; $4; ./show b; $3; $4; ./show c"
  says $1 "$2, the user's own preload before and after" "a: $shims:$mine $paths $priority none
b: $mine:$later none none none" "$5 LD_PRELOAD $mine; $3; ./show a; $5 LD_PRELOAD \"\$LD_PRELOAD\":$later; $4; ./show b"
  says $1 "$2, the user's own preload in place of all" "a: $later ${paths/none/none} $priority none
b: $later none none none" "$3; $5 LD_PRELOAD $later; ./show a; $4; ./show b"
  says $1 "$2, activated once more" "a: $on none
b: none none none none" "$3; $3; ./show a; $4; ./show b"
}

for shell in bash dash zsh fish; do
  if ! command -v $shell >/dev/null; then
    echo "$shell: not here"
    continue
  fi
  count=0
  if [ $shell = fish ]; then
    set='set -gx' on_='smelt env --format fish | source' off_='smelt env --off --format fish | source'
    fit="$one_cpu smelt env --fit --format fish 2>/dev/null | source" hooks=fish
    activate='source venv/bin/activate.fish'
  else
    set='set_' on_='eval "$(smelt env)"' off_='eval "$(smelt env --off)"' hooks=sh
    activate='set +u; . venv/bin/activate'  # Python's own lines use variables that are not set
    fit="eval \"\$($one_cpu smelt env --fit 2>/dev/null)\""
  fi
  in_session $shell "$on_" "$off_" "$set"
  with_fit $shell "$fit" "$off_" "$set"
  in_environment $shell conda ". conda/etc/conda/activate.d/smelt.$hooks" ". conda/etc/conda/deactivate.d/smelt.$hooks" "$set"
  [ -z "$has_venv" ] || in_environment $shell venv "$activate" deactivate "$set"
  echo "$shell: $count scripts"
done

# The test can fail: off that forgets a library.
smelt env --off | sed 's,[^ ]*libsmelt_kmp[^ ]*;,;,' >forgetful
(failed=0; says bash control "a: none none none none" 'eval "$(smelt env)"; . ./forgetful; ./show a'; [ $failed -gt 0 ]) >/dev/null ||
  fail control
[ $failed -eq 0 ]
