#!/usr/bin/env python3
"""bench/limit, on a build: every figure is measured under Smelt and has both times; what it cannot do it says.

    limit_test.py SOURCE_ROOT BUILD_ROOT"""
import json
import os
import re
import subprocess
import sys
import tempfile
import unittest

ROOT, BUILD = sys.argv[1:]


def limit(*words):
    """(exit status, stdout, stderr)"""
    done = subprocess.run([os.path.join(ROOT, "bench/limit"), *words], check=False, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    return done.returncode, done.stdout, done.stderr


@unittest.skipIf(len(os.sched_getaffinity(0)) < 2, "one CPU")
class Limit(unittest.TestCase):
    def test_every_figure_has_both_times(self):
        status, out, _ = limit("--list")
        names = out.splitlines()
        self.assertEqual(status, 0)
        with tempfile.NamedTemporaryFile() as file:
            status, out, errors = limit("--build", BUILD, "--runs", "1", "--json", file.name)
            self.assertEqual(status, 0, errors)
            record = json.load(file)
        left_out = re.findall(r"^left out: (.*): [^:]*$", out, re.MULTILINE)
        self.assertEqual([figure["name"] for figure in record["figures"]], [n for n in names if n not in left_out])
        for figure in record["figures"]:
            ((ours, by_hand, hop),) = figure["runs"]
            self.assertIn(f"| {figure['name']} | **{ours / by_hand:.2f}** (", out)
            if "tight" not in figure["name"]:  # which may come out below nothing on a busy machine
                self.assertGreater(by_hand, 0, figure)
            self.assertGreater(hop, 0)

    def test_as_many_threads_as_cpus(self):
        cpus = len(os.sched_getaffinity(0))
        status, out, errors = limit("--build", BUILD, "--runs", "1", "--threads", str(cpus), "--figures",
                                    "openmp single")
        self.assertEqual(status, 0, errors)
        self.assertIn(f"{cpus} threads or 2 ranks\n", out)
        status, _, errors = limit("--threads", str(cpus + 1))
        self.assertEqual(status, 2)
        self.assertIn("2 to the number of CPUs", errors)

    def test_what_it_cannot_do_it_says_in_a_line(self):
        for words, told in (("--figures", "nothing"), "no figure is called nothing"), (
                ("--build", "/no/such/folder", "--figures", "openmp*"), "left out: openmp barrier: not in /no/such/folder"):
            status, out, errors = limit(*words)
            self.assertEqual(status, 2)
            self.assertIn(told, out + errors)


unittest.main(argv=sys.argv[:1])
