#!/usr/bin/env python3
"""What smelt says of a machine or profile that was named is the same on every host: byte for byte what other_host.cc's
hosts say, on one of which the C library takes no wide instructions either. Of this machine they say what they are. The
page of a report is drawn of report --json alone.

  given_machine_test.py SMELT OTHER_HOST SOURCE_ROOT [VERBS...]    VERBS: those of a house, instead of smelt's
"""
import itertools, json, os, pathlib, subprocess, sys, tempfile

smelt, other_host, root = (pathlib.Path(each).resolve() for each in sys.argv[1:4])
of_house = sys.argv[4:]
HOSTS = {"this host": (smelt, {}), "a rich host": (other_host, {"OTHER_HOST": "rich"}),
         "a poor host": (other_host, {"OTHER_HOST": "poor", "GLIBC_TUNABLES": "glibc.cpu.hwcaps=-AVX2,-FMA,-FMA4"})}
numbers = itertools.count(1)
failures = 0


def hwloc_object(kind, number, cpus, inner=""):
    sets = f'cpuset="{cpus}" complete_cpuset="{cpus}" nodeset="0x1" complete_nodeset="0x1"'
    return f'<object type="{kind}" os_index="{number}" {sets} gp_index="{next(numbers)}">{inner}</object>'


def hwloc_machine():
    inner = hwloc_object("NUMANode", 0, "0x3")
    for number, cpu in enumerate(("0x1", "0x2")):
        inner += hwloc_object("Core", number, cpu, hwloc_object("PU", number, cpu))
    return f'<?xml version="1.0"?><topology version="2.0">{hwloc_object("Machine", 0, "0x3", inner)}</topology>'


def run(host, words, folder, **environment):
    program, own = HOSTS[host]
    env = {key: value for key, value in os.environ.items() if not key.startswith(("SMELT_", "HWLOC_"))}
    env.update(HOME=folder, XDG_CACHE_HOME=folder + "/cache", **own, **environment)
    done = subprocess.run([program, *words], capture_output=True, text=True, env=env, cwd=folder)
    return done.returncode, done.stdout, done.stderr


def check(ok, words):
    global failures
    failures += not ok
    if not ok:
        print("FAIL:", words)


def check_same(words, folder, **environment):
    said = {host: run(host, words, folder, **environment) for host in HOSTS}
    here = said.pop("this host")
    check(here[0] == 0, f"{' '.join(words)}: {here[2]}")
    for host, there in said.items():
        lines = zip(*("\n".join(str(part) for part in said_by).split("\n") for said_by in (here, there)))
        differing = next((f"{a!r} here, {b!r} on {host}" for a, b in lines if a != b), f"another length on {host}")
        check(here == there, f"{' '.join(words)}: {differing}")


with tempfile.TemporaryDirectory() as folder:
    def file(name, text):
        (pathlib.Path(folder) / name).write_text(text)
        return f"{folder}/{name}"

    data = root / "tests/data"
    profile = str(data / "profile/version-6.json")
    measured = json.loads(pathlib.Path(profile).read_text())
    for distance in measured["distances"]:
        distance["copied_by"] = "movsb from 4 KiB"
    raced, shape = file("raced.json", json.dumps(measured)), file("shape.xml", hwloc_machine())
    matrix = [[0, 30], [31, 0]]
    matrices = file("matrices.json", json.dumps({"unit": "ns", "t_send": matrix, "t_receive": matrix}))
    for machine in ("zoo:apple-m1-pro-1x6", "synthetic:pack:2 l3:1 core:2 pu:2", profile, raced, shape, matrices):
        for verb in of_house:
            words = verb.split()
            check_same(words + ([machine] if words[-1] == "--simulate" else ["--machine", machine]), folder)
    if "compare" in of_house:
        check_same(f"compare --folder {folder} --json".split(), folder)
        check_same(f"compare --measured {root}/bench/lab/tests/measured.json --json".split(), folder)
    if "report --json" in of_house:
        for verb in ("report --json", "info --thresholds --json --machine this"):
            check_same(verb.split(), folder, HWLOC_SYNTHETIC="pack:1 core:2 pu:2")
        check_same("info --machine zoo:list --json".split(), folder)
    if of_house:
        print(f"{failures} failures")
        sys.exit(failures > 0)
    check_same(f"profile diff {profile} {raced} --json".split(), folder)

    # The hosts are others: else all this would say nothing.
    for host, is_poor in (("a rich host", False), ("a poor host", True)):
        info = json.loads(run(host, ["info", "--json"], folder)[1])
        check(info["virtualised"] == is_poor, f"{host}: virtualised: {info['virtualised']}")
        check(info["cpu_quota"] == 1 or not is_poor, f"{host}: {info['cpu_quota']} CPUs")
        for setting in ("auto", "ahead"):
            said = json.loads(run(host, ["info", "--thresholds", "--json"], folder, SMELT_TUNE=f"copy={setting}")[1])
            found = [row["value"] for row in said["thresholds"] if row["name"] == "long_copy"]
            check(found == [None if is_poor else 2048], f"{host}: SMELT_TUNE=copy={setting}: long_copy {found}")

print(f"{failures} failures")
sys.exit(failures > 0)
