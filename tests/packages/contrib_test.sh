#!/bin/bash
# What lies under contrib/, as far as it can be checked where nobody runs Slurm, Spack or Lmod: syntax by each one's own
# tool, and what it does with the rest of the world pretended. Where a tool is missing its part is skipped, with a line.
#   contrib_test.sh SOURCE_ROOT SMELT
set -u
smelt=$(realpath "$2")
cd "$1/contrib" || exit 1
scratch=$(mktemp -d) || exit 1
trap 'rm -rf "$scratch"' EXIT
unset LD_PRELOAD OMPI_MCA_mca_base_component_path OMPI_MCA_coll_smelt_priority SMELT_PRIORITY SMELT_LIBDIR
export XDG_CACHE_HOME=$scratch/cache  # no profile
output=$scratch/output
failed=0 passed=0 skipped=0

ok() { echo "ok: $1"; passed=$((passed + 1)); }
fail() { echo "FAIL: $1"; [ ! -s "$output" ] || sed 's/^/    /' "$output" | head -n 20; failed=$((failed + 1)); }
# check NAME COMMAND...: it succeeds. refuse NAME COMMAND...: it fails; after a check: that can fail.
check() { local name=$1; shift; if "$@" >"$output" 2>&1; then ok "$name"; else fail "$name"; fi; }
refuse() { local name=$1; shift; if "$@" >"$output" 2>&1; then fail "$name"; else ok "$name"; fi; }
# tool WHAT NAME...: the first of these that is here, in $tool; or a line.
tool() {
  local what=$1 name
  shift
  for name in "$@"; do command -v "$name" >/dev/null && { tool=$name; return 0; }; done
  echo "skip: $what: there is no $1"
  skipped=$((skipped + 1))
  return 1
}
# broken FILE: a copy that no parser may take.
broken() { sed '$ d' "$1" | sed '$ s/$/ ( {/' >"$scratch/broken"; echo "$scratch/broken"; }
version=$(sed -n "s/^  version: '\(.*\)',$/\1/p" ../meson.build)

# --- environment modules: Lmod's, and in Tcl
libdir=$scratch/lib/x86_64-linux-gnu/smelt
mkdir -p "$libdir/openmpi"
if tool modules/smelt.lua luac luac5.4 luac5.3 luac5.1; then
  check "modules/smelt.lua: luac -p" "$tool" -p modules/smelt.lua
  refuse "... which can fail" "$tool" -p "$(broken modules/smelt.lua)"
fi
if tool "running modules/smelt.lua" lua lua5.4 lua5.3 lua5.1; then
  cat >"$scratch/run.lua" <<'LMOD'
function pathJoin(...) return (table.concat({...}, "/"):gsub("//+", "/")) end
function whatis() end
function help() end
function isDir(path) return os.execute("test -d " .. path) and true end
function prepend_path(name, value) print("prepend " .. name .. " " .. value) end
function setenv(name, value) print("set " .. name .. " " .. value) end
LMOD
  sed "s,^local prefix = .*,local prefix = \"$scratch\"," modules/smelt.lua >>"$scratch/run.lua"
  check "modules/smelt.lua, Lmod pretended" sh -c '"$1" "$2" | sed "s/ *$//" >"$3" && [ -s "$3" ]' - \
    "$tool" "$scratch/run.lua" "$scratch/set.lua"
fi
if tool modules/smelt.tcl tclsh; then
  cat >"$scratch/run.tcl" <<'MODULES'
