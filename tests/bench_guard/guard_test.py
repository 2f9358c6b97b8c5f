#!/usr/bin/env python3
"""bench/guard: its arithmetic, on figures that stand here; and, in a repository with one small shim, whether it builds
a commit and the working tree, and notices that the tree is slower.

    guard_test.py SOURCE_ROOT"""
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = sys.argv[1]
HERE = os.path.dirname(os.path.abspath(__file__))
SLOW_NS = 10000  # a region of libgomp's takes less than a twentieth of that, and on a busy machine half


def guard(*words, at=ROOT):
    """(exit status, stdout, stderr)"""
    done = subprocess.run([os.path.join(at, "bench/guard"), *words], check=False, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    return done.returncode, done.stdout, done.stderr


def pairs(*ratios):
    return [[100 * ratio, 100, 50] for ratio in ratios]


class Judges(unittest.TestCase):
    def judged(self, *figures):
        """(exit status, {name: cells}, stdout)"""
        record = {"sides": ["a", "b"], "pairs": 5, "seconds": 1, "left out": {"away": "not in BASE"},
                  "figures": [dict(zip(("name", "pairs", "again"), figure)) for figure in figures]}
        with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
            json.dump(record, file)
            file.flush()
            status, out, errors = guard("--from", file.name)
        self.assertLessEqual(len(errors.splitlines()), 1, errors)
        rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in out.splitlines() if line.startswith("| ")]
        return status, {row[0]: row for row in rows}, out + errors

    def test_medians_and_quartiles_are_of_the_pairs_ratios(self):
        status, rows, out = self.judged(
            ("r", [[90, 100, 40], [240, 200, 60], [100, 100, None], [330, 300, 50], [100, 125, 300]], []))
        self.assertEqual(status, 0, out)
        self.assertEqual(rows["r"], ["r", "1.000 (0.900-1.100)", "", "100", "125", "40 / 55 / 300"], out)
        self.assertIn("left out: away: not in BASE", out)

    def test_the_tree_is_slower_where_it_is_slower_twice(self):
        good, bad = pairs(0.9, 1, 1.1), pairs(0.9, 0.96, 1.2)
        for again, status, told in ((bad, 1, "slower: slow"), (good, 0, "none is slower")):
            got, rows, out = self.judged(("good", good, []), ("slow", bad, again))
            self.assertEqual(got, status, out)
            self.assertEqual(out.splitlines()[-1], told, out)
            self.assertEqual(rows["slow"][1:3],
                             ["0.960 (0.930-1.080)", "0.960 (0.930-1.080)" if status else "1.000 (0.950-1.050)"], out)

    def test_the_limit_is_a_median_below_0_97(self):
        self.assertEqual(self.judged(("at", pairs(0.5, 0.97, 0.97), []))[0], 0)
        self.assertEqual(self.judged(("below", pairs(1.5, 0.969, 0.969), pairs(0.969)))[0], 1)
        self.assertEqual(self.judged(("faster", pairs(1.5, 1.6, 1.7), []))[0], 0)

    def test_what_cannot_be_judged_is_told_in_a_line(self):
        status, _, out = self.judged(("once", pairs(0.9), []))
        self.assertEqual(status, 2)
        self.assertIn("once is below 0.97 and was not measured again", out)
        self.assertEqual(self.judged()[0], 2)  # nothing was measured
        for words in (["--from", "/dev/null"], ["--from", "/no/such/file"], ["no-such-commit"],
                      ["HEAD", "--figures", "no such figure"]):
            status, out, errors = guard(*words)
            self.assertEqual((status, out, len(errors.splitlines())), (2, "", 1), (words, errors))
        for words in ([], ["HEAD", "--from", "x"], ["HEAD", "--pairs", "0"]):
            self.assertEqual(guard(*words)[0], 2, words)


