#!/usr/bin/env python3
"""Messages of several MPI libraries, in turn: mpi_message with each, round after round, and the medians side by side.

    compare.py BUILD_FOLDER [--rounds 5] [--sides ob1,smelt,...] [--rows size,posted,...] [--limit 20] [--most 100000]
               [--json FILE]

Sides, each left out where it is not installed or does not start:
    smelt        Open MPI with the component ompi_pml_smelt of that build, ranks bound to cores
    ob1          Open MPI without it
    smelt-yield, ob1-yield   the same, unbound, and waiting ranks yield: for threads
    ucx          Open MPI's pml/ucx, within shared memory
    mpich        MPICH (mpirun.mpich, and BUILD_FOLDER/bench/mpi_message/mpi_message_mpich)

A row is the median over the rounds of the medians over the batches, in ns; behind it the ratio to the best of the
others.
All sides take their turns within a round, so a machine that changes in between changes for all of them."""
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
    if shutil.which("mpirun.mpich") and os.path.exists(of_mpich):
        sides["mpich"] = ["mpirun.mpich", "-n", "2", "-bind-to", "core", of_mpich]
    return sides


def run(command, rows, arguments, environment):
    """{row: ns}, of as many rows as came in time."""
    options = ["--limit", str(arguments.limit), "--most", str(arguments.most)]
    found = {}
    for row in rows:
        try:
            said = subprocess.run(command + options + [row], env=environment, stdin=subprocess.DEVNULL,
                                  timeout=arguments.limit * 40, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                  text=True, check=False)
            out, failed = said.stdout, said.returncode != 0
        except subprocess.TimeoutExpired as late:
            out, failed = (late.stdout or b"").decode(), True
        for line in out.splitlines():
            words = line.split()
            if len(words) == 3 and words[0] == row:
                found[row, int(words[1])] = float(words[2])
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
        times = {name: {} for name in wanted}
        for turn in range(arguments.rounds):
            order = wanted[turn % len(wanted):] + wanted[:turn % len(wanted)]
            for name in order:
                found = run(sides[name], rows, arguments, environment)
                if not found and turn == 0:
                    print(f"{name}: left out, it does not start", file=sys.stderr)
                    wanted = [other for other in wanted if other != name]
                for row, ns in found.items():
                    times[name].setdefault(row, []).append(ns)
    if not wanted:
        sys.exit("compare.py: nothing started")
    print(f"{'':12} {'':>8}" + "".join(f" {name:>18}" for name in wanted))
    known = sorted({row for name in wanted for row in times[name]}, key=lambda row: (rows.index(row[0]), row[1]))
    medians = {name: {row: statistics.median(values) for row, values in times[name].items()} for name in wanted}
    for row in known:
        line = f"{row[0]:12} {row[1]:>8}"
        for name in wanted:
            mine = medians[name].get(row)
            others = [medians[other][row] for other in wanted if other != name and row in medians[other]]
            ratio = f"{mine / min(others):.2f}" if mine and others else ""
            line += f" {mine:>11.1f} {ratio:>6}" if mine else f" {'-':>18}"
        print(line)
    if arguments.json:
        with open(arguments.json, "w", encoding="utf-8") as file:
            json.dump([{"side": name, "row": row[0], "n": row[1], "ns": values}
                       for name in wanted for row, values in times[name].items()], file, indent=1)


if __name__ == "__main__":
    main()