proc module-whatis args {}
proc prepend-path {name value} {puts "prepend $name $value"}
proc setenv {name value} {puts "set $name $value"}
MODULES
  sed "s,^set prefix .*,set prefix $scratch," modules/smelt.tcl >>"$scratch/run.tcl"
  check "modules/smelt.tcl, the module command pretended" sh -c '"$1" "$2" | sed "s/ *$//" >"$3" && [ -s "$3" ]' - \
    "$tool" "$scratch/run.tcl" "$scratch/set.tcl"
  refuse "... which can fail" "$tool" "$(broken "$scratch/run.tcl")"
  cp "$scratch/set.tcl" "$output"
  if grep -qx "prepend LD_PRELOAD $libdir/libsmelt_gomp.so" "$output" &&
    grep -qx 'set OMPI_MCA_coll_smelt_priority 90' "$output"; then
    ok "... preloads the shim, switches the component on"
  else
    fail "... preloads the shim, switches the component on"
  fi
  [ ! -s "$scratch/set.lua" ] || check "both modules do the same" diff "$scratch/set.lua" "$scratch/set.tcl"
fi
for module in modules/smelt.lua modules/smelt.tcl; do
  check "$module names this version" grep -q "smelt/$version" $module
done

# --- systemd's units
if tool systemd/ systemd-analyze; then
  mkdir "$scratch/units" && cp systemd/* "$scratch/units"
  unit=$scratch/units/smelt-calibrate.service
  sed -i "s,/usr/bin/smelt,$smelt,g" "$unit"  # what a unit starts must be there
  remarks=$scratch/remarks
  check "systemd/: systemd-analyze verify" sh -c 'systemd-analyze verify --man=no "$1" "$2" >"$3" 2>&1' - \
    "$unit" "${unit%service}timer" "$remarks"
  check "... without a remark" diff /dev/null "$remarks"
  sed 's/^Type=oneshot/Tipe=oneshot/' "$unit" >"$scratch/units/other.service"
  systemd-analyze verify --man=no "$scratch/units/other.service" >"$remarks" 2>&1
  check "... of which there can be some" grep -q Tipe "$remarks"
fi
# The two conditions, run as systemd would: lines are joined, "$$" is "$".
conditions=$(sed -e ':a' -e '/\\$/N; s/\\\n *//; ta' systemd/smelt-calibrate.service |
  sed -n 's/^ExecCondition=//p' | sed 's/\$\$/$/g')
profiles=$(echo "$conditions" | sed -n 1p | sed 's,/usr/bin/smelt,$SMELT,')
idle=$(echo "$conditions" | sed -n 2p | sed "s,/proc/loadavg,$scratch/load,")
printf '#!/bin/sh\nexit "$ANSWER"\n' >"$scratch/pretended" && chmod +x "$scratch/pretended"
export SMELT="$scratch/pretended"
check "systemd/: there is no profile: go on" env ANSWER=1 sh -c "$profiles"
refuse "... there is one: not now" env ANSWER=0 sh -c "$profiles"
echo "0.00 0.00 0.00 1/100 1" >"$scratch/load"
check "systemd/: an idle machine: go on" sh -c "$idle"
echo "9000.00 9.00 9.00 1/100 1" >"$scratch/load"
refuse "... a busy one: not now" sh -c "$idle"

