#!/usr/bin/env python3
"""bench/lab/gem5. gem5_test.py LAB BUILD: plans, profile and judgement, by a stand-in for the simulator.
gem5_test.py LAB BUILD simulated: the smallest machines, by the simulator that GEM5 names."""
import json
import os
import subprocess
import sys
import tempfile

LAB, BUILD = sys.argv[1:3]
SMELT = f"{BUILD}/core/smelt"
sys.dont_write_bytecode = True
sys.path.insert(0, LAB)
import lab

# Every second pair: a near one's hop takes 80 cycles, a far one's 400, that of opposite nodes of a ring 700; the k-th schedule takes 100 k in a loop, and one cycle more alone. A further child takes 20 cycles near and 60 far; a line of a burst 40 of one pair, 80 of many (40 on a ring).
STAND_IN = """#!/usr/bin/env python3
import sys
options = dict(zip(sys.argv, sys.argv[1:]))
cores, nodes, times = int(options["--cores"]), int(options["--nodes"]), 1000 * any("barriers-aarch64" in word for word in sys.argv)
for word, *rest in filter(None, map(str.split, open(options.get("--input", "/dev/null")))):
    if word == "pairs":
        for a in range(0, cores):
            for b in range(a + 1, cores, 2):
                apart = b * nodes // cores - a * nodes // cores
                hop = 700 if options["--links"] == "ring" and apart == 2 else 400
                print("PAIR", a, b, *((hop, 240, 240, 6, 6, 250, 250) if apart else (80, 30, 30, 5, 5, 35, 35)))
    elif word == "fan":
        print("FAN near 1 80\\nFAN near 4 110\\nFAN far 1 400\\nFAN both 2 420")
    elif word == "loop":
        what, away, k = rest[0].split("-")
        burst = int(what[5:]) * (40 if k == "1" or options["--links"] == "ring" else 80) if what.startswith("burst") else 0
        print("LOOP", rest[0], burst or 300 + (20 if away == "near" else 60) * (int(k) - 1))
    elif word in ("schedule", "counter"):
        times += 100
        print("info: half a lineBARRIER", rest[0] if word == "schedule" else word, times, times + 1)
    elif word in ("broadcast", "reduce"):
        print("GROUP", word, rest[0], rest[1], *((200, 300) if rest[1] == "smelt" else (400, 150)))
if "--sys" in options and "LD_PRELOAD" in " ".join(sys.argv):
    assert any(word.startswith("SMELT_PROFILE=") and open(word.split("=")[1]) for word in sys.argv)
    print("CONSTRUCT barrier 50")
elif "--sys" in options:
    print("CONSTRUCT barrier 100")
print("END 1000000 cycles MESI_Two_Level: exiting with last active thread context")
"""


def table(words, **environment):
    run = subprocess.run([sys.executable, f"{LAB}/lab.py", *words, "--build", BUILD], capture_output=True, text=True,
                         env={**os.environ, **environment})
    assert run.returncode == 0, run.stdout + run.stderr
    return run.stdout


def rows_of(text, width):
    words = [line.split() for line in text.splitlines()]
    number = lambda cell: cell.replace(".", "").isdigit()
    return {row[0]: list(map(float, row[1:])) for row in words if len(row) == width and all(map(number, row[1:]))}