@unittest.skipIf(len(os.sched_getaffinity(0)) < 2, "one CPU")
@unittest.skipUnless(shutil.which("git") and shutil.which("meson"), "needs git and meson")
class Measures(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.scratch = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.scratch.cleanup)
        cls.root = os.path.join(cls.scratch.name, "r")
        for path in ("bench/guarded", "gomp_shim", "epcc"):
            os.makedirs(os.path.join(cls.root, path))
        shutil.copy(os.path.join(ROOT, "bench/guard"), os.path.join(cls.root, "bench"))
        for name in ("openmp.c", "openmp_edges.c", "mpi.c", "figures.h", "timing.h"):
            shutil.copy(os.path.join(ROOT, "bench/guarded", name), os.path.join(cls.root, "bench/guarded"))
        for name in ("ping_pong.c", "common.h"):
            shutil.copy(os.path.join(ROOT, "epcc", name), os.path.join(cls.root, "epcc"))
        shutil.copy(os.path.join(HERE, "shim.c"), os.path.join(cls.root, "gomp_shim"))
        cls.write("meson.build", "project('small', 'c')\nsubdir('gomp_shim')\n")
        cls.write("meson_options.txt", "option('tests', type: 'boolean')\noption('bench', type: 'boolean')\n")
        cls.write(".gitignore", "/build*/\n")
        cls.spin(0)
        cls.git("init", "-q")
        cls.commit()
        cls.folder = os.path.join(cls.root, "build-guard")

    @classmethod
    def write(cls, path, text):
        with open(os.path.join(cls.root, path), "w", encoding="utf-8") as file:
            file.write(text)

    @classmethod
    def spin(cls, ns, message="1 symbols taken"):
        cls.write("gomp_shim/meson.build", "shared_module('smelt_gomp', 'shim.c', name_prefix: 'lib', c_args: "
                  f"['-DSPIN_NS={ns}', '-DMESSAGE=\"{message}\"'])\n")

    @classmethod
    def git(cls, *words):
        return subprocess.run(["git", "-c", "user.name=n", "-c", "user.email=e", *words], cwd=cls.root, check=True,
                              stdout=subprocess.PIPE, text=True).stdout.strip()

    @classmethod
    def commit(cls):
        cls.git("add", "-A")
        cls.git("commit", "-q", "-m", "m")

    def guard(self, *words):
        return guard("--pairs", "1", *words, at=self.root)

    def test_a_planted_slowdown(self):
        fast = self.git("rev-parse", "--short=12", "HEAD")
        self.spin(SLOW_NS)
        path = os.path.join(self.scratch.name, "j")
        status, out, errors = self.guard("HEAD", "--figures", "openmp parallel,smelt*,mpi bcast*,*SMELT_OPENMP=-tasks",
                                         "--json", path)
        self.assertEqual(status, 1, out + errors)
        self.assertEqual(out.splitlines()[-1], "slower: openmp parallel")
        self.assertIn("left out: smelt run -- true: not in BASE", out)
        self.assertIn("left out: openmp tasks SMELT_OPENMP=-tasks: SMELT_OPENMP is not in BASE", out)
        self.assertIn("left out: mpi bcast 8 B: ", out)
        self.assertIn(f"BASE {fast}, tree {fast[:7]}", out)
        self.assertIn("-dirty", out)
        again = guard("--from", path)
        self.assertEqual(again, (1, out, ""))
        with open(path, encoding="utf-8") as file:
            (figure,) = json.load(file)["figures"]
        self.assertEqual((len(figure["pairs"]), len(figure["again"])), (1, 2))

        # The same the other way round: both builds are there.
        slow = os.path.join(self.folder, "working-tree")
        status, out, errors = self.guard("--builds", slow, os.path.join(self.folder, fast), "--figures",
                                         "openmp parallel")
        self.assertEqual(status, 0, out + errors)
        self.assertGreater(float(re.search(r"\| openmp parallel \| ([0-9.]+)", out).group(1)), 1)

        # BASE is not built a second time, and the working tree is what it is now.
        self.commit()
        self.spin(0)
        before = os.stat(os.path.join(self.folder, fast, "gomp_shim/libsmelt_gomp.so")).st_mtime_ns
        status, out, errors = self.guard(fast, "--figures", "openmp single")
        self.assertNotIn("building " + fast, errors)
        self.assertEqual(before, os.stat(os.path.join(self.folder, fast, "gomp_shim/libsmelt_gomp.so")).st_mtime_ns)
        status, out, errors = self.guard("HEAD", "--figures", "openmp parallel")
        self.assertEqual(status, 0, out + errors)
        self.assertGreater(float(re.search(r"\| openmp parallel \| ([0-9.]+)", out).group(1)), 1)

    def test_what_does_not_serve_or_build_ends_it(self):
        self.spin(0, "libgomp is not one that is known")
        status, out, errors = self.guard("HEAD", "--figures", "openmp single")
        self.assertEqual((status, out), (2, ""))
        self.assertIn("guard: the working tree: gomp_shim/libsmelt_gomp.so steps aside here", errors)
        self.spin("nonsense")
        status, out, errors = self.guard("HEAD", "--figures", "openmp single")
        self.assertEqual((status, out), (2, ""))
        self.assertRegex(errors.splitlines()[-1], "^guard: ninja .* failed; .*[.]log says why$")


unittest.main(argv=sys.argv[:1])
