"""The page of smelt report: one file that needs no other. Jinja escapes all text; a policy in the page lets nothing but
the page's own script run, so that a profile's words cannot either."""
import base64
import hashlib
import json
import pathlib

import jinja2

import charts
from text import bytes_text, cost_text, one_line, ranges

FOLDER = pathlib.Path(__file__).resolve().parent
MOST_PATTERNS, MOST_NAMES = 12, 4
KINDS = {"measured": "The costs were measured on this machine.",
         "classes": "The costs are what others published about this kind of machine, one figure for each class of "
                    "distance; nobody calibrated it.",
         "guessed": "Nothing was measured: the costs are typical ones for the machine's shape. 'smelt calibrate' on the "
                    "idle machine replaces them.",
         "matrix": "The costs are those of a matrix file."}
GLOSSARY = {
    "hop": "from the store of a line until a receiver that polls it has it",
    "send": "how long a message keeps its sender",
    "receive": "what its receiver spends until it has it",
    "pattern": "who signals whom in which order; a tree, or an exchange of all with all in rounds",
    "in a loop": "each of many in a row, where one begins while the last of the one before still ends",
    "tight": "measured, in a loop that does nothing else",
    "skewed": "measured, with CPUs that arrive at different times",
    "a hop": "one way of a ping-pong that was timed in the same breath",
    "shelf": "memory that a group's ranks share, through which data go in pieces",
    "flat": "each rank reads what it needs from all others' memory",
    "sliced": "each rank combines its slice of the data for all",
    "single copy": "read straight from the other rank's memory, by the kernel or a mapping",
    "strict": "for calls that a barrier follows",
    "rail": "a network interface that a message can take, alone or beside others",
    "rendezvous": "long messages are announced first, and sent when the receiver has asked for them"}


def shown(value, kind=""):
    if value is None or isinstance(value, jinja2.Undefined):
        return "-" if kind else ""
    if kind in ("0", "1", "2"):
        return f"{value:.{kind}f}"
    if kind == "%":
        return f"{100 * value:.0f} %"
    if kind == "+%":
        return f"{100 * (value - 1):+.0f} %"
    return one_line(str(value))


def some_of(names):
    rest = len(names) - MOST_NAMES
    return ", ".join(names[:MOST_NAMES]) + (f" and {rest} more" if rest > 0 else "")


def stem(pattern):
    return pattern.split(":")[0]


def patterns_of(doc, op):
    """The cheapest, dearest last; those that cost the same are one row, because on few CPUs many are the same."""
    part, unit = doc["patterns"][op], doc["unit"]
    chosen, rows = part["chosen"], {}
    named = any(row["pattern"] == chosen for row in part["patterns"])
    for row in sorted(part["patterns"], key=lambda row: row["predicted"]):
        if row["pattern"] == "best" and named:
            continue
        figures = tuple(shown(row.get(member), "1") for member in ("predicted", "predicted_in_a_loop"))
        name = chosen if row["pattern"] == "best" else row["pattern"]
        names = rows.setdefault(figures, dict(row, names=[]))["names"]
        names.insert(0 if name == chosen else len(names), name)
    out = []
    for row in list(rows.values())[:MOST_PATTERNS]:
        row["mark"] = "best" if chosen in row["names"] else ""
        row["tip"] = "\n".join(f"{name}: {doc['help']['patterns'].get(name, 'combines in one order, for the same bits')}"
                               for name in dict.fromkeys(map(stem, row["names"])))
        row["pattern"] = some_of(row["names"])
        out.append(row)
    tiles = [(chosen, "pattern"), (f"{cost_text(part['predicted'])} {unit}", "predicted")]
    columns = [("pattern", "pattern", ""), ("predicted", "predicted", "1"), ("times the best", "ratio", "2")]
    if op == "barrier":
        tiles.append((f"{cost_text(part['predicted_in_a_loop'])} {unit}", "predicted, each in a loop"))
        columns.append(("in a loop", "predicted_in_a_loop", "1"))
    for row in doc.get("raced", []):
        if row["op"] == op and sorted(row["cpus"]) == sorted(doc["cpus"]):
            tiles.append((f"{cost_text(row['measured'])} {unit}", f"measured, each in a loop, by {row['pattern']}"))
    return {"op": op, "tiles": tiles, "rows": out, "columns": columns,
            "help": f"{stem(chosen)}: {doc['help']['patterns'].get(stem(chosen), 'what the search found')}"}


