#!/usr/bin/env python3
"""Every OpenMP figure of bench/guard, in one process, without Smelt and with its parts on and off: the figures check
what their constructs have computed. And those that are to be served by a kept team are.
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

SWITCHES = ({}, {"SMELT_TASKS": "1"}, {"SMELT_TASKS": "0"}, {"SMELT_HOT_TEAM": "0"}, {"SMELT_NESTED": "0"}, {"SMELT_CPUS": "1"})
KEPT = ("parallel", "if-false", "one-thread", "one-for", "one-with-task", "inner", "turns-2-1", "guided", "close",
        "after-target")
failed = 0


def check(what, good, said=""):
    global failed
    print(f"{'ok' if good else 'FAIL'}: {what}{'' if good else ': ' + said}")
    failed += not good


rows = [row for row in guard.ROWS if row.target == guard.SHIM]
figures = sorted({row.figure for row in rows} - {"first-region", "second-region"})
with tempfile.TemporaryDirectory() as scratch:
    machine = guard.Machine(guard.compile_programs(scratch), scratch)
    machine.environment["OMP_WAIT_POLICY"] = "passive"
    for folder in (None, BUILD):
        words, environment = machine.command_of(folder, rows[0])
        for switches in SWITCHES if folder else SWITCHES[:1]:
            what = "stock" if folder is None else " ".join(f"{n}={v}" for n, v in switches.items()) or "default"
            try:
                times = machine.times(words, {**environment, **switches}, figures)
                check(f"{len(figures)} figures, {what}", min(times) > 0, str(times))
            except guard.Failed as failure:
                check(f"{len(figures)} figures, {what}", False, str(failure))
    for figure in KEPT:
        _, errors = machine.output_of(words + [figure], {**environment, "SMELT_STATS": "1", "SMELT_CPUS": "64"})
        counts = re.search(r"(\d+) regions \((\d+) hot", errors)
        regions, hot = map(int, counts.groups()) if counts else (0, 0)
        # Of `inner` the regions around are some more.
        check(f"{figure}: kept teams serve it", hot >= 20 and hot >= 0.9 * regions, errors.strip()[-200:])
sys.exit(failed != 0)