# --- Slurm's scripts
for script in slurm/*.sh; do
  check "$script: sh -n" sh -n "$script"
  refuse "... which can fail" sh -n "$(broken "$script")"
  check "$script can be executed" [ -x "$script" ]
done
mkdir "$scratch/bin"
for name in logger scontrol; do
  printf '#!/bin/sh\necho "%s $*" >>"%s"\n' $name "$scratch/said" >"$scratch/bin/$name" && chmod +x "$scratch/bin/$name"
done
# prologue ANSWER [NAME=VALUE...]: where smelt gives that answer. It succeeds and prints nothing; what it said otherwise
# is in $scratch/said.
prologue() {
  local answer=$1
  shift
  : >"$scratch/said"
  sed "s,/run/smelt-prolog,$scratch/marker," slurm/smelt-prolog.sh >"$scratch/prolog.sh"
  env ANSWER="$answer" SMELT="$scratch/pretended" PATH="$scratch/bin:$PATH" "$@" \
    sh "$scratch/prolog.sh" >"$output" 2>&1 || return 1
  [ ! -s "$output" ] || return 1
  cp "$scratch/said" "$output"
}
says() { local pattern=$1; shift; prologue "$@" && grep -q "$pattern" "$scratch/said"; }
silent() { prologue "$@" && [ ! -s "$scratch/said" ]; }
draining="SMELT_DRAIN=yes SLURMD_NODENAME=node7"
check "slurm/smelt-prolog.sh: a profile: nothing" silent 0
check "... none: to the log" says '^logger .*smelt calibrate' 1
check "... and not twice" silent 1
check "... and drains, where that is wanted" says '^scontrol update NodeName=node7 State=DRAIN' 1 $draining
check "... but not for a profile" silent 0 $draining
check "... nor where smelt does not run" silent 127 $draining
check "... nor where there is none" silent 1 SMELT=/nowhere/smelt $draining

# Less than 50 ms. The clock of a loaded machine says nothing: the CPU time counts, the least of five.
least=$(for i in 1 2 3 4 5; do
  bash -c 'TIMEFORMAT="%U %S"; time "$1" profile verify --system --quiet' - "$smelt" 2>&1 |
    tail -n 1 | awk '{ print ($1 + $2) * 1000 }'
done | sort -n | head -n 1)
"$smelt" profile verify --system --quiet
check "smelt profile verify answers" [ $? -le 1 ]
check "... in $least ms of CPU time" awk -v ms="$least" 'BEGIN { exit !(ms < 50) }'

tasks() { env -i PATH="$PATH" "$@" sh slurm/smelt-task-prolog.sh 2>/dev/null; }
: >"$libdir/libsmelt_gomp.so"
: >"$libdir/libsmelt_kmp.so"
check "slurm/smelt-task-prolog.sh: unasked, nothing" [ -z "$(tasks SMELT_LIBDIR="$libdir")" ]
check "... asked where there is none, nothing" [ -z "$(tasks SMELT=on SMELT_LIBDIR=/nowhere)" ]
asked=$(tasks SMELT=on SMELT_LIBDIR="$libdir" LD_PRELOAD=other.so)
check "... asked, the shims, and what was there" \
  grep -qx "export LD_PRELOAD=$libdir/libsmelt_gomp.so:$libdir/libsmelt_kmp.so:other.so" <<<"$asked"
check "... and Open MPI's component" grep -qx 'export OMPI_MCA_coll_smelt_priority=90' <<<"$asked"

# --- the recipes: of Spack, conda, and the Containerfile
check "recipes/make.py --check" recipes/make.py --check
mkdir -p "$scratch/release/contrib" && cp -r recipes spack conda container "$scratch/release/contrib" && cp ../meson.build "$scratch/release"
echo tarball >"$scratch/smelt-$version.tar.xz"
check "recipes/make.py --release" "$scratch/release/contrib/recipes/make.py" --release "$scratch/made" \
  "https://smelt.example/smelt-$version.tar.xz" "$scratch/smelt-$version.tar.xz"
check "... with the tarball's checksum" sh -c 'grep -q "$1" "$2/conda/meta.yaml" && grep -q "$1" "$2/spack/packages/smelt/package.py"' - \
  "$(sha256sum <"$scratch/smelt-$version.tar.xz" | cut -d ' ' -f 1)" "$scratch/made"
sed -i 's/libfmt10/libfmt99/' "$scratch/release/contrib/recipes/facts.toml"
refuse "recipes/make.py --check, of other facts" "$scratch/release/contrib/recipes/make.py" --check
# conda's: YAML once its placeholders are filled in; its first command does what it should, beside the source, where the libraries are.
if tool "conda/meta.yaml as YAML" python3 && python3 -c 'import yaml' 2>/dev/null; then
  sed 's/{{[^}]*}}/placeholder/' conda/meta.yaml >"$scratch/meta.yaml"
  check "conda/meta.yaml" python3 - "$scratch/meta.yaml" "$version" "$scratch/conda.sh" <<'YAML'
import sys, yaml
recipe = yaml.safe_load(open(sys.argv[1]))
assert recipe['package'] == {'name': 'smelt', 'version': sys.argv[2]}, recipe['package']
assert {'ninja', 'meson >=1.0'} <= set(recipe['requirements']['build']) and 'fmt' in recipe['requirements']['host'], recipe
assert len(recipe['test']['commands']) == 3
open(sys.argv[3], 'w').write(recipe['build']['script'][0].replace('meson setup build', 'meson setup "$BUILD"') + '\n')
YAML
  check "... its first command, in conda's environment" env PREFIX="$scratch/prefix" BUILD="$scratch/conda" sh -c 'cd .. && . "$1"' - "$scratch/conda.sh"
  check "... gives it conda's prefix" grep -qF "$scratch/prefix/lib" "$scratch/conda/smelt_config.h"
fi

# --- Spack's recipe
if tool spack/ python3; then
  recipe=spack/packages/smelt/package.py
  check "$recipe compiles" python3 -c 'import sys; compile(open(sys.argv[1]).read(), sys.argv[1], "exec")' $recipe
  # What it depends on and what it gives meson, each way.
  cat >"$scratch/recipe.py" <<'PRETENDED'
import re, sys, types

said = []
module = types.ModuleType('spack.package')
module.MesonPackage = type('MesonPackage', (), {})
for name in ('license', 'version', 'variant', 'depends_on', 'conflicts'):
    setattr(module, name, lambda *args, name=name, **how: said.append((name, args[0])))
module.join_path = lambda *parts: '/'.join(parts)
sys.modules['spack'] = types.ModuleType('spack')
sys.modules['spack.package'] = module
names = {}
exec(compile(open(sys.argv[1]).read(), sys.argv[1], 'exec'), names)
options = set(re.findall(r"option\('(\w+)'", open(sys.argv[2]).read()))
package = names['Smelt']()
for variants in ('+cli+rails+mpi', ''):
    package.spec = variants
    given = package.meson_args()
    assert all(one[2:].split('=')[0] in options | {'libdir'} for one in given), given
    for part in ('cli', 'mpi', 'rails'):
        assert f"-D{part}={'enabled' if '+' + part in variants else 'disabled'}" in given, given
assert ('version', sys.argv[3]) in said, said
assert {'hwloc@2.5:', 'fmt', 'nlohmann-json', 'cli11'} <= {what for name, what in said if name == 'depends_on'}


class Environment:
    def set(self, name, value):
        said.append((name, value))


package.spec, package.prefix = '+mpi', types.SimpleNamespace(lib='/opt/lib')
package.setup_run_environment(Environment())
assert ('OMPI_MCA_mca_base_component_path', '/opt/lib/smelt/openmpi:SYSTEM_DEFAULT:USER_DEFAULT') in said, said[-1]
PRETENDED
  check "... and runs, Spack pretended" python3 "$scratch/recipe.py" $recipe ../meson_options.txt "$version"
  refuse "... which can fail" python3 "$scratch/recipe.py" $recipe ../meson_options.txt 9.9.9
fi

# --- the places of an installation elsewhere
for file in modules/smelt.lua modules/smelt.tcl systemd/smelt-calibrate.service slurm/smelt-prolog.sh slurm/smelt-task-prolog.sh; do
  ./with_places.sh $file /opt/s /opt/s/bin /opt/s/lib64 >"$output"
  check "$file: its places are given" [ "$(diff $file "$output" | grep -c '^> .*/opt/s')" -ge 1 ]
  refuse "$file: none of Debian's is left" grep -E '(local|set) (prefix|libdir)\b.*/usr|/usr/bin/smelt|\{SMELT:-smelt\}' "$output"
done

echo "$passed passed, $failed failed, $skipped skipped"
[ $failed -eq 0 ]