def conclusions_of(doc):
    out, unit = [KINDS.get(doc["kind"], KINDS["matrix"])], doc["unit"]
    if doc["hops"]:
        near, far = doc["hops"][0], doc["hops"][-1]
        words = f"A message takes {near['median']:.1f} {unit} to a CPU of the {near['distance']}"
        if len(doc["hops"]) > 1:
            where = ("an" if far["distance"].startswith("other") else "the ") + far["distance"]
            words += f", and {far['median'] / near['median']:.1f} times as long to one of {where}" if near["median"] else ""
        out.append(words + ".")
    for op, part in doc.get("patterns", {}).items():
        out.append(f"The cheapest {'reduction' if op == 'reduce' else op} of the {len(doc['cpus'])} CPUs is {part['chosen']}: "
                   f"{part['predicted']:.1f} {unit} predicted.")
        for row in doc.get("raced", []):
            if row["op"] == op and sorted(row["cpus"]) == sorted(doc["cpus"]):
                out[-1] = out[-1][:-1] + f"; when raced, {row['pattern']} took {row['measured']:.1f} {unit} in a loop."
    for about, said in doc.get("doctor", {}).get("conclusions", {}).items():
        out.append(f"{'Running programs' if about == 'running' else 'Measuring'}: {said}.")
    return out


def boxes_of(shape):
    """Packages, nodes, caches and cores in each other. Levels whose boxes are the same ones share them; cores of one CPU
    each are left out. Files may number anew in each package, so that members are told apart by the way down to them."""
    everybody = range(len(shape["cpus"]))
    levels, above, way = [], 1, [()] * len(everybody)
    for name, style, member in (("package", "package", "packages"), ("node", "node", "nodes"), ("cache", "llc", "caches"),
                                ("core", "core", "cores")):
        down = [(*way[i], shape[member][i]) for i in everybody]
        count = len(set(down))
        if count == len(everybody):
            continue
        if count == above and levels and style != "core":
            levels[-1]["same"].append((name, member))
        elif count > above:
            levels.append({"style": style, "same": [(name, member)]})
            way, above = down, count

    def inside(depth, members):
        if depth == len(levels):
            return [{"cpu": shape["cpus"][i], "tip": f"CPU {shape['cpus'][i]}, core {shape['cores'][i]}, cache "
                     f"{shape['caches'][i]}, node {shape['nodes'][i]}, package {shape['packages'][i]}"} for i in members]
        own = {}
        for i in members:
            own.setdefault(shape[levels[depth]["same"][0][1]][i], []).append(i)
        return [{"style": levels[depth]["style"], "within": inside(depth + 1, some),
                 "name": "" if levels[depth]["style"] == "core" else
                 ", ".join(f"{name} {shape[member][some[0]]}" for name, member in levels[depth]["same"])}
                for some in own.values()]

    return inside(0, everybody)


def thresholds_of(doc):
    out = []
    for row in doc["thresholds"]["thresholds"]:
        row = dict(row)
        setting = row["setting"]
        if setting:
            row["name"] += f" ({setting})"
            row["decides"] += f". {setting}: {doc['help']['settings'].get(setting, 'see smelt config')}"
        if row["strict_reason"]:
            row["reason"] += f"; strict {row['strict_shown']}: {row['strict_reason']}"
        out.append(row)
    return out


def raced_of(doc):
    return [dict(row, what=f"{row['op']} on {ranges(row['cpus'])}: {row['pattern']}" if len(ranges(row["cpus"])) <= 12 else
                 f"{row['op']} on {len(row['cpus'])} CPUs: {row['pattern']}",
                 times=row["measured"] / row["predicted"] if row["predicted"] > 0 else None) for row in doc.get("raced", [])]


def limit(bytes):
    return "never" if bytes is None else "always" if bytes == 0 else f"from {bytes_text(bytes)}"


def networks_of(doc):
    if "networks" not in doc:
        return {}
    rails = [dict(rail, rendezvous=limit(rail["rendezvous_from"])) for rail in doc["networks"]["rails"]]
    splits = []
    for row in doc["networks"]["splits"]:
        shares = " : ".join(f"{100 * share / row['bytes']:.0f}" for share in row["shares"])
        splits.append({"size": bytes_text(row["bytes"]), "split": row["split_us"], "shares": shares + " %",
                       **{f"rail {nth}": us for nth, us in enumerate(row["alone_us"])}})
    columns = [("size", "size", "")] + [(rail["interface"], f"rail {nth}", "1") for nth, rail in enumerate(rails)] + \
        [("split", "split", "1"), ("shares", "shares", "")]
    return {"rails": rails, "splits": splits, "split_columns": columns}


