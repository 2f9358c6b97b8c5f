#!/usr/bin/env python3
"""Every OpenMP figure of bench/guard, in one process, without Smelt and with its parts on and off, as GCC and as clang
build it: the figures check what their constructs have computed. And those that are to be served by a kept team are.
    edges_test.py SOURCE BUILD"""
import importlib.machinery
import importlib.util
import os
import re
import sys
import tempfile

SOURCE, BUILD = sys.argv[1:]
sys.dont_write_bytecode = True
loader = importlib.machinery.SourceFileLoader("guard", os.path.join(SOURCE, "bench", "guard"))
guard = importlib.util.module_from_spec(importlib.util.spec_from_loader("guard", loader))
loader.exec_module(guard)

SWITCHES = {guard.SHIM: ({}, {"SMELT_OPENMP": "-tasks"}, {"SMELT_OPENMP": "-hot"}, {"SMELT_OPENMP": "-nested"},
                         {"SMELT_CPUS": "1"}),
            guard.LIBOMP_SHIM: ({}, {"SMELT_CPUS": "64"}, {"SMELT_OPENMP": "-loops"}, {"SMELT_CPUS": "1"})}
KEPT = ("parallel", "if-false", "one-thread", "one-for", "one-with-task", "inner", "turns-2-1", "guided", "close",
        "after-target")
failed = 0


def check(what, good, said=""):
    global failed
    print(f"{'ok' if good else 'FAIL'}: {what}{'' if good else ': ' + said}")
    failed += not good


def row_of(target):
    return next(row for row in guard.ROWS if row.target == target)


# task-taken spins until the other thread has run the task, for which a sleeper that nobody wakes takes up to 1 ms.
figures = sorted({row.figure for row in guard.ROWS if row.target == guard.SHIM} -
                 {"first-region", "second-region", "task-taken"})
with tempfile.TemporaryDirectory() as scratch:
    machine = guard.Machine(guard.compile_programs(scratch), scratch)
    machine.environment["OMP_WAIT_POLICY"] = "passive"
    for target, all_switches in SWITCHES.items():
        if guard.PROGRAMS[target] not in machine.programs:
            print("skip: there is no clang with OpenMP here")
            continue
        for folder in (None, BUILD):
            words, environment = machine.command_of(folder, row_of(target))
            for switches in all_switches if folder else all_switches[:1]:
                settings = " ".join(f"{n}={v}" for n, v in switches.items()) or "default"
                what = f"{len(figures)} figures, {guard.PROGRAMS[target]}, {settings if folder else 'stock'}"
                try:
                    times = machine.times(words, {**environment, **switches}, figures)
                    # Of an empty target clang, which builds for no device here, leaves nothing.
                    timed = [time for figure, time in zip(figures, times) if figure != "target"]
                    check(what, min(timed) > 0, str(times))
                except guard.Failed as failure:
                    check(what, False, str(failure))
    words, environment = machine.command_of(BUILD, row_of(guard.SHIM))
    for figure in KEPT:
        _, errors = machine.output_of(words + [figure], {**environment, "SMELT_STATS": "1", "SMELT_CPUS": "64"})
        counts = re.search(r"(\d+) regions \((\d+) hot", errors)
        regions, hot = map(int, counts.groups()) if counts else (0, 0)
        # Of `inner` the regions around are some more.
        check(f"{figure}: kept teams serve it", hot >= 20 and hot >= 0.9 * regions, errors.strip()[-200:])
sys.exit(failed != 0)
