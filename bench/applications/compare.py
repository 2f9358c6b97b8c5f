#!/usr/bin/env python3
"""Whole programs, stock and with Smelt, in pairs of runs: nobody's program is barriers alone.

    compare.py BUILD_FOLDER [--at NAME=FOLDER]... [--only NAME,...] [--cases bound,4,8,hog] [--pairs 5] [--limit 300]
               [--programs FILE] [--json FILE]

A program is an entry of programs.json, which says where it is from, how it was built, how it is run, what its output
must have, and which figures of it both sides must agree in. None is built here: --at says where a folder of it lies on
this machine, and what is not there is left out, with a line.

    bound   a thread or rank on each CPU, bound
    4, 8    so many threads or ranks, unbound
    hog     a thread or rank for each CPU, unbound, beside a busy process
    quota:N in a control group whose quota is N CPUs, and nobody names a number of threads; stock is the better of that
            and of one thread by hand. Needs root; programs that are told their number are left out

The other side is the same command behind `smelt run --`. A pair is one run of each, directly one after the other, the
second first every other time. The ratio is the median over the pairs of stock / Smelt, in brackets the least and the
greatest; below 1 Smelt is slower. What is timed is what the program says of itself, or where it says nothing the whole
run. The column `hop` has the ping-pongs between two CPUs before each pair, in ns, least and greatest.

Exit status: 0; 1 a run failed, had not the output it must have, or differed from the other side's; 2 bad input."""
import argparse
import json
import os
import re
import signal
import statistics
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
QUOTA = re.compile(r"(quota|fit):(\d+(?:\.\d+)?)")
SETTINGS = ("SMELT_", "OMP_", "GOMP_", "OMPI_MCA_", "KMP_", "NUMBA_")
NUMBERS = ("OMP_NUM_THREADS", "NUMBA_NUM_THREADS")
CASES = ("bound", "4", "8", "hog")


class Failed(Exception):
    pass


def command_of(program, case, folders, cpus):
    """The words of the command and what the environment gets for it."""
    number = int(case) if case.isdigit() else cpus
    if QUOTA.fullmatch(case):
        return [word.format(here=HERE, **folders) for word in program.get("quota", program["run"])], (
            {name: str(cpus) for name in NUMBERS} if case.startswith("fit") else {})
    words = [word.format(n=number, here=HERE, **folders) for word in program["run"]]
    environment = {}
    if program["kind"] == "mpi":
        where = ["--oversubscribe", "--bind-to", "none"]
        if case == "bound":
            where = ["--use-hwthread-cpus", "--bind-to", "hwthread"]
        words = ["mpirun", "-n", str(number)] + where + words
        environment = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    environment["OMP_NUM_THREADS"] = "1" if program["kind"] == "mpi" else str(number)
    if program["kind"] == "openmp" and case == "bound":
        environment["OMP_PROC_BIND"] = "true"
    return words, environment


def run(words, environment, program, limit, folder):
    """(seconds, what must be the same on both sides)"""
    begin = time.monotonic()
    child = subprocess.Popen(words, env=environment, cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                             stderr=subprocess.STDOUT, text=True, errors="replace", start_new_session=True)
    try:
        said, _ = child.communicate(timeout=limit)
    except subprocess.TimeoutExpired:
        os.killpg(child.pid, signal.SIGKILL)
        child.communicate()
        raise Failed(f"not done after {limit} s") from None
    seconds = time.monotonic() - begin
    if child.returncode != 0:
        raise Failed(f"exit status {child.returncode}: {said.strip().splitlines()[-1:]}")
    if "right" in program and not re.search(program["right"], said, re.MULTILINE):
        raise Failed(f"no line of its output matches '{program['right']}'")
    for unit, of_a_second in (("seconds", 1), ("milliseconds", 1e-3)):
        if unit in program:
            told = re.search(program[unit], said, re.MULTILINE)
            if not told:
                raise Failed(f"no line of its output matches '{program[unit]}'")
            seconds = float(told.group(1)) * of_a_second
    same = re.findall(program["same"], said, re.MULTILINE) if "same" in program else None
    if same == []:
        raise Failed(f"no line of its output matches '{program['same']}'")
    return seconds, same


class Group:
    """A control group with a quota, of version 1 or 2; its words run a command in it. With no quota it is none."""

    def __init__(self, cpus):
        self.words, self.folder = [], None
        if cpus is None:
            return
        old = os.path.isdir("/sys/fs/cgroup/cpu")
        self.folder = f"/sys/fs/cgroup/{'cpu/' if old else ''}smelt-compare-{os.getpid()}"
        if not old:
            write("/sys/fs/cgroup/cgroup.subtree_control", "+cpu")
        os.mkdir(self.folder)
        quota = str(round(cpus * 100_000))
        write(f"{self.folder}/{'cpu.cfs_quota_us' if old else 'cpu.max'}", quota if old else f"{quota} 100000")
        self.words = ["sh", "-c", 'echo $$ >"$0/cgroup.procs" && exec "$@"', self.folder]

    def __enter__(self):
        return self.words

    def __exit__(self, *_):
        if self.folder:
            os.rmdir(self.folder)


def write(path, text):
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


def hop(build, environment):
    said = subprocess.run([os.path.join(build, "epcc/syncbench"), "--ping-pong"], env=environment, check=False,
                          stdout=subprocess.PIPE, text=True).stdout
    found = re.search(r"([0-9.]+)\s*ns", said)
    return float(found.group(1)) if found else None