def without_a_simulator():
    rows = [{"name": str(k), "simulated": (k, k), "right": (2 * k, 2 * k), "wrong": (-k, 5)} for k in (1, 2, 4)]
    assert all("Spearman 1.00; it chooses 1, 1.00 of the best; priced/simulated 2.00" in line
               for line in lab.judge(rows, "right"))
    alone, loop = lab.judge(rows, "wrong")
    assert "Spearman -1.00; it chooses 4, 4.00 of the best" in loop, loop
    assert "Spearman 0.00" in alone, alone  # all the same: no order
    assert lab.spearman([1, 2, 2, 3], [1, 2, 3, 4]) == lab.spearman([1, 2, 3, 4], [1, 2, 2, 3]) < 1
    with tempfile.TemporaryDirectory() as folder:
        stand_in, profile = f"{folder}/gem5", f"{folder}/profile.json"
        with open(stand_in, "w") as file:
            file.write(STAND_IN)
        os.chmod(stand_in, 0o755)
        for topology, far in (("two-sockets", "other package"), ("clusters", "same node"), ("ring", "other package")):
            text = table(["barriers", "--cores", "16", "--topology", topology, "--profile", profile], GEM5=stand_in)
            rows = rows_of(text, 7)
            assert len(rows) > 15 and "counter" in rows_of(text, 3) and [*rows.values()] == sorted(rows.values()), text
            # What the table says that Smelt asks for is what Smelt asks for on that machine.
            for pattern in ("best", "dissemination:1", "binomial", "hybrid"):
                if pattern not in rows:
                    continue  # the same schedule as another's
                tree = json.loads(subprocess.run([SMELT, "tree", "--machine", profile, "--op", "barrier", "--json",
                                                  "--pattern", pattern], capture_output=True, check=True).stdout)
                for told, found in zip(rows[pattern][2:4], (tree["predicted_in_a_loop"], tree["predicted"])):
                    assert abs(told - found) <= 0.51, (topology, pattern, told, found)
            with open(profile) as file:
                made = json.load(file)
            assert made["hop"][0][3] == 80 and made["hop"][0][15] == 400 and made["poller"] == 10, made["poller"]
            assert made["hop"][0][10] == (700 if topology == "ring" else 400), made["hop"][0]  # not measured
            assert made["crossing"] == [20 if name == far else 0 for name in lab.DISTANCES]
            # In company: four near children only where a node has so many; a further one less the poller's 10.
            near = 10 if topology == "two-sockets" else 5
            assert (made["recv_busy"][0][3], made["recv_busy"][0][15]) == (near, 50), made["recv_busy"][0]
            assert made["send_busy"][0][15] == 240, made["send_busy"][0]  # more than 60 already
            kept = {"two-sockets": (80 / 8, 80 / 4 / 2), "clusters": (80 / 4, 80 / 2 / 2), "ring": (0.01 * 400, 40 / 2 / 2)}[topology]
            kept = dict(zip((far, "same last-level cache"), kept))
            assert made["service"] == [kept.get(name, 0) for name in lab.DISTANCES], made["service"]
        text = table(["barriers", "--cores", "4", "--arch", "aarch64"], GEM5=stand_in)
        assert "4 aarch64 cores" in text and rows_of(text, 3)["counter"] == [1100, 1101], text
        text = table(["group", "--cores", "4", "--ops", "broadcast", "reduce", "--sizes", "8"], GEM5=stand_in)
        for line in ("broadcast 8 200 400 400 400 - 2.00", "reduce 8 300 150 150 150 - 0.50"):  # in a loop, alone
            assert line in [" ".join(row.split()) for row in text.splitlines()], text
        words = " ".join(table(["openmp", "--cores", "4", "--calibrated"], GEM5=stand_in).split())
        assert words.endswith("ratio barrier 100 50 2.00"), words
        subprocess.run(["sed", "-i", "s/END/ENDED/", stand_in], check=True)
        failed = subprocess.run([sys.executable, f"{LAB}/lab.py", "barriers", "--cores", "4"], capture_output=True,
                                text=True, env={**os.environ, "GEM5": stand_in})
        assert failed.returncode == 1 and "the simulator failed" in failed.stderr, failed
    without = {name: value for name, value in os.environ.items() if name != "GEM5"}
    nobody = subprocess.run([sys.executable, f"{LAB}/lab.py", "barriers", "--cores", "4"], capture_output=True,
                            text=True, env=without)
    assert nobody.returncode == 1 and "README.md" in nobody.stderr, nobody
    # The program itself, on this machine: it comes to its end with what Smelt plans.
    if os.path.exists(f"{BUILD}/bench/lab/gem5/barriers"):
        program = [f"{BUILD}/bench/lab/gem5/barriers", "2", "1"]
        plan = "counter 8\nschedule both 8\nS 1 1 W 1 1\nS 1 0 W 1 0\nschedule tree 8\nW 1 1 L 1 1\nS 1 0 W 1 0\n"
        done = subprocess.run(program, capture_output=True, text=True, check=True, input=plan).stdout
        assert [line.split()[1] for line in done.splitlines()] == ["counter", "both", "tree"], done
        wrong = subprocess.run(program, capture_output=True, text=True, input="barrier\n")
        assert wrong.returncode == 2 and "unknown" in wrong.stdout, wrong
        # It checks every result itself.
        with tempfile.TemporaryDirectory() as folder:
            program = [f"{BUILD}/bench/lab/gem5/group", "4", "2", f"{folder}/profile"]
            plan = lab.calls(list(lab.OPS)[:4], [8, 2048, 65536], 4) + lab.calls(("scatter", "alltoall"), [8, 8192], 4)
            part = {name: [row[:4] for row in made[name][:4]] for name in ("hop", *lab.BUSY)}
            part = {**made, **part, "cpus": made["cpus"][:4], "pairs_measured": 12}
            subprocess.run([f"{BUILD}/bench/lab/gem5/plan", program[3]], check=True, text=True, input=json.dumps(part))
            done = subprocess.run(program, capture_output=True, text=True, input=plan)
            rows = [line.split()[1:4] for line in done.stdout.splitlines() if line.startswith("GROUP")]
            assert done.returncode == 0, done
            assert rows == [line.split()[:3] for line in plan.splitlines()], rows
            assert "costs from SMELT_PROFILE" in done.stdout, done
            wrong = subprocess.run(program, capture_output=True, text=True, input="broadcast 7 smelt 4\n")
            assert wrong.returncode == 2 and "unknown" in wrong.stdout, wrong
        done = subprocess.run([f"{BUILD}/bench/lab/gem5/constructs", "2", "single", "parallel"], capture_output=True,
                              text=True, check=True).stdout
        assert [line.split()[1] for line in done.splitlines()] == ["parallel", "single"], done


def simulated():
    if "GEM5" not in os.environ:
        print("skipped: GEM5 does not say where a gem5 is (bench/lab/gem5/README.md)")
        sys.exit(77)
    small = ["--cores", "4", "--repetitions", "8"]
    text = table(["barriers", *small, "--cpu", "in-order", "--patterns", "dissemination:1", "sequential"])
    rows = rows_of(text, 7)
    assert rows["dissemination:1"][0] > 400, text  # nobody is faster than a hop between the sockets
    print(text)
    text = table(["openmp", *small, "--topology", "mesh"])
    rows = rows_of(text, 4)
    assert rows["barrier"][0] > 0 and rows["parallel"][0] > rows["barrier"][0] and len(rows) == 7, text
    print(text)
    text = table(["group", *small, "--topology", "mesh", "--ops", "allreduce", "--sizes", "8"])
    assert " ".join(text.split()).count("allreduce 8") == 2 and "costs from SMELT_PROFILE" in text, text
    print(text)


if __name__ == "__main__":
    (simulated if len(sys.argv) > 3 else without_a_simulator)()
