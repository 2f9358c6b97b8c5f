"""Prices what `smelt tree --json` prints, from docs/model.md ("Pricing a schedule") alone, and compares the figures.

An implementation of its own: no code is shared with core/schedule/predict.cc, so this is also that document's test.
Environment: SMELT, the program; SMELT_TEST_ZOO, class files; SMELT_TEST_MACHINES, matrix files (optional).
"""
import glob, json, os, random, struct, subprocess, sys, tempfile

SMELT = os.environ["SMELT"]
SHARES = {"send_busy": (0.25, 0.25), "recv_busy": (0.1, 0.1), "ready_read": (0.5, 0.45)}  # of a hop: near, far
POLLER, PAPER_POLLER = 0.015, 0.007  # of the mean near hop
# What a message keeps of what its distance shares, of the distance's mean hop
SERVICE = {"same core": 0, "same last-level cache": 0, "same node": 1 / 40, "same package": 1 / 100, "other package": 1 / 100}
# What a line costs that is read on both sides, of the distance's mean hop
CROSSING = {"same core": 0, "same last-level cache": 0, "same node": 0.25, "same package": 0.25, "other package": 0.6}
DISTANCES = ["self", *SERVICE]


def single(value):
    return struct.unpack("f", struct.pack("f", value))[0]


def matrix(n, entry):
    return [[single(entry(i, j)) if i != j else 0.0 for j in range(n)] for i in range(n)]


class Costs:
    """Of a whole machine; participants are indices into it."""

    def __init__(self, cpus, hop, send_busy, recv_busy, ready_read, poller, place, service, crossing):
        self.cpus, self.hop, self.send_busy, self.recv_busy, self.ready_read, self.poller = \
            cpus, hop, send_busy, recv_busy, ready_read, poller
        self.place, self.service = place, {name: single(cost) for name, cost in service.items()}
        self.crossing = {name: single(cost) for name, cost in crossing.items()}

    def reach(self, i, readers):
        """How long a store of i to one line takes to each of its readers."""
        far = max((distance_of(self.place[readers[0]], self.place[q]) for q in readers[1:]), key=DISTANCES.index, default="self")
        crossing = self.crossing.get(far, 0.0)
        farthest = max(self.hop[i][q] for q in readers)
        return {q: farthest + crossing if crossing > 0 else self.hop[i][q] for q in readers}

    def queues(self, i, j):
        """What a message from i to j passes through, one after the other: (key, how long it keeps it)."""
        a, b = self.place[i], self.place[j]
        distance = distance_of(a, b)
        if distance == "same core":
            return
        yield ("core", a["core"]), self.service["same core"]
        if distance == "same last-level cache":
            yield ("in cache", a["llc"]), self.service[distance]
        elif distance == "same node":
            yield ("out of cache", a["llc"]), self.service[distance]
        elif a["node"] != b["node"]:
            yield ("link", a["node"], b["node"]), self.service[distance]


def distance_of(a, b):
    if a["package"] != b["package"]:
        return "other package"
    for level, name in (("core", "same core"), ("llc", "same last-level cache"), ("node", "same node")):
        if a[level] == b[level]:
            return name
    return "same package"


def typical(shares, hop, place):
    hops = {}
    for i, a in enumerate(place):
        for j, b in enumerate(place):
            if i != j:
                hops.setdefault(distance_of(a, b), []).append(hop[i][j])
    return {name: single(shares[name]) * single(sum(found) / len(found)) for name, found in hops.items()}


NOTHING = dict.fromkeys(SERVICE, 0.0)


def mean_near_hop(hop, llc):
    n = len(hop)
    pairs = [(i, j) for i in range(n) for j in range(n) if i != j]
    near = [(i, j) for i, j in pairs if llc[i] == llc[j]] or pairs
    return sum(hop[i][j] for i, j in near) / len(near) if near else 0.0


def shares_of(cpus, hop, place):
    n = len(cpus)
    llc = [at["llc"] for at in place]
    derived = {name: matrix(n, lambda i, j: hop[i][j] * single(near if llc[i] == llc[j] else far))
               for name, (near, far) in SHARES.items()}
    return Costs(cpus, hop, derived["send_busy"], derived["recv_busy"], derived["ready_read"], POLLER * mean_near_hop(hop, llc),
                 place, NOTHING | typical(SERVICE, hop, place), NOTHING | typical(CROSSING, hop, place))