def live_of(doc):
    out = []
    for op in ("barrier", "broadcast", "reduce"):
        part = doc.get("measured", {}).get(op)
        if part and "note" in part:
            out.append({"agreement": part["note"]})
        elif part:
            out.append(dict(part, title=f"{op} on CPUs {ranges(doc['cpus'])}, in hops: {part['hop']:.1f} ns in the profile, "
                            f"{part['hop_now']:.1f} ns now",
                            agreement=f"Rank correlation (Spearman) {part['spearman']:.2f}, mean error "
                            f"{100 * part['mean_error']:.0f} %, worst {100 * part['worst_error']:.0f} %."))
    return out


def drawings_of(doc):
    out = {}
    if "costs" in doc:
        for kind in ("hop", "send", "receive"):
            out[f"heat-{kind}"] = charts.heat_map(doc["costs"], kind)
    for op, part in doc.get("patterns", {}).items():
        if "tree" in part:
            out[f"tree-{op}"] = charts.tree(part["tree"])
        else:
            out[f"rounds-{op}"] = charts.rounds(part["schedule"])
        out[f"timeline-{op}"] = charts.timeline(part["timeline"])
    for name, plots in (("curves", doc["plots"]), ("rail", doc.get("networks", {}).get("plots", []))):
        for nth, plot in enumerate(plots, 1):
            out[f"{name}-{nth}"] = charts.plot(plot)
    return {name: charts.for_page(drawing, name) for name, drawing in out.items()}


def script_data(doc, drawings):
    shape = doc["shape"]
    places = {cpu: [shape[member][i] for member in ("cores", "caches", "nodes", "packages")]
              for i, cpu in enumerate(shape["cpus"])}
    data = {"unit": doc["unit"], "places": {cpu: places[cpu] for cpu in doc["cpus"]}, "distances": doc["distances"],
            "origins": doc["origins"], "tips": {name: one.tips for name, one in drawings.items() if one.tips}}
    return json.dumps(data, separators=(",", ":")).replace("<", "\\u003c")  # no word of JSON's ends a script


def report(doc):
    drawings = drawings_of(doc)
    script = (FOLDER / "page.js").read_text()
    count = lambda member, one, more: (len(set(doc["shape"][member])), one if len(set(doc["shape"][member])) == 1 else more)
    asked = "" if doc["asked"] == "this" else f" --machine {doc['asked']}"
    commands = [{"command": verb + asked, "shows": shows} for verb, shows in (
        ("smelt info", "what is known of the machine"), ("smelt draw matrix -o costs.svg", "a heat map of its own file"),
        ("smelt draw timeline --op barrier", "what each CPU does when"),
        ("smelt compare --op barrier", "all patterns side by side"),
        ("smelt info --thresholds", "thresholds and their reasons"))]
    findings = [dict(row, mark="" if row["severity"] == "note" else row["severity"])
                for row in doc.get("doctor", {}).get("findings", [])]
    sections = [(name, title) for name, title, there in (
        ("overview", "Overview", True), ("topology", "Topology", True), ("costs", "What a message costs", True),
        ("patterns", "Chosen patterns", "patterns" in doc), ("raced", "Predicted against measured", "raced" in doc),
        ("thresholds", "Thresholds", True), ("networks", "Networks", "networks" in doc),
        ("conditions", "Conditions", "doctor" in doc), ("measured", "Measured now", "measured" in doc),
        ("commands", "The commands", True)) if there]
    environment = jinja2.Environment(autoescape=True, trim_blocks=True, loader=jinja2.FileSystemLoader(FOLDER))
    environment.filters["shown"] = shown
    return environment.get_template("page.html").render(
        doc=doc, drawings=drawings, sections=sections, ranges=ranges, glossary=GLOSSARY, commands=commands,
        hash=base64.b64encode(hashlib.sha256(script.encode()).digest()).decode(), script=script,
        style=(FOLDER / "page.css").read_text(), data=script_data(doc, drawings), conclusions=conclusions_of(doc),
        counts=[count("cpus", "CPU", "CPUs"), count("cores", "core", "cores"),
                count("caches", "last-level cache", "last-level caches"), count("nodes", "NUMA node", "NUMA nodes"),
                count("packages", "package", "packages")],
        boxes=boxes_of(doc["shape"]), patterns=[patterns_of(doc, op) for op in doc.get("patterns", {})], raced=raced_of(doc),
        thresholds=thresholds_of(doc), findings=findings, live=live_of(doc),
        curves=[name for name in drawings if name.startswith("curves-")],
        rail_plots=[name for name in drawings if name.startswith("rail-")], **networks_of(doc))
