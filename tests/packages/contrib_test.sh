#!/bin/bash
# What lies under contrib/, as far as it can be checked where nobody runs Slurm, Spack or Lmod: syntax by each one's own tool, and what it does with the
# rest of the world pretended. A tool that is not there is a skip of its part, with a line.
#   contrib_test.sh SOURCE_ROOT SMELT
set -u
cd "$1/contrib" || exit 1
smelt=$(realpath "$2")
scratch=$(mktemp -d) || exit 1
trap 'rm -rf "$scratch"' EXIT
failed=0 passed=0 skipped=0
ok() { echo "ok: $1"; passed=$((passed + 1)); }
fail() { echo "FAIL: $1"; [ ! -s "$scratch/out" ] || sed 's/^/    /' "$scratch/out" | head -n 20; failed=$((failed + 1)); }
# check NAME command...: it succeeds. refuse NAME command...: it fails, so the check before it can.
check() { local name=$1; shift; if "$@" >"$scratch/out" 2>&1; then ok "$name"; else fail "$name"; fi; }
refuse() { local name=$1; shift; if "$@" >"$scratch/out" 2>&1; then fail "$name"; else ok "$name"; fi; }
have() { command -v "$1" >/dev/null && return 0; echo "skip: there is no $1 ($2)"; skipped=$((skipped + 1)); return 1; }
# broken FILE: a copy without its last closing word, which no parser may take.
broken() { sed '$ d' "$1" | sed '$ s/$/ ( {/' >"$scratch/broken"; echo "$scratch/broken"; }
unset LD_PRELOAD OMPI_MCA_mca_base_component_path OMPI_MCA_coll_smelt_priority SMELT_PRIORITY SMELT_LIBDIR
version=$(sed -n "s/^  version: '\(.*\)',$/\1/p" ../meson.build)

# --- Lmod's module
luac=
for name in luac luac5.4 luac5.3 luac5.1; do command -v $name >/dev/null && luac=$name && break; done
if [ -n "$luac" ] || have luac "syntax of modules/smelt.lua"; then
  check "modules/smelt.lua: luac -p" $luac -p modules/smelt.lua
  refuse "... which can fail" $luac -p "$(broken modules/smelt.lua)"
fi
lua=
for name in lua lua5.4 lua5.3 lua5.1; do command -v $name >/dev/null && lua=$name && break; done
mkdir -p "$scratch/lib/x86_64-linux-gnu/smelt/openmpi"
if [ -n "$lua" ] || have lua "running modules/smelt.lua"; then
  # Lmod's functions, pretended.
  { echo 'function pathJoin(...) return (table.concat({...}, "/"):gsub("//+", "/")) end
    function whatis() end function help() end
    function isDir(path) return os.execute("test -d " .. path) and true end
    function prepend_path(name, value) print("prepend " .. name .. " " .. value) end
    function setenv(name, value) print("set " .. name .. " " .. value) end'
    sed "s,^local prefix = .*,local prefix = \"$scratch\"," modules/smelt.lua; } >"$scratch/run.lua"
  $lua "$scratch/run.lua" >"$scratch/set.lua" 2>&1 || fail "modules/smelt.lua, Lmod pretended: $(head -n 1 "$scratch/set.lua")"
fi

# --- Environment Modules'
if have tclsh "modules/smelt.tcl"; then
  { echo 'proc module-whatis args {}
    proc prepend-path {name value} {puts "prepend $name $value"}
    proc setenv {name value} {puts "set $name $value"}'
    sed "s,^set prefix .*,set prefix $scratch," modules/smelt.tcl
    echo 'ModulesHelp'; } >"$scratch/run.tcl"
  check "modules/smelt.tcl, modules pretended" sh -c 'tclsh "$1" 2>"$1.err" | tee "$2"; [ -s "$1.err" ] && [ -s "$2" ]' - "$scratch/run.tcl" "$scratch/set.tcl"
  grep -q "^prepend LD_PRELOAD $scratch/lib/x86_64-linux-gnu/smelt/libsmelt_gomp.so$" "$scratch/set.tcl" && grep -q '^set OMPI_MCA_coll_smelt_priority 90$' \
    "$scratch/set.tcl" && ok "... preloads the shim, switches the component on" || fail "modules/smelt.tcl preloads nothing"
  refuse "... which can fail" tclsh "$(broken "$scratch/run.tcl")"
  # Both say the same.
  if [ -s "$scratch/set.lua" ]; then
    check "both modules do the same" diff <(sed 's/ *$//' "$scratch/set.lua") <(sed 's/ *$//' "$scratch/set.tcl")
  fi
fi