def reduced(costs):
    """--cost-model paper, of anything but a matrix file."""
    n = len(costs.cpus)
    rest = matrix(n, lambda i, j: max(0.0, costs.hop[i][j] - costs.send_busy[i][j]))
    hop = matrix(n, lambda i, j: costs.hop[i][j] if rest[i][j] > 0 else costs.send_busy[i][j])
    return Costs(costs.cpus, hop, costs.send_busy, rest, rest, costs.poller, costs.place, NOTHING, NOTHING)


def from_matrices(data):
    """Both models of a matrix file."""
    n = len(data["t_send"])
    send = matrix(n, lambda i, j: data["t_send"][i][j])
    receive = matrix(n, lambda i, j: data["t_receive"][i][j])
    cpus = data.get("cpus", list(range(n)))
    hop = matrix(n, lambda i, j: send[i][j] + receive[i][j])
    node = data.get("numa_node", [0] * n)
    place = [{"core": i, "llc": k, "node": k, "package": k} for i, k in enumerate(node)]
    return {"overlap": shares_of(cpus, hop, place),
            "paper": Costs(cpus, hop, send, receive, receive, PAPER_POLLER * mean_near_hop(hop, node), place, NOTHING,
                           NOTHING)}


def from_profile(data):
    overlap = Costs([cpu["os"] for cpu in data["cpus"]], *(matrix(len(data["cpus"]), lambda i, j: data[name][i][j]) for name in
                    ("hop", "send_busy", "recv_busy", "ready_read")), data["poller"],
                    data["cpus"], dict(zip(DISTANCES, data["service"])), dict(zip(DISTANCES, data["crossing"])))
    return {"overlap": overlap, "paper": reduced(overlap)}


