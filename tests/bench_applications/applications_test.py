#!/usr/bin/env python3
"""bench/applications/compare.py on programs of a line each: what it starts, what it counts, and what it notices. And
bench/applications/attribute on a program whose regions are known.

    applications_test.py BUILD_FOLDER COMPARE ATTRIBUTE REGIONS"""
import json
import os
import re
import subprocess
import sys
import tempfile
import unittest

BUILD, COMPARE, ATTRIBUTE, REGIONS = os.path.abspath(sys.argv[1]), *sys.argv[2:]


def program(name, script, **more):
    return {"name": name, "kind": "openmp", "from": "here", "built": "no", "run": ["/bin/sh", "-c", script], **more}


class Compare(unittest.TestCase):
    def compare(self, programs, *options):
        """(exit status, output, rows of the table by (program, case))"""
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "programs.json")
            with open(path, "w", encoding="utf-8") as file:
                json.dump(programs, file)
            done = subprocess.run([COMPARE, BUILD, "--programs", path, "--pairs", "2", *options], check=False,
                                  env={**os.environ, "OMP_NUM_THREADS": "7"}, stdout=subprocess.PIPE,
                                  stderr=subprocess.STDOUT, text=True)
        rows = {}
        for line in done.stdout.splitlines():
            cells = [cell.strip() for cell in line.split("|")[1:-1]]
            if len(cells) == 6 and re.match(r"[0-9.]+$", cells[2]):
                rows[cells[0], cells[1]] = cells
        return done.returncode, done.stdout, rows

    def test_each_case_is_what_it_is_called(self):
        cpus = len(os.sched_getaffinity(0))
        script = 'echo "$OMP_NUM_THREADS,$OMP_PROC_BIND."'
        status, out, rows = self.compare([program("p", script, same="^(.*[.])$")])
        self.assertEqual(status, 0, out)
        self.assertEqual(list(rows), [("p", case) for case in ("bound", "4", "8", "hog")], out)
        for case, said in (("bound", f"{cpus},true."), ("4", "4,."), ("8", "8,."), ("hog", f"{cpus},.")):
            status, out, _ = self.compare([program("p", script, right=f"^{said}$")], "--cases", case)
            self.assertEqual(status, 0, out)

    def test_a_hog_is_there_and_goes(self):
        hogs = "cat /proc/[0-9]*/cmdline 2>/dev/null | grep -ac '[w]hile True: pass'"
        status, out, _ = self.compare([program("p", hogs, right="^[1-9]")], "--cases", "hog")
        self.assertEqual(status, 0, out)
        self.assertNotEqual(subprocess.run(["sh", "-c", hogs], check=False, stdout=subprocess.DEVNULL).returncode, 0)

    def test_a_quota_is_in_force(self):
        if os.geteuid() != 0 or not any(os.access(f"/sys/fs/cgroup/{each}", os.W_OK) for each in ("cpu", "cgroup.procs")):
            self.skipTest("no control group can be made")
        script = 'grep -q smelt-compare /proc/self/cgroup && echo "inside $OMP_NUM_THREADS."'
        inside = [program("p", script, right="^inside 1?[.]$")]
        status, out, rows = self.compare(inside, "--cases", "quota:0.5")
        self.assertEqual((status, list(rows)), (0, [("p", "quota:0.5")]), out)
        self.assertIn("one thread", out)
        status, out, _ = self.compare(inside, "--cases", "4")
        self.assertEqual(status, 1, out)

    def test_the_other_side_is_under_smelt_and_what_differs_is_told(self):
        script = 'case $LD_PRELOAD in *libsmelt_gomp*) echo "= ours";; *) echo "= stock";; esac'
        status, out, rows = self.compare([program("p", script, same="= (.*)")], "--cases", "4")
        self.assertEqual((status, rows), (1, {}), out)
        self.assertIn("FAILED: p, 4: stock says ['stock'], Smelt ['ours']", out)

    def test_the_time_is_what_the_program_says(self):
        script = 'case $LD_PRELOAD in *smelt*) echo "seconds 2.0";; *) echo "seconds 3.0";; esac'
        status, out, rows = self.compare([program("p", script, seconds="seconds ([0-9.]+)")], "--cases", "4")
        self.assertEqual(status, 0, out)
        self.assertEqual(rows["p", "4"][2:5], ["3.000", "2.000", "1.50 [1.50 .. 1.50]"], out)
        script = 'case $LD_PRELOAD in *smelt*) echo "ms 40";; *) echo "ms 30";; esac'
        status, out, rows = self.compare([program("p", script, milliseconds="ms ([0-9.]+)")], "--cases", "4")
        self.assertEqual(rows["p", "4"][2:5], ["0.030", "0.040", "0.75 [0.75 .. 0.75]"], out)

    def test_what_goes_wrong_is_told_and_the_others_go_on(self):
        status, out, rows = self.compare(
            [program("fails", "echo worse; exit 3"), program("silent", ":", right="^ok$"),
             program("endless", "sleep 60"), program("elsewhere", ":", run=["{elsewhere}/a"]),
             program("good", ":", right="")], "--cases", "4", "--limit", "1")
        self.assertEqual((status, list(rows)), (1, [("good", "4")]), out)
        for line in ("FAILED: fails, 4: stock: exit status 3: ['worse']",
                     "FAILED: silent, 4: stock: no line of its output matches '^ok$'",
                     "FAILED: endless, 4: stock: not done after 1.0 s",
                     "left out: elsewhere: no --at elsewhere=FOLDER"):
            self.assertIn(line, out)

    def test_bad_options_are_refused(self):
        for options in (["--only", "q"], ["--cases", "5"], ["--at", "npb"], ["--pairs", "0"]):
            self.assertEqual(self.compare([program("p", ":")], *options)[0], 2, options)

    def test_the_list_is_whole(self):
        with open(os.path.join(os.path.dirname(COMPARE), "programs.json"), encoding="utf-8") as file:
            programs = json.load(file)
        self.assertGreater(len(programs), 20)
        for each in programs:
            self.assertTrue({"name", "kind", "from", "built", "run"} <= set(each), each)
            self.assertIn(each["kind"], ("openmp", "mpi"))
            self.assertTrue("right" in each or "same" in each, f"nothing of {each['name']} is checked")


