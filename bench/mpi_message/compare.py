#!/usr/bin/env python3
"""Messages of several MPI libraries, in turn: mpi_message with each, round after round, and the medians side by side.

    compare.py BUILD_FOLDER [--rounds 5] [--sides ob1,smelt,...] [--rows size,posted,...] [--limit 20] [--most 100000]
               [--near 80] [--json FILE]

Sides, each left out where it is not installed or does not start:
    smelt        Open MPI with the component ompi_pml_smelt of that build, ranks bound to cores
    ob1          Open MPI without it
    smelt-yield, ob1-yield   the same, unbound, and waiting ranks yield: for threads
    smelt-single as smelt, with MPI_Init: a program without threads
    ucx          Open MPI's pml/ucx, within shared memory
    mpich        MPICH (mpirun.mpich, and BUILD_FOLDER/bench/mpi_message/mpi_message_mpich)

A row is the median over the rounds of the medians over the batches, in ns; behind it the ratio to the best of the
others.
All sides take their turns within a round, so a machine that changes in between changes for all of them. The CPUs of a
virtual machine move: each run says how far apart the ranks' were before and after it (the line `hop`), and there is a
table of the runs in which they were near, up to --near ns, and one of those in which they were far. Runs during which
they moved are left out. Behind each ratio: how much the runs' medians spread, (largest - smallest) / median."""
import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile

YIELD = ["--bind-to", "none", "--mca", "mpi_yield_when_idle", "1"]
BOUND = ["--bind-to", "core"]
UCX = ["--mca", "pml", "ucx", "--mca", "pml_ucx_tls", "any", "--mca", "pml_ucx_devices", "any"]
OB1 = ["--mca", "pml", "ob1"]
START = 30  # seconds that mpirun may take on a busy machine


def sides_of(build, scratch):
    program = os.path.join(build, "bench/mpi_message/mpi_message")
    of_mpich = program + "_mpich"
    component = os.path.join(build, "ompi_pml_smelt/mca_pml_smelt.so")
    sides = {}
    if shutil.which("mpirun"):
        open_mpi = ["mpirun", "-n", "2"]
        sides["ob1"] = open_mpi + BOUND + OB1 + [program]
        sides["ob1-yield"] = open_mpi + YIELD + OB1 + [program]
        sides["ucx"] = open_mpi + BOUND + UCX + [program]
        if os.path.exists(component):
            # Alone in its folder, as Open MPI scans it.
            folder = os.path.join(scratch, "component")
            os.mkdir(folder)
            os.symlink(os.path.realpath(component), os.path.join(folder, os.path.basename(component)))
            ours = ["--mca", "mca_base_component_path", folder + ":SYSTEM_DEFAULT", "--mca", "pml_smelt_enable", "1"]
            sides["smelt"] = open_mpi + BOUND + ours + [program]
            sides["smelt-yield"] = open_mpi + YIELD + ours + [program]
            sides["smelt-single"] = open_mpi + BOUND + ours + [program, "--single"]
    if shutil.which("mpirun.mpich") and os.path.exists(of_mpich):
        sides["mpich"] = ["mpirun.mpich", "-n", "2", "-bind-to", "core", of_mpich]
    return sides