def pairs_of(program, case, arguments, folders, plain, cpus):
    words, more = command_of(program, case, folders, cpus)
    environment = {**plain, **more}
    limited = QUOTA.fullmatch(case)
    quota = float(limited[2]) if limited else None
    options = ["--fit"] if limited and limited[1] == "fit" else []
    sides = {"stock": words, "smelt": [os.path.join(arguments.build, "core/smelt"), "run"] + options + ["--"] + words}
    if quota is not None:
        sides["one thread"] = ["env"] + [f"{name}=1" for name in NUMBERS] + words
    times, hops = {side: [] for side in sides}, []
    hog = subprocess.Popen([sys.executable, "-c", "while True: pass"]) if case == "hog" else None
    try:
        for turn in range(arguments.pairs):
            hops.append(hop(arguments.build, environment))
            results = {}
            for side in list(sides) if turn % 2 == 0 else reversed(list(sides)):
                with tempfile.TemporaryDirectory() as folder, Group(quota) as inside:
                    try:
                        seconds, results[side] = run(inside + sides[side], environment, program, arguments.limit, folder)
                    except Failed as failure:
                        if quota is not None and side == "stock" and str(failure).startswith("not done"):
                            seconds, results[side] = arguments.limit, None  # at least so long
                            times[side].append(seconds)
                            continue
                        raise Failed(f"{side}: {failure}") from None
                    times[side].append(seconds)
            if results["stock"] not in (None, results["smelt"]):
                raise Failed(f"stock says {results['stock']}, Smelt {results['smelt']}")
    finally:
        if hog:
            hog.kill()
            hog.wait()
    return times, [each for each in hops if each is not None]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build")
    parser.add_argument("--at", action="append", default=[])
    parser.add_argument("--only", default="")
    parser.add_argument("--cases", default=",".join(CASES))
    parser.add_argument("--pairs", type=int, default=5)
    parser.add_argument("--limit", type=float, default=300)
    parser.add_argument("--programs", default=os.path.join(HERE, "programs.json"))
    parser.add_argument("--json")
    arguments = parser.parse_args()
    arguments.build = os.path.abspath(arguments.build)
    with open(arguments.programs, encoding="utf-8") as file:
        programs = json.load(file)
    folders = dict(each.split("=", 1) for each in arguments.at if "=" in each)
    cases = arguments.cases.split(",")
    only = arguments.only.split(",") if arguments.only else [program["name"] for program in programs]
    unknown = [name for name in only if name not in [program["name"] for program in programs]]
    known = all(case in CASES or QUOTA.fullmatch(case) for case in cases)
    if unknown or not known or arguments.pairs < 1 or len(folders) < len(arguments.at):
        parser.error(f"no program is called {unknown[0]}" if unknown else
                     "see --help: --at NAME=FOLDER, --cases, --pairs")

    plain = {name: value for name, value in os.environ.items() if not name.startswith(SETTINGS)}
    cpus = len(os.sched_getaffinity(0))
    print(f"{cpus} CPUs, {arguments.pairs} pairs of each; ratio: stock / Smelt\n")
    print("| program | case | stock, s | Smelt, s | ratio | hop, ns |")
    print("|---|---|---|---|---|---|")
    rows, left_out, failures = [], [], []
    for program in programs:
        if program["name"] not in only:
            continue
        needed = re.findall(r"{([a-z0-9_]+)}", " ".join(program["run"]))
        told = "{n}" in " ".join(program.get("quota", program["run"])) or program["kind"] == "mpi"
        missing = [name for name in needed if name not in ("n", "here") and name not in folders]
        if missing:
            left_out.append(f"{program['name']}: no --at {missing[0]}=FOLDER")
            continue
        for case in cases:
            if QUOTA.fullmatch(case) and told:
                left_out.append(f"{program['name']}, {case}: it is told its number")
                continue
            try:
                times, hops = pairs_of(program, case, arguments, folders, plain, cpus)
            except (Failed, OSError) as failure:
                failures.append(f"{program['name']}, {case}: {failure}")
                continue
            if QUOTA.fullmatch(case):
                print(f"{program['name']}, {case}: " + "; ".join(
                    f"{side} {' '.join(f'{each:.3f}' for each in times[side])}" for side in times), file=sys.stderr)
                times["stock"] = [min(both) for both in zip(times["stock"], times["one thread"])]
            ratios = [stock / smelt for stock, smelt in zip(times["stock"], times["smelt"])]
            rows.append({"program": program["name"], "case": case, "hop": hops, **times})
            print(f"| {program['name']} | {case} | {statistics.median(times['stock']):.3f} "
                  f"| {statistics.median(times['smelt']):.3f} "
                  f"| {statistics.median(ratios):.2f} [{min(ratios):.2f} .. {max(ratios):.2f}] "
                  f"| {f'{min(hops):.0f} .. {max(hops):.0f}' if hops else '-'} |", flush=True)
    print()
    for line in left_out:
        print(f"left out: {line}")
    for line in failures:
        print(f"FAILED: {line}")
    if arguments.json:
        with open(arguments.json, "w", encoding="utf-8") as file:
            json.dump(rows, file, indent=1)
    sys.exit(1 if failures or not rows else 0)


if __name__ == "__main__":
    main()