class Attribute(unittest.TestCase):
    def attribute(self, *words):
        """(exit status, output, rows by side)"""
        with tempfile.NamedTemporaryFile("r", suffix=".json") as file:
            done = subprocess.run([ATTRIBUTE, BUILD, "--pairs", "2", "--threads", "2", "--json", file.name, *words],
                                  check=False, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
            text = file.read()
        return done.returncode, done.stdout, json.loads(text) if text else {}

    def test_each_part_of_a_run_is_where_it_was(self):
        status, out, rows = self.attribute("--with", "SMELT_OPENMP=-hot", "--own", "took ([0-9.]+)", "--", REGIONS, "30")
        self.assertEqual(status, 0, out)
        self.assertEqual(list(rows), ["stock", "Smelt", "SMELT_OPENMP=-hot"])
        for row in sum(rows.values(), []):
            self.assertEqual(row["regions"], 30, "inner ones and another thread's are not counted")
            self.assertEqual(row["own"], 250)
            self.assertGreaterEqual(row["before_ms"], 3)
            self.assertGreaterEqual(row["between_ms"], 29 * 0.1)
            self.assertGreaterEqual(row["after_ms"], 2)
            parts = sum(row[name] for name in ("before_ms", "first_ms", "second_ms", "regions_ms", "between_ms",
                                               "after_ms"))
            self.assertAlmostEqual(parts, row["inside_ms"], delta=0.05)
            self.assertGreaterEqual(row["threads"], 2)
        for line in ("| before the first region, ms |", "| - other regions, ms |", "under SMELT_OPENMP=-hot: "):
            self.assertIn(line.replace("| before", "| - before"), out)

    def test_it_was_under_smelt(self):
        script = 'case $LD_PRELOAD in *libsmelt_gomp*) echo "took 2";; *) echo "took 1";; esac; exec ' + REGIONS
        status, out, rows = self.attribute("--own", "took ([0-9]+)", "--", "/bin/sh", "-c", script)
        self.assertEqual(status, 0, out)
        self.assertEqual([row["own"] for side in ("stock", "Smelt") for row in rows[side]], [1000, 1000, 2000, 2000])

    def test_what_cannot_be_told_is_said(self):
        for words, said in ((["--", "true"], "no process of it opened a parallel region"),
                            (["--", "false"], "exit status 1"),
                            (["--own", "never", "--", REGIONS], "no line of its output matches 'never'")):
            status, out, _ = self.attribute(*words)
            self.assertEqual(status, 1, out)
            self.assertIn(said, out)
        self.assertEqual(self.attribute("--with", "x", "--", "true")[0], 2)


unittest.main(argv=sys.argv[:1])