def run(command, rows, arguments, environment):
    """[(row, ns, hop)], of as many rows as came in time; a row whose ranks moved meanwhile has no hop."""
    options = ["--limit", str(arguments.limit), "--most", str(arguments.most)]
    found = []
    for row in rows:
        try:
            said = subprocess.run(command + options + [row], env=environment, stdin=subprocess.DEVNULL,
                                  timeout=START + arguments.limit * 40, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                  text=True, check=False)
            out, failed = said.stdout, said.returncode != 0
        except subprocess.TimeoutExpired as late:
            out, failed = (late.stdout or b"").decode(), True
        lines = [line.split() for line in out.splitlines()]
        hops = [float(words[2]) for words in lines if len(words) == 3 and words[0] == "hop"]
        stayed = len(hops) == 2 and (hops[0] <= arguments.near) == (hops[1] <= arguments.near)
        found += [((row, int(words[1])), float(words[2]), max(hops) if stayed else None)
                  for words in lines if len(words) == 3 and words[0] == row]
        if failed and not found:
            break
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--sides", default="")
    parser.add_argument("--rows", default="size,any,posted,unexpected,reverse,latency,rate")
    parser.add_argument("--limit", type=float, default=20)
    parser.add_argument("--most", type=int, default=100000)
    parser.add_argument("--near", type=float, default=80)
    parser.add_argument("--json")
    arguments = parser.parse_args()
    environment = {name: value for name, value in os.environ.items() if not name.startswith("OMPI_MCA_")}
    environment.update(OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1",
                       OMPI_MCA_rmaps_base_oversubscribe="1")
    with tempfile.TemporaryDirectory() as scratch:
        sides = sides_of(arguments.build, scratch)
        wanted = arguments.sides.split(",") if arguments.sides else list(sides)
        for name in wanted:
            if name not in sides:
                sys.exit(f"compare.py: there is no {name} here; there are: {', '.join(sides)}")
        rows = arguments.rows.split(",")
        runs = {name: [] for name in wanted}
        for turn in range(arguments.rounds):
            order = wanted[turn % len(wanted):] + wanted[:turn % len(wanted)]
            for name in order:
                found = run(sides[name], rows, arguments, environment)
                if not found and turn == 0:
                    print(f"{name}: left out, it does not start", file=sys.stderr)
                    wanted = [other for other in wanted if other != name]
                runs[name] += found
    if not wanted:
        sys.exit("compare.py: nothing started")
    for where, is_there in (("near", lambda hop: hop is not None and hop <= arguments.near),
                            ("far", lambda hop: hop is not None and hop > arguments.near)):
        table(where, rows, wanted, {name: [each for each in runs[name] if is_there(each[2])] for name in wanted})
    moved = sum(hop is None for name in wanted for _, _, hop in runs[name])
    if moved:
        print(f"{moved} rows left out: the CPUs moved meanwhile")
    if arguments.json:
        with open(arguments.json, "w", encoding="utf-8") as file:
            json.dump([{"side": name, "row": row[0], "n": row[1], "ns": ns, "hop": hop}
                       for name in wanted for row, ns, hop in runs[name]], file, indent=1)


def table(where, rows, wanted, runs):
    hops = [hop for name in wanted for _, _, hop in runs[name]]
    if not hops:
        return
    print(f"{where}: hop {min(hops):.0f} / {statistics.median(hops):.0f} / {max(hops):.0f} ns (min / median / max)")
    print(f"{'':12} {'':>8}" + "".join(f" {name:>24}" for name in wanted))
    times = {name: {} for name in wanted}
    for name in wanted:
        for row, ns, _ in runs[name]:
            times[name].setdefault(row, []).append(ns)
    medians = {name: {row: statistics.median(values) for row, values in times[name].items()} for name in wanted}
    for row in sorted({row for name in wanted for row in times[name]}, key=lambda row: (rows.index(row[0]), row[1])):
        line = f"{row[0]:12} {row[1]:>8}"
        for name in wanted:
            mine = medians[name].get(row)
            others = [medians[other][row] for other in wanted if other != name and row in medians[other]]
            ratio = f"{mine / min(others):.2f}" if mine and others else ""
            spread = f"{100 * (max(times[name][row]) - min(times[name][row])) / mine:.0f}%" if mine else ""
            line += f" {mine:>11.1f} {ratio:>6} {spread:>5}" if mine else f" {'-':>24}"
        print(line)
    sizes = [row for row in medians.get("smelt", {}) if row[0] == "size"]
    for others in (["ob1"], [name for name in wanted if name != "smelt"]):
        others = [name for name in others if name in medians]
        ratios = {row: min(medians[name][row] for name in others if row in medians[name]) / medians["smelt"][row]
                  for row in sizes if any(row in medians[name] for name in others)}
        if ratios:
            worst = min(ratios, key=ratios.get)
            mean = statistics.geometric_mean(ratios.values())
            print(f"sizes, {' or '.join(others)} / smelt: geometric mean {mean:.3f}, worst {ratios[worst]:.3f} "
                  f"at {worst[1]} bytes")


if __name__ == "__main__":
    main()
