#!/usr/bin/env python3
"""What smelt report --measure times on this machine, for half a minute: the page has OpenMP's constructs and MPI's
collectives, stock and with Smelt, every one with times above 0.

  measure_test.py SMELT
"""
import html, os, re, subprocess, sys, tempfile

with tempfile.TemporaryDirectory() as folder:
    page = folder + "/page.html"
    env = {key: value for key, value in os.environ.items() if not key.startswith("SMELT_")}
    env.update(HOME=folder, XDG_CACHE_HOME=folder + "/cache")
    done = subprocess.run([sys.argv[1], "report", "--measure", "-o", page], capture_output=True, text=True, env=env)
    if done.returncode != 0:
        sys.exit(f"FAIL: {done}")
    with open(page, encoding="utf-8") as file:
        section = re.search(r'<section id="measured".*?</section>', file.read(), re.S)
if not section:
    sys.exit("FAIL: there is no section 'measured'")
words = " ".join(html.unescape(re.sub("<[^>]*>", " ", section.group(0))).split())
time = r"(\d+(?:\.\d+)?)"
times = rf"(?:(?:near|far) )?{time} {time} {time} "  # near and far apart, where the CPUs moved meanwhile
failures = []
for what, row in (("OpenMP", rf"\bBARRIER {times}"), ("OpenMP", rf"\bREDUCTION {times}"),
                  ("OpenMP", rf"\bPARALLEL FOR {times}"), ("MPI", rf"\bbarrier, µs .*? - {times}"),
                  ("MPI", rf"\bbcast, µs .*? 8 {times}"),
                  ("MPI", rf"\ballreduce, µs .*? 8 {times}")):
    found = re.search(row, words)
    if not found or not all(float(each) > 0 for each in found.groups()):
        failures.append(f"{what}: no row {row}")
for failure in failures:
    print("FAIL:", failure)
if failures:
    print(words)
print(f"{len(failures)} failures")
sys.exit(1 if failures else 0)