# --- systemd's units
if have systemd-analyze "systemd/"; then
  mkdir "$scratch/units" && cp systemd/* "$scratch/units"
  # What a unit starts must be there, and it is installed elsewhere while this runs.
  sed -i "s,/usr/bin/smelt,$smelt,g" "$scratch/units/smelt-calibrate.service"
  check "systemd/: systemd-analyze verify" systemd-analyze verify --man=no "$scratch/units/smelt-calibrate.service" "$scratch/units/smelt-calibrate.timer"
  [ ! -s "$scratch/out" ] && ok "... without a remark" || fail "systemd-analyze verify has remarks"
  cp "$scratch/units/smelt-calibrate.service" "$scratch/units/other.service" && sed -i 's/^Type=oneshot/Tipe=oneshot/' "$scratch/units/other.service"
  systemd-analyze verify --man=no "$scratch/units/other.service" 2>&1 | grep -q Tipe && ok "... which can have some" || fail "control: systemd-analyze verify"
fi
# Its conditions, run as systemd would: "$$" is "$" there, and a backslash at the end of a line goes.
conditions=$(sed -e ':a' -e '/\\$/N; s/\\\n *//; ta' systemd/smelt-calibrate.service | sed -n 's/^ExecCondition=//p' | sed 's/\$\$/$/g')
profiles=$(echo "$conditions" | sed -n 1p | sed "s,/usr/bin/smelt,\$SMELT,")
idle=$(echo "$conditions" | sed -n 2p)
printf '#!/bin/sh\nexit "$ANSWER"\n' >"$scratch/pretended" && chmod +x "$scratch/pretended"
export SMELT="$scratch/pretended"
check "systemd/: no profile: go on" env ANSWER=1 sh -c "$profiles"
refuse "... one: do not" env ANSWER=0 sh -c "$profiles"
run_idle() { sh -c "$(echo "$idle" | sed "s,/proc/loadavg,$scratch/load,")"; }
echo "0.00 0.00 0.00 1/100 1" >"$scratch/load"
check "systemd/: an idle machine: go on" run_idle
echo "900.00 9.00 9.00 1/100 1" >"$scratch/load"
refuse "... a busy one: do not" run_idle

