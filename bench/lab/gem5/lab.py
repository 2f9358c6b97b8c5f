#!/usr/bin/env python3
"""Barriers, groups, OpenMP programs on simulated machines: GEM5=PROGRAM lab.py barriers|group|openmp --cores N [options]

barriers: what messages cost there, what each pattern takes, and what Smelt's model says of it, once knowing these
costs, once only the hops. group: collectives of a group beside its peers' ways. openmp: a program under the stock
runtime, and under Smelt. Each prints a table (README.md).
"""
import argparse
import datetime
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
# A futex_wake that finds nobody, in a loop on a 2-CPU EPYC virtual machine; gem5's system calls are free otherwise.
FUTEX_NS = 150
# name: nodes of so many cores, how they are joined, cycles from one to the next, what a profile calls that distance
TOPOLOGIES = {
    "mesh": (lambda cores: 1, "line", 0, "same last-level cache"),
    "two-sockets": (lambda cores: 2, "line", 100, "other package"),
    "ring": (lambda cores: 4, "ring", 60, "other package"),
    "clusters": (lambda cores: max(1, cores // 4), "star", 40, "same node"),
}
PATTERNS = ("dissemination:1 dissemination:2 dissemination:3 binary binomial knomial:4 knomial:8 fibonacci mst cluster "
            "adaptive-sorted optimised hybrid forest hierarchical:1 hierarchical:3 spread:3 best").split()
DISTANCES = ["self", "same core", "same last-level cache", "same node", "same package", "other package"]
BUSY = ("send_busy", "recv_busy", "ready_read")
BURSTS = (8, 32)  # messages that two cores tell each other at once
WAYS = ("smelt", "flat", "sm", "xhc", "linear")
# What of it has which: Open MPI's coll/sm and coll/xhc have no rows of blocks, which its linear ways serve.
OPS = {**dict.fromkeys(("barrier", "broadcast", "reduce", "allreduce"), WAYS[:4]),
       **dict.fromkeys(("scatter", "alltoall"), (WAYS[0], WAYS[1], WAYS[4]))}
CONSTRUCTS = ("parallel", "barrier", "for", "for-reduction", "single", "for-dynamic", "task")


def built(program, args):
    return f"{args.build}/bench/lab/gem5/{program}" + ("" if args.arch == "x86-64" else f"-{args.arch}")


class Machine:
    def __init__(self, args):
        nodes, self.links, self.cross, self.far = TOPOLOGIES[args.topology]
        self.args, self.cores, self.nodes = args, args.cores, nodes(args.cores)

    def __str__(self):
        meshes = f"{self.nodes} meshes in a {self.links}, {self.cross} cycles apart" if self.nodes > 1 else "one mesh"
        return f"{self.cores} {self.args.arch} cores, {self.args.cpu}; {self.args.topology}: {meshes}; 3 GHz"

    def place(self, core):
        node = core * self.nodes // self.cores
        outer = node if self.far == "other package" else 0
        return {"os": core, "package": outer, "core": core, "llc": node, "node": outer}

    def simulate(self, options, command, where=None):
        """The lines that the program printed, as words; and what that took. `where`: the folder that it runs in."""
        with tempfile.TemporaryDirectory() as folder, open(f"{folder}/said", "w+") as said, \
                open(f"{folder}/warned", "w+") as warned:
            start = time.time()
            words = [os.environ["GEM5"], "-q", "-d", folder, f"{HERE}/machine.py", "--cores", self.cores,
                     "--nodes", self.nodes, "--links", self.links, "--cross", self.cross, "--cpu", self.args.cpu]
            run = subprocess.Popen([*map(str, words), *options, *command], stdout=said, stderr=warned, cwd=where,
                                   env={**os.environ, "GEM5_NODES": str(self.nodes), "GEM5_FUTEX_NS": str(FUTEX_NS)})
            status, usage = os.wait4(run.pid, 0)[1:]
            run.returncode = os.waitstatus_to_exitcode(status)
            said.seek(0)
            warned.seek(0)
            text, warnings = said.read(), warned.read().splitlines()
        # The simulator's own words come in whole buffers, and half a line of them may stand before one of the program's.
        lines = re.findall("(?:PAIR|FAN|LOOP|BARRIER|GROUP|PLAN|CONSTRUCT|END) .*", text)
        end = [line for line in lines if line.startswith("END ")]
        if run.returncode or not end or "exiting with" not in end[0]:
            sys.exit("\n".join(["lab.py: the simulator failed:", *text.splitlines()[-6:], *warnings[-6:]]))
        _, cycles, _, protocol = end[0].split(":")[0].split()
        took = (f"{int(cycles) / 1e6:.1f} million cycles of {protocol} in {usage.ru_utime + usage.ru_stime:.0f} s of CPU "
                f"({time.time() - start:.0f} s), {usage.ru_maxrss / 1024:.0f} MiB")
        return [line.split() for line in lines], took

    def program(self, plan):
        with tempfile.NamedTemporaryFile("w", suffix=".plan") as file:
            file.write(plan)
            file.flush()
            command = [built("barriers", self.args), str(self.cores), str(self.nodes), "pool"]
            return self.simulate(["--pool", "--input", file.name], command)


def company(machine):
    """(what, near or far, how many) -> programs: many messages at once, as in core/measure/fans.cc and queues.cc."""
    node, idle = machine.cores // machine.nodes, {core: [] for core in range(machine.cores)}
    near = (range(1, node), [(i, i + node // 2) for i in range(node // 2)])
    far = (range(node, machine.cores), [(i, i + node) for i in range(node)])
    most = lambda things: min(32, 1 << len(things).bit_length() - 1) if things else 0
    for away, (children, pairs) in (("near", near), ("far", far))[:machine.nodes]:
        # With fewer children the round trip's other parts hide it; a single pair meets nobody.
        for k in (1, most(children)) if len(children) >= 4 else ():
            some, hear, answer = list(children[:k]), [{"wait": [0]}], [{"wait": [0]}, {"signal": [0]}]
            yield ("gather", away, k), {**idle, 0: [{"signal": some, "shared_line": True}, {"wait": some}],
                                        **dict.fromkeys(some, answer)}
            yield ("scatter", away, k), {**idle, 0: [{"signal": some}, {"wait": some[-1:]}],
                                         **dict.fromkeys(some, hear), some[-1]: answer}
        for k in (1, most(pairs)) if len(pairs) >= 2 else ():
            for burst in BURSTS:
                yield (f"burst{burst}", away, k), {**idle, **{i: [{"signal": [j] * burst}, {"wait": [j] * burst}]
                                                              for pair in pairs[:k] for i, j in (pair, pair[::-1])}}


def in_company(times, costs, is_far, typical):
    """Raises what further messages cost to what many cost each. How long one keeps what its distance shares, which is
    typical if none was seen to wait, or the most that it can be."""
    kept, said = {}, []
    for away in ("near", "far"):
        of = lambda what: {k: time for (kind, where, k), time in times.items() if (kind, where) == (what, away)}
        scatter, gather, few, many = map(of, ("scatter", "gather", *(f"burst{burst}" for burst in BURSTS)))
        if gather:
            last = max(gather)
            more = [(trips[last] - trips[1]) / (last - 1) for trips in (scatter, gather)]
            more[1] -= costs["poller"]
            said.append(f"a further send {away} {more[0]:.1f}, receive {more[1]:.1f}")
            for name, least in zip(BUSY, more):
                for a, row in enumerate(costs[name]):
                    row[:] = [least if a != b and is_far(a, b) == (away == "far") and least > 1.1 * cost else cost
                              for b, cost in enumerate(row)]
        if many:
            pairs = max(many)
            alone, line = ((many[k] - few[k]) / (BURSTS[1] - BURSTS[0]) for k in (1, pairs))
            most = line / pairs / (2 if away == "near" else 1)  # Both ways go through a cache.
            kept[away] = most if line > 1.25 * alone else min(most, typical.get(away, most))
            said.append(f"a line of one pair {away} {alone:.1f}, of {pairs} {line:.1f}")
    print("in company: " + ("; ".join(said) or "too few cores"))
    return kept


def measure(machine, stride):
    """A profile of the machine, as smelt calibrate would write it; what was not measured has its two nodes' median."""
    together = {"-".join(map(str, what)): (what, steps) for what, steps in company(machine)}
    scripts = "".join(schedule(name, steps, 12, "loop") for name, (_, steps) in together.items())
    lines, took = machine.program(f"pairs {stride}\nfan\n{scripts}")
    times = {together[line[1]][0]: float(line[2]) for line in lines if line[0] == "LOOP"}
    n, near_far = machine.cores, {}
    place = [machine.place(i) for i in range(n)]
    nodes = lambda a, b: {place[a]["llc"], place[b]["llc"]}
    far = lambda a, b: len(nodes(a, b)) > 1
    costs = {name: {} for name in ("hop", *BUSY)}
    fans = {}
    for word, *rest in lines:
        if word == "PAIR":
            a, b, (hop, *values) = int(rest[0]), int(rest[1]), map(float, rest[2:])
            costs["hop"][a, b] = costs["hop"][b, a] = hop
            for k, name in enumerate(BUSY):
                costs[name][a, b], costs[name][b, a] = max(0.0, values[2 * k]), max(0.0, values[2 * k + 1])
        elif word == "FAN":
            fans[rest[0], int(rest[1])] = float(rest[2])
    matrices = {}
    for name, of in costs.items():
        near_far[name] = [statistics.median([cost for pair, cost in of.items() if far(*pair) == away] or of.values())
                          for away in (False, True)]
        like = lambda a, b: [cost for pair, cost in of.items() if nodes(*pair) == nodes(a, b)]
        cell = lambda a, b: of[a, b] if (a, b) in of else statistics.median(like(a, b) or [near_far[name][far(a, b)]])
        matrices[name] = [[0.0 if a == b else cell(a, b) for b in range(n)] for a in range(n)]
    near = sorted((k, late) for (kind, k), late in fans.items() if kind == "near")
    poller = max(0.0, (near[-1][1] - near[0][1]) / (near[-1][0] - near[0][0])) if len(near) > 1 else 0.0
    crossing = max(0.0, fans["both", 2] - fans["far", 1]) if ("both", 2) in fans else 0.0
    text = ", ".join(f"{name} {close:.0f}/{apart:.0f}" for name, (close, apart) in near_far.items())
    print(f"{len(costs['hop']) // 2} pairs, medians near/far: {text}; poller {poller:.1f}, crossing {crossing:.0f}")
    text = ", ".join(f"{kind} {k}: {late:.0f}" for (kind, k), late in sorted(fans.items()))
    print(f"a line's last reader, of 1, 2, ...: {text}")
    typical = {"far": near_far["hop"][True] * (0.01 if machine.far == "other package" else 0.025)}  # docs/model.md
    kept = in_company(times, {"poller": poller, **matrices}, far, typical)
    service = {machine.far: kept.get("far", 0), "same last-level cache": kept.get("near", 0)}
    print(f"measuring took {took}\n")
    return {"format": "smelt machine profile", "version": 6, "machine": str(machine), "fingerprint": f"{n:016x}",
            "kernel": "gem5", "microcode": "", "created": f"{datetime.date.today()}T00:00:00Z", "kind": "measured",
            "method": "8 round trips", "unit": "cycles", "one_way_hop": statistics.median(costs["hop"].values()),
            "spread": 0, "pairs_measured": len(costs["hop"]), "poller": poller,
            "service": [service.get(name, 0) for name in DISTANCES], "conditions": [], "others": 0,
            "crossing": [crossing if name == machine.far else 0 for name in DISTANCES], "cpus": place,
            "matrices": "row = sender, column = receiver, both as in cpus", **matrices,
            "wait": {"poll": 0, "yield": 0, "futex_wake": 0, "futex_return": 0},
            **{name: [] for name in ("methods", "classes", "fans", "queues", "distances", "winners")}}


def hops_alone(profile):
    """The same machine as a matrix file: what most people know of theirs."""
    half = [[cost / 2 for cost in row] for row in profile["hop"]]
    return {"name": "hops alone", "unit": "cycles", "numa_node": [cpu["llc"] for cpu in profile["cpus"]],
            "t_send": half, "t_receive": half}


def plans(machine, patterns):
    """pattern, core -> steps, whether it is an exchange: as Smelt plans it on a machine."""
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        json.dump(machine, file)
        file.flush()
        for pattern in patterns:
            run = subprocess.run([os.environ["SMELT"], "tree", "--machine", file.name, "--op", "barrier", "--json",
                                  "--pattern", pattern], capture_output=True, text=True)
            if run.returncode:
                print(f"lab.py: no {pattern}: {run.stderr.strip()}", file=sys.stderr)
                continue
            tree = json.loads(run.stdout)
            programs = ((int(core), steps) for core, steps in tree["programs"].items())
            yield (pattern, {core: [step for step in steps if next(iter(step.values()))] for core, steps in programs},
                   "root" not in tree)


def schedule(name, steps, repetitions, command="schedule"):
    def words(step):
        kind = "W" if "wait" in step else "L" if step.get("shared_line") else "S"
        peers = step.get("wait") or step["signal"]
        return [kind, str(len(peers)), *map(str, peers)]
    lines = [" ".join(sum(map(words, steps[core]), [])) for core in sorted(steps)]
    return "\n".join([f"{command} {name} {repetitions}", *lines, ""])


def ranks(values):
    order = sorted(values)
    return [order.index(value) + (order.count(value) - 1) / 2 for value in values]


def spearman(a, b):
    """Of two lists, the correlation of their ranks; equal ones share theirs."""
    a, b = ranks(a), ranks(b)
    mean = statistics.mean(a)
    size = (sum((x - mean) ** 2 for x in a) * sum((y - mean) ** 2 for y in b)) ** 0.5
    return sum((x - mean) * (y - mean) for x, y in zip(a, b)) / size if size else 0.0


def judge(rows, model):
    """How well a model's prices order what was simulated, and what its choice takes over the best: alone, in a loop."""
    for k, what in ((1, "alone"), (0, "in a loop")):
        measured, priced = [row["simulated"][k] for row in rows], [row[model][k] for row in rows]
        chosen = min(rows, key=lambda row: row[model][k])
        ratio = statistics.median(price / time for price, time in zip(priced, measured))
        yield (f"{model}, {what}: Spearman {spearman(measured, priced):.2f}; it chooses {chosen['name']}, "
               f"{chosen['simulated'][k] / min(measured):.2f} of the best; priced/simulated {ratio:.2f}")


def barriers(machine, args):
    os.environ["SMELT"] = f"{args.build}/core/smelt"
    sys.path.insert(0, f"{HERE}/../tests")
    import reprice  # docs/model.md as a program of its own
    profile = measure(machine, args.stride or -(-machine.cores * (machine.cores - 1) // 2 // 130))
    if args.profile:
        with open(args.profile, "w") as file:
            json.dump(profile, file)
    hops = hops_alone(profile)
    models = {"all costs": reprice.from_profile(profile)["overlap"],
              "hops alone": reprice.from_matrices(hops)["overlap"]}
    rows, plan = {}, f"counter {args.repetitions}\n"
    for source, mark in ((profile, ""), (hops, "/hops")):
        for pattern, steps, exchange in plans(source, args.patterns):
            text = schedule("", steps, 0)
            if text in rows:
                continue
            row = rows[text] = {"name": pattern + mark}
            plan += schedule(row["name"], steps, args.repetitions)
            index = dict(zip(steps, steps))
            for model, costs in models.items():
                ends = reprice.episode(steps, costs, index, dict.fromkeys(steps, 0.0), exchange)
                row[model] = (reprice.in_a_loop(steps, costs, index, exchange), max(ends.values()))
    lines, took = machine.program(plan)
    times = {line[1]: (float(line[2]), float(line[3])) for line in lines if line[0] == "BARRIER"}
    rows = sorted(({**row, "simulated": times[row["name"]]} for row in rows.values()), key=lambda row: row["simulated"])
    titles = (f"{f'priced, {model}':>20}" for model in models)
    print(f"{'cycles in a loop, alone':24} {'simulated':>15} " + " ".join(titles))
    for row in [*rows, {"name": "counter", "simulated": times["counter"]}]:
        cells = zip((7, 12, 12), (row[key] for key in ("simulated", *models) if key in row))
        print(f"{row['name']:24} " + " ".join(f"{loop:{width}.0f} {alone:7.0f}" for width, (loop, alone) in cells))
    for model in models:
        print("\n".join(judge(rows, model)))
    print(f"the barriers took {took}")


def calibrate(machine, args, folder):
    """A file there: what the machine costs, and what Smelt chooses under that as its winners."""
    profile = measure(machine, args.stride or -(-machine.cores * (machine.cores - 1) // 2 // 40))
    command = [f"{args.build}/bench/lab/gem5/plan", f"{folder}/profile"]
    subprocess.run(command, input=json.dumps(profile), text=True, check=True)


# The simulator finds what is opened beside an open folder by such a name alone, in the folder where it runs.
PROFILE = ".//profile"


def run_group(machine, args, options, folder):
    program = [f"{args.build}/bench/lab/gem5/group", str(machine.cores), str(machine.nodes), PROFILE]
    return machine.simulate(options, program, folder)


def calls(ops, sizes, repetitions):
    return "".join(f"{op} {size} {way} {repetitions if size <= 4096 else 4}\n"
                   for op in ops for size in ([0] if op == "barrier" else sizes) for way in OPS[op])


def group(machine, args):
    with tempfile.TemporaryDirectory() as folder:
        calibrate(machine, args, folder)
        with open(f"{folder}/plan", "w") as file:
            file.write(calls(args.ops, args.sizes, args.repetitions))
        options = ["--quick-start", *(word for given in args.env for word in ("--env", given))]
        lines, took = run_group(machine, args, [*options, "--input", file.name], folder)
    times = {}
    for word, *rest in lines:
        if word == "GROUP":
            op, size, way, *cycles = rest
            times.setdefault((op, int(size)), {})[way] = [float(time) for time in cycles]
        elif word == "PLAN":
            print(*rest)
    for k, what in ((0, "in a loop (loose)"), (1, "alone (strict)")):
        print(f"{f'cycles {what}':28} " + " ".join(f"{way:>8}" for way in WAYS) + "  best peer over Smelt")
        for (op, size), row in times.items():
            best = min(times[k] for way, times in row.items() if way != "smelt")
            print(f"{f'{op} {size}' if size else op:28} " +
                  " ".join(f"{row[way][k]:8.0f}" if way in row else f"{'-':>8}" for way in WAYS) +
                  f" {best / row['smelt'][k]:6.2f}")
    print(f"the collectives took {took}")


def sys_folder(machine, folder):
    """A /sys that says what the machine is, as libgomp and Smelt read it."""
    def put(path, text):
        path = f"{folder}/devices/system/{path}"
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w") as file:
            file.write(f"{text}\n")

    def alike(key, core):
        cores = [i for i in range(machine.cores) if machine.place(i)[key] == machine.place(core)[key]]
        return f"{cores[0]}-{cores[-1]}"
    for word in ("possible", "online", "present"):
        put(f"cpu/{word}", f"0-{machine.cores - 1}")
    nodes = {}
    for i in range(machine.cores):
        place = machine.place(i)
        nodes[place["node"]] = alike("node", i)
        package = alike("package", i)
        for name, text in (("thread_siblings_list", i), ("core_cpus_list", i), ("core_siblings_list", package),
                           ("package_cpus_list", package), ("physical_package_id", place["package"]), ("core_id", i)):
            put(f"cpu/cpu{i}/topology/{name}", text)
        caches = ((1, "Data", i), (1, "Instruction", i), (3, "Unified", alike("llc", i)))
        for k, (level, kind, whose) in enumerate(caches):
            cache = {"level": level, "type": kind, "size": "1024K", "shared_cpu_list": whose, "coherency_line_size": 64}
            for name, text in cache.items():
                put(f"cpu/cpu{i}/cache/index{k}/{name}", text)
    for word in ("online", "possible"):
        put(f"node/{word}", f"0-{len(nodes) - 1}")
    for node, cores in nodes.items():
        put(f"node/node{node}/cpulist", cores)


def openmp(machine, args):
    program = args.program or [built("constructs", args), str(args.repetitions), *args.constructs]
    columns = {}
    with tempfile.TemporaryDirectory() as folder:
        sys_folder(machine, folder)
        words = ["--sys", folder, "--env", f"OMP_NUM_THREADS={machine.cores}", "--env", f"HOME={folder}",
                 *(["--quick-start"] if not args.program and args.arch == "x86-64" else [])]
        under = ["--env", f"LD_PRELOAD={args.shim or f'{args.build}/gomp_shim/libsmelt_gomp.so'}",
                 *(word for given in args.env for word in ("--env", given))]
        if args.calibrated:
            calibrate(machine, args, folder)
            run_group(machine, args, ["--sys", folder], folder)  # the profile becomes that machine's
            under += ["--env", f"SMELT_PROFILE={PROFILE}"]
        for name, more in (("stock", []), ("Smelt", under)):
            lines, took = machine.simulate([*words, *more], program, folder)
            columns[name] = {line[1]: float(line[2]) for line in lines if line[0] == "CONSTRUCT"}
            print(f"{name} took {took}")
    print(f"{'cycles of a construct':24} {'stock':>8} {'Smelt':>8} {'ratio':>6}")
    for name, stock in columns["stock"].items():
        ours = columns["Smelt"][name]
        print(f"{name:24} {stock:8.0f} {ours:8.0f} {stock / ours:6.2f}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=("barriers", "group", "openmp"))
    parser.add_argument("--cores", type=int, required=True, help="a power of two")
    parser.add_argument("--topology", choices=TOPOLOGIES, default="two-sockets")
    parser.add_argument("--cpu", choices=("in-order", "out-of-order", "wide", "mixed"), default="out-of-order",
                        help="wide: out of order, 224 instructions for 64; mixed: half of the first two each")
    parser.add_argument("--arch", choices=("x86-64", "aarch64"), default="x86-64", help="barriers, openmp: of the cores")
    parser.add_argument("--build", default=f"{HERE}/../../../build", help="Smelt's build folder")
    parser.add_argument("--repetitions", type=int, default=20)
    parser.add_argument("--stride", type=int, help="barriers: of so many pairs measure one (default: 130 in all)")
    parser.add_argument("--patterns", nargs="+", default=PATTERNS, help="barriers: these alone")
    parser.add_argument("--profile", help="barriers: write the measured profile into this file")
    parser.add_argument("--ops", nargs="+", choices=OPS, default=list(OPS)[:4], help="group: these alone")
    parser.add_argument("--sizes", nargs="+", type=int, default=[8, 256, 4096, 65536], help="group: bytes")
    parser.add_argument("--env", action="append", default=[], help="NAME=VALUE for Smelt, but in barriers")
    parser.add_argument("--constructs", nargs="+", choices=CONSTRUCTS, default=[], help="openmp: these alone")
    parser.add_argument("--shim", help="openmp: libsmelt_gomp.so of a cross-compiled build, for AArch64")
    parser.add_argument("--calibrated", action="store_true", help="openmp: Smelt knows the costs, and need not guess")
    parser.add_argument("--program", nargs="+", help="openmp: another program that prints CONSTRUCT NAME CYCLES")
    args = parser.parse_args()
    args.build = os.path.abspath(args.build)
    if "GEM5" not in os.environ:
        sys.exit(f"lab.py: GEM5 says where the simulator is; {HERE}/README.md says how to build one")
    machine = Machine(args)
    print(f"Simulated: {machine}; system calls free but futex's ({FUTEX_NS} ns)")
    {"barriers": barriers, "group": group, "openmp": openmp}[args.what](machine, args)


if __name__ == "__main__":
    main()