def from_classes(data):
    levels = [(name, int(count)) for name, count in (level.split(":") for level in data["shape"].split())]
    n = 1
    for _, count in levels:
        n *= count
    group = {}  # level -> how many CPUs each of its objects has
    below = n
    for name, count in levels:
        below //= count
        group[name] = below
    group["llc"] = group.get("l3", group.get("l2"))

    place = [{"core": i // group["core"], "llc": i // group["llc"], "node": i // group["numa"], "package": i // group["pack"]}
             for i in range(n)]
    hop = matrix(n, lambda i, j: 2 * data["costs"][distance_of(place[i], place[j])]["transfer_ns"])
    overlap = shares_of(list(range(n)), hop, place)
    return {"overlap": overlap, "paper": reduced(overlap)}


def programs_of(tree):
    """CPU -> steps, in the order of the participants."""
    if "programs" in tree:
        return {int(cpu): steps for cpu, steps in tree["programs"].items()}
    children = {int(cpu): list(below) for cpu, below in tree["children"].items()}
    parent = {child: cpu for cpu, below in children.items() for child in below}
    out = {}
    for cpu, below in children.items():
        steps = []
        if tree["op"] == "broadcast":
            if cpu in parent:
                steps.append({"wait": [parent[cpu]]})
            steps += [{"signal": below}] if below else []
        else:
            steps += [{"wait": below}] if below else []
            if cpu in parent:
                steps.append({"signal": [parent[cpu]]})
        out[cpu] = steps
    return out


def episode(programs, costs, index, now, exchange):
    """Everybody begins at now[cpu]; when each is done. The shared line is what `shared_line` says and nothing else.

    exchange: everybody sends at once, so messages queue for what they share; they are read in the step's order, and
    the second one after the first."""
    now = dict(now)
    place = {cpu: k for k, cpu in enumerate(programs)}
    visible = {}  # (from, to) -> times of the messages, in the order in which they were sent
    taken = {}
    at = dict.fromkeys(programs, 0)
    free = {}  # what is shared -> when it is
    while True:
        # Everybody as far as the next signal; then the earliest of these.
        for cpu, steps in programs.items():
            while at[cpu] < len(steps) and "wait" in steps[at[cpu]]:
                step = steps[at[cpu]]
                if any(len(visible.get((peer, cpu), [])) <= taken.get((peer, cpu), 0) for peer in step["wait"]):
                    break
                messages = []
                for peer in step["wait"]:
                    time = visible[peer, cpu][taken.get((peer, cpu), 0)]
                    taken[peer, cpu] = taken.get((peer, cpu), 0) + 1
                    messages.append((time - costs.recv_busy[index[peer]][index[cpu]], place[peer], peer, time))
                alone = True
                for k, (_, _, peer, time) in enumerate(messages if exchange else sorted(messages)):
                    ready = now[cpu] + (costs.ready_read if alone else costs.recv_busy)[index[peer]][index[cpu]]
                    now[cpu] = max(ready, time)
                    alone = exchange and k == 0 and time > ready
                at[cpu] += 1
        signals = [cpu for cpu, steps in programs.items() if at[cpu] < len(steps) and "signal" in steps[at[cpu]]]
        if not signals:
            break
        cpu = min(signals, key=lambda who: (now[who], place[who]))
        step, busy = programs[cpu][at[cpu]], 0.0
        reach = costs.reach(index[cpu], [index[peer] for peer in step["signal"]]) if step.get("shared_line") else {}
        for peer in step["signal"]:
            keeps, hop = costs.send_busy[index[cpu]][index[peer]], reach.get(index[peer], costs.hop[index[cpu]][index[peer]])
            leaves = now[cpu] + ((len(step["signal"]) - 1) * single(costs.poller) if step.get("shared_line") else busy)
            for what, keeps_it in costs.queues(index[cpu], index[peer]) if exchange else ():
                if keeps_it > 0:
                    leaves = max(leaves, free.get(what, 0.0))
                    free[what] = leaves + keeps_it
            visible.setdefault((cpu, peer), []).append(leaves + hop)
            busy = max(busy, keeps) if step.get("shared_line") else busy + keeps
        now[cpu] += busy
        at[cpu] += 1
    assert all(at[cpu] == len(steps) for cpu, steps in programs.items()), "somebody waits for ever"
    return now


def in_a_loop(programs, costs, index, exchange):
    if len(programs) == 1:
        return 0.0
    if len(programs) == 2 and all([next(iter(step)) for step in steps] == ["signal", "wait"] for steps in programs.values()):
        a, b = (index[cpu] for cpu in programs)
        return (costs.hop[a][b] + costs.hop[b][a] + costs.ready_read[a][b] + costs.ready_read[b][a]) / 4
    now, ends = dict.fromkeys(programs, 0.0), []
    for _ in range(16):
        now = episode(programs, costs, index, now, exchange)
        ends.append(max(now.values()))
    one_round = all(len(steps) > 1 and [next(iter(step)) for step in steps] == ["signal"] * (len(steps) - 1) + ["wait"]
                    for steps in programs.values())
    pairs = [(index[a], index[b]) for a in programs for b in programs if a != b]
    collision = 3 / 8 * sum(costs.ready_read[i][j] for i, j in pairs) / len(programs)
    return (ends[15] - ends[7]) / 8 + (collision if one_round else 0)


def barrier_bound(programs, costs, index):
    way = {(a, b): costs.hop[index[a]][index[b]] if a != b else 0.0 for a in programs for b in programs}
    for via in programs:
        for a in programs:
            for b in programs:
                way[a, b] = min(way[a, b], way[a, via] + way[via, b])
    return max(way.values())


def smelt(*words):
    done = subprocess.run([SMELT, *words], capture_output=True, text=True, env={**os.environ, "LC_ALL": "C.UTF-8"})
    assert done.returncode == 0, f"smelt {' '.join(words)}: {done.stderr}"
    return done.stdout


def close(a, b):
    return abs(a - b) <= 1e-5 * max(abs(a), abs(b), 1)


counts = {"priced": 0, "shared": 0, "loops": 0, "bounds": 0}


def compare(machine, costs, op, pattern, model, cpus=None):
    words = ["tree", "--json", "--machine", machine, "--op", op, "--pattern", pattern, "--cost-model", model, "--moves", "500", "--exact", "8"]
    tree = json.loads(smelt(*words, *(["--cpus", ",".join(map(str, cpus))] if cpus else [])))
    costs, programs = costs[model], programs_of(tree)
    what = f"{os.path.basename(machine)} {op} {pattern} {model}"
    assert cpus is None or list(programs) == list(cpus), what
    index = {cpu: costs.cpus.index(cpu) for cpu in programs}
    exchange = op == "barrier" and "root" not in tree
    found = max(episode(programs, costs, index, dict.fromkeys(programs, 0.0), exchange).values())
    assert close(found, tree["predicted"]), f"{what}: {found}, not {tree['predicted']}"
    counts["priced"] += 1
    counts["shared"] += any(step.get("shared_line") for steps in programs.values() for step in steps)
    if op != "barrier":
        assert "predicted_in_a_loop" not in tree, what
        return
    loop = in_a_loop(programs, costs, index, exchange)
    assert close(loop, tree["predicted_in_a_loop"]), f"{what}, in a loop: {loop}, not {tree['predicted_in_a_loop']}"
    counts["loops"] += 1
    # The bound does not depend on the pattern: once for each machine and model.
    if pattern == "best" and len(programs) <= 32:
        words = ["compare", "--json", "--machine", machine, "--op", op, "--cost-model", model, "--moves", "0"]
        told = json.loads(smelt(*words, *(["--cpus", ",".join(map(str, cpus))] if cpus else [])))["bound"]
        bound = barrier_bound(programs, costs, index)
        # That of a tree to gather, which only a search can prove, may be higher.
        assert bound * (1 - 1e-5) <= told <= tree["predicted"] * (1 + 1e-5), f"{what}, bound: {told}, not above {bound}"
        counts["bounds"] += 1


def random_matrices(seed, n, nodes, unit):
    lot = random.Random(seed)
    node = [i * nodes // n for i in range(n)]
    cost = lambda i, j: 0.0 if i == j else round(lot.uniform(20, 60) * (1 if node[i] == node[j] else 5), 3)
    return {"name": f"random {seed}", "unit": unit, "numa_node": node, "cpus": sorted(lot.sample(range(4 * n), n)),
            "t_send": [[cost(i, j) for j in range(n)] for i in range(n)],
            "t_receive": [[cost(i, j) for j in range(n)] for i in range(n)]}


def main():
    patterns = [(row["name"], row["kind"]) for row in json.loads(smelt("tree", "--list", "--json"))]
    with tempfile.TemporaryDirectory() as folder:
        machines = []
        for seed, n, nodes, unit in ((1, 7, 1, "ns"), (2, 13, 3, "cycles"), (3, 20, 2, "ns"), (4, 9, 9, "ns")):
            data = random_matrices(seed, n, nodes, unit)
            path = os.path.join(folder, f"random{seed}.json")
            json.dump(data, open(path, "w"))
            machines.append((path, from_matrices(data), None))
        for name in sorted(filter(None, os.environ.get("SMELT_TEST_MACHINES", "").split(":"))):
            for path in sorted(glob.glob(os.path.join(name, "*.json")))[::3]:
                data = json.load(open(path))
                if "t_send" in data and len(data["t_send"]) <= 24:
                    machines.append((path, from_matrices(data), None))
        # A profile as calibrations write it, of a machine that is simulated.
        packed = os.path.join(folder, "simulated.profile")
        smelt("calibrate", "--simulate", "zoo:intel-xeon-e5-2690-2x8x2", "--quiet", "--output", packed)
        data = json.load(open(packed[:-len("profile")] + "json"))
        for path in (packed, packed[:-len("profile")] + "json"):
            machines.append((path, from_profile(data), None))
        for path in sorted(glob.glob(os.path.join(os.environ["SMELT_TEST_ZOO"], "*.json")))[::3]:
            data = json.load(open(path))
            costs = from_classes(data)
            cpus = costs["overlap"].cpus
            # Some of all, out of order, where all would take long.
            part = None if len(cpus) <= 20 else random.Random(os.path.basename(path)).sample(cpus, 20)
            machines.append((path, costs, part))
        for number, (path, costs, cpus) in enumerate(machines):
            for model in ("overlap", "paper"):
                for op in ("broadcast", "reduce", "barrier"):
                    serve = [name for name, kind in patterns if name != "pair" and (kind == "tree" or op == "barrier")]
                    # All patterns on the second, then by turns; best everywhere.
                    for pattern in ["best"] + (serve if number == 1 else serve[number % 7::7]):
                        compare(path, costs, op, pattern, model, cpus)
                all_cpus = costs[model].cpus
                compare(path, costs, "barrier", "best", model, [all_cpus[-1], all_cpus[0]])
                compare(path, costs, "barrier", "best", model, [all_cpus[0]])
    print(f"{len(machines)} machines: {counts['priced']} schedules priced, {counts['shared']} with shared lines, "
          f"{counts['loops']} loops, {counts['bounds']} bounds")
    assert counts["shared"] >= 20, "hardly a shared line among them: this proves little"


if __name__ == "__main__":
    sys.exit(main())