# --- Slurm's
for script in slurm/*.sh; do
  check "$script: sh -n" sh -n "$script"
  refuse "... which can fail" sh -n "$(broken "$script")"
  [ -x "$script" ] || fail "$script cannot be executed"
done
mkdir "$scratch/bin"
for name in logger scontrol; do printf '#!/bin/sh\necho "%s $*" >>"%s/said"\n' $name "$scratch" >"$scratch/bin/$name"; chmod +x "$scratch/bin/$name"; done
prolog() {  # ANSWER [NAME=VALUE...]: the prologue where smelt gives that answer; what it said is in $scratch/said
  local answer=$1
  shift
  rm -f "$scratch/said"
  sed "s,/run/smelt-prolog,$scratch/marker," slurm/smelt-prolog.sh >"$scratch/prolog.sh"
  env ANSWER="$answer" SMELT="$scratch/pretended" PATH="$scratch/bin:$PATH" "$@" sh "$scratch/prolog.sh" >"$scratch/out" 2>&1 && [ ! -s "$scratch/out" ]
}
prolog 0 && [ ! -e "$scratch/said" ] && ok "slurm/smelt-prolog.sh: a profile: nothing is said" || fail "prologue with a profile"
prolog 1 && grep -q '^logger .*smelt calibrate' "$scratch/said" && ok "... none: once to the log" || fail "prologue without a profile"
prolog 1 && [ ! -e "$scratch/said" ] && ok "... and not again" || fail "prologue says it again"
prolog 1 SMELT_DRAIN=yes SLURMD_NODENAME=node7 && grep -q '^scontrol update NodeName=node7 State=DRAIN' "$scratch/said" && ok "... SMELT_DRAIN=yes drains" ||
  fail "prologue does not drain"
prolog 127 SMELT_DRAIN=yes SLURMD_NODENAME=node7 && [ ! -e "$scratch/said" ] && ok "... a smelt that does not run drains nobody" || fail "prologue drains for nothing"
prolog 1 SMELT=/nowhere/smelt && [ ! -e "$scratch/said" ] && ok "... nor does none" || fail "prologue without smelt"
# In less than 50 ms. A test may not bear on a clock where machines are loaded: what counts is the CPU time, the least of five, and that the machine's
# topology is not asked for, which is what takes long on large ones.
export SMELT_TEST_PROGRAM=$smelt XDG_CACHE_HOME=$scratch/cache
least=$(for i in 1 2 3 4 5; do
  bash -c 'TIMEFORMAT="%U %S"; time "$SMELT_TEST_PROGRAM" profile verify --system --quiet' 2>&1 | awk '{ print ($1 + $2) * 1000 }'
done | sort -n | head -n 1)
"$smelt" profile verify --system --quiet
[ $? -le 1 ] || fail "smelt profile verify: neither 0 nor 1"
awk -v ms="$least" 'BEGIN { exit !(ms < 50) }' && ok "smelt profile verify: $least ms of CPU time" || fail "smelt profile verify takes $least ms of CPU time"

tasks() { env -i PATH="$PATH" "$@" sh slurm/smelt-task-prolog.sh 2>/dev/null; }  # the loader tells of libraries that are not there
libdir=$scratch/lib/x86_64-linux-gnu/smelt
: >"$libdir/libsmelt_gomp.so"; : >"$libdir/libsmelt_kmp.so"
[ -z "$(tasks SMELT_LIBDIR="$libdir")" ] && ok "slurm/smelt-task-prolog.sh: unasked, nothing" || fail "task prologue does something unasked"
tasks SMELT=on SMELT_LIBDIR="$libdir" LD_PRELOAD=other.so >"$scratch/out"
grep -qx "export LD_PRELOAD=$libdir/libsmelt_gomp.so:$libdir/libsmelt_kmp.so:other.so" "$scratch/out" && grep -qx 'export OMPI_MCA_coll_smelt_priority=90' "$scratch/out" &&
  ok "... asked, both" || fail "task prologue"
[ -z "$(tasks SMELT=on SMELT_LIBDIR=/nowhere)" ] && ok "... asked where there is none, nothing" || fail "task prologue without shims"

# --- Spack's
if have python3 "spack/"; then
  recipe=spack/packages/smelt/package.py
  check "$recipe: py_compile" python3 -c 'import sys; compile(open(sys.argv[1]).read(), sys.argv[1], "exec")' $recipe
  # Spack's names, pretended: what it depends on and what it gives meson, each way.
  cat >"$scratch/recipe.py" <<'PRETENDED'
import contextlib, re, sys, types

said = []
module = types.ModuleType('spack.package')
module.MesonPackage = type('MesonPackage', (), {})
for name in ('license', 'version', 'variant', 'depends_on', 'conflicts'):
    setattr(module, name, lambda *args, name=name, **how: said.append((name, args, how)))
module.when = lambda what: contextlib.nullcontext()
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
    assert all(re.match(r'-D(\w+)=', one)[1] in options for one in given), given
    assert ('-Dcli=enabled' in given) == ('+cli' in variants), given
versions = [args[0] for name, args, how in said if name == 'version']
assert sys.argv[3] in versions, versions
assert {'hwloc@2.5:', 'fmt', 'nlohmann-json', 'cli11'} <= {args[0] for name, args, how in said if name == 'depends_on'}
class Environment:
    def set(self, name, value): said.append((name, value))
package.spec, package.prefix = '+mpi', types.SimpleNamespace(lib='/opt/lib')
package.setup_run_environment(Environment())
assert said[-1] == ('OMPI_MCA_mca_base_component_path', '/opt/lib/smelt/openmpi:SYSTEM_DEFAULT:USER_DEFAULT'), said[-1]
PRETENDED
  check "... with Spack pretended" python3 "$scratch/recipe.py" $recipe ../meson_options.txt "$version"
  refuse "... which can fail" python3 "$scratch/recipe.py" $recipe ../meson_options.txt 9.9.9
fi
grep -q "smelt/$version" modules/smelt.lua && grep -q "smelt/$version" modules/smelt.tcl && ok "the modules name version $version" || fail "the modules name another version"

# --- bash's completion
check "completion/smelt.bash: bash -n" bash -n completion/smelt.bash
. completion/smelt.bash
complete_to() {  # EXPECTED WORDS...: among what is offered for the last of them
  local expected=$1
  shift
  COMP_WORDS=(smelt "$@") COMP_CWORD=$# COMPREPLY=()
  local before=smelt
  [ $# -lt 2 ] || before=${*: -2:1}
  _smelt "$smelt" "${*: -1}" "$before"
  case " ${COMPREPLY[*]} " in *" $expected "*) ok "completion: smelt $*" ;; *) echo "${COMPREPLY[*]}" >"$scratch/out"; fail "completion: smelt $*" ;; esac
}
complete_to calibrate ca
complete_to verify profile ''
complete_to --replace profile import --re
complete_to hybrid tree --pattern hy
complete_to timeline draw ''
complete_to --dry-run run --dr
complete_to --check calibrate -
refuse "... and nothing that is not there" bash -c '. completion/smelt.bash; COMP_WORDS=(smelt zz) COMP_CWORD=1; _smelt "$1" zz smelt; [ ${#COMPREPLY[@]} -gt 0 ]' - "$smelt"

echo "$passed passed, $failed failed, $skipped skipped"
[ $failed -eq 0 ] || exit 1
