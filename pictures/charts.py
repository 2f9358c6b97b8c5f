"""The drawings, by Matplotlib; Graphviz lays out the trees. Sizes are pixels.

Costs have the colours of viridis, dearest darkest, so that a grey print reads the same way; kinds have the palette of
Okabe and Ito (2008), which colour-blind people can tell apart.
"""
import collections
import html
import io
import re
import subprocess

import matplotlib
matplotlib.use("svg")
import matplotlib.pyplot as plt
import numpy as np
from matplotlib.colors import LogNorm, Normalize, to_hex
from matplotlib.lines import Line2D
from matplotlib.patches import Circle, PathPatch, Rectangle
from matplotlib.path import Path

from text import cost_text, one_line, ranges, size_text, ticks

# Colours that a page with a dark background shows otherwise, by the names of its style.
INK, FAINT, GRID, DIVIDE, LANE = "#1a1a1a", "#6b6b6b", "#e2e2e2", "#a8a8a8", "#f6f7f9"
NEAR, FAR, FAR_WORDS, WAIT = "#0072b2", "#d55e00", "#a84700", "#dcdcdc"
CARD = "#fefefe"
NAMES = {INK: "ink", FAINT: "faint", GRID: "grid", DIVIDE: "divide", LANE: "lane", NEAR: "near", FAR: "far",
         FAR_WORDS: "far-words", WAIT: "wait", CARD: "card"}
SEND, RECEIVE = "#0073b3", "#e69f00"  # bars keep their colours
CURVES = ("#1b7fc4", "#d0603f", "#4f9a3d", "#8d6bb6", "#9a7d1b", "#3d9a96", "#b8427c", "#777777")
TINTS = ("#cfe3f3", "#fde2c4", "#d3ecd9", "#f6d3dc", "#e6dbf1", "#f4efc0", "#dcdcdd", "#cdeeee")
KINDS = {"hop": "Hop: from the store until a polling receiver has it",
         "send": "Send: how long a message keeps its sender",
         "receive": "Receive: the rest, until its receiver has it"}
MOST_ROWS, MOST_LINES, LEAST_TEXT = 96, 3000, 12
WIDTH = 570
COSTS_FROM = 25  # three digits wide, of CPUs beside each other in a tree

plt.rcParams.update({
    "svg.fonttype": "none", "svg.hashsalt": "smelt", "font.family": "sans-serif", "font.size": LEAST_TEXT,
    "figure.dpi": 72, "savefig.dpi": 72, "text.color": INK, "axes.labelcolor": FAINT, "axes.edgecolor": DIVIDE,
    "xtick.color": DIVIDE, "ytick.color": DIVIDE, "xtick.labelcolor": INK, "ytick.labelcolor": INK, "axes.linewidth": 0.8,
    "axes.titlesize": 13, "legend.frameon": False, "legend.fontsize": LEAST_TEXT, "path.simplify": False})

# One picture: its title above, its notes below. `tips` is what the page's script needs to say what a hand points at: it
# looks at the place within the axes, whose element is named "cells".
Drawing = collections.namedtuple("Drawing", "title svg notes tips")


class Rows:
    """The rows of a chart: a CPU each, or of many CPUs a group each."""
    def __init__(self, doc, most):
        cpus, nodes = doc["cpus"], doc["nodes"]
        n = len(cpus)
        self.what, groups, self.cpus = "CPU", np.arange(n), cpus
        names = [f"CPU {cpu}" for cpu in cpus]
        if n > most:
            # Two rows for 128 CPUs would show nothing.
            fits = lambda ids: max(2, most / 8) <= ids[-1] + 1 <= most
            for what, word, member in (("core", "core", "cores"), ("last-level cache", "cache", "caches"),
                                       ("NUMA node", "node", "nodes")):
                ids = runs(doc[member])
                if fits(ids):
                    self.what, groups = what, ids
                    names = [f"{word} {doc[member][at]}" for at in first_of(ids)]
                    break
            else:
                self.what, size, places = "block of neighbours", 1, runs(doc["caches"])
                while groups[-1] + 1 > most and size < n:
                    size *= 2
                    starts = first_of(places)[places]
                    groups = runs([(place, (at - start) // size) for at, (place, start) in enumerate(zip(places, starts))])
                names = [f"CPUs {ranges(np.array(cpus)[groups == g].tolist())}" for g in range(groups[-1] + 1)]
        self.folded = self.what != "CPU"
        self.names, self.group = names, groups
        self.row = {cpu: int(group) for cpu, group in zip(cpus, groups)}
        self.node = [nodes[at] for at in first_of(groups)]
        self.count = len(names)
        self.node_of = dict(zip(cpus, nodes))
        self.blocks = []  # of rows of one node: first, how many, the node
        for row, node in enumerate(self.node):
            if not self.blocks or self.blocks[-1][2] != node:
                self.blocks.append([row, 0, node])
            self.blocks[-1][1] += 1

    def far(self, one, other):
        return self.node_of[one] != self.node_of[other]

    def note(self):
        return [f"A row is all of a group of {self.what[0] + self.what[1:]}s: each is a {self.what}, "
                f"{self.count} of them."] if self.folded else []


def runs(ids):
    """0, 0, 1, 1, 1, 2 ...: the number of the run of equal ids that each belongs to."""
    out = [0]
    for before, now in zip(ids, ids[1:]):
        out.append(out[-1] + (now != before))
    return np.array(out)


def first_of(groups):
    return np.unique(groups, return_index=True)[1]


def canvas(width, height, left=60, right=8, top=8, bottom=60):
    fig = plt.figure(figsize=(width / 72, height / 72))
    fig.patch.set_alpha(0)
    ax = fig.add_axes([left / width, bottom / height, (width - left - right) / width, (height - top - bottom) / height])
    ax.patch.set(alpha=0, visible=True)
    ax.patch.set_gid("cells")
    ax.tick_params(length=3)
    return fig, ax


def svg_of(fig):
    out = io.StringIO()
    fig.savefig(out, format="svg", metadata={"Date": None, "Creator": None, "Format": None, "Type": None})
    plt.close(fig)
    text = out.getvalue()
    text = text[text.index("<svg"):]
    text = re.sub(r"<metadata>.*?</metadata>|<style.*?</style>|<defs>\s*</defs>|<!--.*?-->", "", text, flags=re.S)
    text = re.sub(r'(width|height)="([\d.]+)pt"', r'\1="\2"', text)
    text = re.sub(r"(\.\d\d)\d+", r"\1", text)
    # Few lines, so that a page is no long file.
    return re.sub(r"(>)?\s*\n\s*(<g )?", lambda m: f"{m[1] or ' '}\n{m[2]}" if m[2] else m[1] or " ", text)


def lines(ax, pieces, colour, **more):
    """One path of many lines: one element in the file, however many they are."""
    if len(pieces):
        path = Path(np.reshape(pieces, (-1, 2)), [Path.MOVETO, Path.LINETO] * len(pieces))
        ax.add_artist(PathPatch(path, fill=False, edgecolor=colour, clip_on=False, **more))


def legend(fig, handles, columns=4):
    fig.legend(handles=handles, loc="lower left", ncol=columns, handlelength=1.5, columnspacing=1.2,
               borderpad=0, bbox_to_anchor=(8 / (fig.get_figwidth() * 72), 0))


def line_samples(rows):
    several = len(rows.blocks) > 1
    return [Line2D([], [], color=NEAR, label="message inside a NUMA node" if several else "message")] + \
        ([Line2D([], [], color=FAR, ls="--", label="between NUMA nodes")] if several else [])


def arrows(ax, ends, rows, notes):
    """Each is (x, row) of both ends, and whether it leaves its node; equal ones are one. Of too many, a note says so."""
    if len(set(ends)) > MOST_LINES:
        notes.append(f"{len(ends)} messages: too many for arrows.")
        return
    for colour, far, dash in ((NEAR, False, "-"), (FAR, True, (0, (4, 3)))):
        pieces = sorted({tuple(end[:4]) for end in ends if end[4] == far})
        if not pieces:
            continue
        pieces = np.array(pieces).reshape(-1, 2, 2)
        lines(ax, pieces, colour, lw=0.9 if rows.count < 40 else 0.5, ls=dash, zorder=3)
        if rows.count < 48:
            ax.scatter(pieces[:, 1, 0], pieces[:, 1, 1], s=20, marker=">", color=colour, lw=0, zorder=4, clip_on=False)


def lanes(rows, bottom):
    height = min(max(620 / rows.count, 6), 24)
    left = max(len(name) for name in rows.names) * 7.4 + 14
    several = len(rows.blocks) > 1 and rows.what != "NUMA node"
    total = height * rows.count + bottom + 16
    fig, ax = canvas(WIDTH, total, left=left + 50 * several, right=18, bottom=bottom)
    ax.set_ylim(rows.count, 0)
    for spine in ax.spines.values():
        spine.set_visible(False)
    for nth, (first, count, node) in enumerate(rows.blocks):
        if nth % 2 == 0:
            ax.axhspan(first, first + count, color=LANE, lw=0, zorder=0)
        if nth:
            ax.axhline(first, color=DIVIDE, lw=0.8, zorder=1)
        if several and count * height >= LEAST_TEXT + 2:
            ax.text(-(left + 44) / (WIDTH - left - 68), first + count / 2, f"node {node}", color=FAINT, va="center",
                    transform=ax.get_yaxis_transform())
    every = next(step for step in (1, 2, 4, 8, 16, 32) if step * height >= LEAST_TEXT + 1)
    ax.set_yticks(np.arange(0, rows.count, every) + 0.5, rows.names[::every])
    ax.tick_params(axis="y", length=0)
    return fig, ax, height


def headline(doc, about=""):
    predicted = doc.get("predicted", doc.get("end"))
    return f"{doc['op']} by {doc['pattern']}: {cost_text(predicted)} {doc['unit']}" + (f", {about}" if about else "")


def rounds(doc, most=MOST_ROWS):
    rows, count = Rows(doc, most), max(doc["rounds"], 1)
    fig, ax, height = lanes(rows, 56)
    ax.set_xlim(0, count)
    ax.set_xticks(np.arange(count) + 0.5, [f"round {r + 1}" for r in range(count)] if count <= 7 else range(1, count + 1))
    ax.tick_params(axis="x", length=0)
    for edge in range(count + 1):
        ax.axvline(edge, color=GRID, lw=1, zorder=1)
    ends = [(m["round"] + 0.04, rows.row[m["from"]] + 0.5, m["round"] + 0.96, rows.row[m["to"]] + 0.5,
             rows.far(m["from"], m["to"])) for m in doc["messages"]]
    notes = ["A column is a round: what a participant sends in it needs only what reached it in the columns before. An "
             "arrow ends at the CPU that waits for it."] + rows.note()
    arrows(ax, ends, rows, notes)
    legend(fig, line_samples(rows))
    told = [[[] for _ in range(count)] for _ in range(rows.count)]
    if not rows.folded:
        for m in doc["messages"]:
            told[rows.row[m["from"]]][m["round"]].append(f"signals CPU {m['to']}: hop {cost_text(m['hop'])} {doc['unit']}")
            told[rows.row[m["to"]]][m["round"]].append(f"waits for CPU {m['from']}")
    tips = {"kind": "grid", "names": rows.names, "told": [["\n".join(some_of(cell, 8)) for cell in row] for row in told]}
    return Drawing(headline(doc, "who waits for whom"), svg_of(fig), notes, tips)


def some_of(words, most):
    return words if len(words) <= most else words[:most] + [f"and {len(words) - most} more"]


def timeline(doc, most=MOST_ROWS):
    rows = Rows(doc, most)
    fig, ax, height = lanes(rows, 92)
    end = doc["end"] or 1
    ax.set_xlim(0, end)
    ax.set_xticks(ticks(doc["end"], 8))
    ax.set_xlabel(f"time in {doc['unit']}", labelpad=2)
    ax.grid(axis="x", color=GRID, lw=0.7)
    ax.set_axisbelow(True)
    thick = 0.32
    first_cpu = {int(g): rows.cpus[at] for g, at in zip(rows.group[first_of(rows.group)], first_of(rows.group))}
    for doing, colour in (("wait", WAIT), ("receive", RECEIVE), ("send", SEND)):
        boxes = [[(bar["begin"], y - thick), (bar["end"], y - thick), (bar["end"], y + thick), (bar["begin"], y + thick)]
                 for bar in doc["bars"] if bar["doing"] == doing and first_cpu[rows.row[bar["cpu"]]] == bar["cpu"]
                 for y in [rows.row[bar["cpu"]] + 0.5]]
        if boxes:
            ax.add_artist(PathPatch(Path.make_compound_path_from_polys(np.array(boxes)), facecolor=colour, lw=0, zorder=2))
    ends = []
    for f in doc["flights"]:
        one, other = rows.row[f["from"]] + 0.5, rows.row[f["to"]] + 0.5
        side = 0 if rows.folded or one == other else thick * (1 if one < other else -1)
        ends.append((f["begin"], one + side, f["end"], other - side, rows.far(f["from"], f["to"])))
    notes = ["Predicted, all CPUs starting at 0. An arrow goes from when the sender is through with a message to when its "
             "receiver begins to read it."] + rows.note()
    if rows.folded:
        notes[-1] += " Its bars are those of its first CPU."
    arrows(ax, ends, rows, notes)
    done = np.zeros(rows.count)
    for cpu, at in zip(doc["cpus"], doc["done"]):
        done[rows.row[cpu]] = max(done[rows.row[cpu]], at)
    lines(ax, [[(at, row + 0.1), (at, row + 0.9)] for row, at in enumerate(done)], INK, lw=1.4, zorder=5)
    legend(fig, [Rectangle((0, 0), 1, 1, color=SEND, label="sends"), Rectangle((0, 0), 1, 1, color=RECEIVE, label="receives"),
                 Rectangle((0, 0), 1, 1, color=WAIT, label="waits"),
                 Line2D([], [], color=INK, marker="|", ls="", markersize=10, label="is done")] + line_samples(rows), 3)
    bars = [[] for _ in range(rows.count)]
    for bar in doc["bars"]:
        if first_cpu[rows.row[bar["cpu"]]] == bar["cpu"]:
            bars[rows.row[bar["cpu"]]].append([round(bar["begin"], 1), round(bar["end"], 1), bar["doing"][0]])
    tips = {"kind": "lanes", "names": rows.names, "end": end, "bars": bars, "unit": doc["unit"]}
    return Drawing(headline(doc, "what each CPU does when"), svg_of(fig), notes, tips)


def tree_places(doc, side):
    """x from left to right and the level of each CPU, as Graphviz's dot lays them out, children in send order."""
    edges = [(int(parent), child) for parent, children in doc[side["children"]].items() for child in children]
    source = "digraph{ordering=out;ranksep=1;nodesep=0.2;node[shape=point,width=0.8,height=0.8];edge[arrowhead=none];" + \
        f"{side['root']};" + "".join(f"{one}->{other};" for one, other in edges) + "}"
    plain = subprocess.run(["dot", "-Tplain"], input=source, capture_output=True, text=True, check=True).stdout
    places = {int(word[1]): (float(word[2]), float(word[3])) for word in map(str.split, plain.splitlines())
              if word[0] == "node"}
    levels = {y: level for level, y in enumerate(sorted({y for _, y in places.values()}, reverse=True))}
    least = min(x for x, _ in places.values())
    return {cpu: (x - least, levels[y]) for cpu, (x, y) in places.items()}, edges


def tree(doc):
    tint = {node: TINTS[nth % len(TINTS)] for nth, node in enumerate(dict.fromkeys(doc["nodes"]))}
    node_of, several = dict(zip(doc["cpus"], doc["nodes"])), len(tint) > 1
    sides = [(side, *tree_places(doc, side)) for side in doc["sides"]]
    left, across = 62, max(max(x for x, _ in places.values()) for _, places, _ in sides)
    gap = min(max((WIDTH - left - 40) / max(across, 1), COSTS_FROM), 40, max(2700 / (across + 1), 8))
    wide = across * gap
    heights = [(1 + max(level for _, level in places.values())) for _, places, _ in sides]
    step = min(max(900 / max(heights), 12), 84)
    radius = min(gap * 0.42, step * 0.36, 14)
    title = 30 if len(sides) > 1 else 0
    width = max(wide + left + 2 * radius + 16, WIDTH)
    shows_costs = gap >= COSTS_FROM and step >= 40
    samples = line_samples_of_tree(several, shows_costs, doc["unit"])
    below = 24 + 22 * (1 + several)
    tall = [step * (count - 1) + 2 * radius + title + 12 for count in heights]
    fig, ax = canvas(width, sum(tall) + below, left=0, right=0, top=0, bottom=below)
    ax.set(xlim=(0, width), ylim=(sum(tall), 0))
    ax.set(xticks=[], yticks=[])
    ax.spines[:].set_visible(False)
    points, top = [], 0
    for (side, places, edges), high, count in zip(sides, tall, heights):
        if side["title"]:
            ax.text(8, top + 14, f"{side['title']}, {'up' if side['up'] else 'down'} the tree", fontsize=13, weight="bold")
        shift = left + radius + max(0, (width - left - 2 * radius - 8 - max(x for x, _ in places.values()) * gap) / 2)
        at = {cpu: (shift + x * gap, top + title + radius + 4 + level * step) for cpu, (x, level) in places.items()}
        every = -(-14 // step)
        for level in range(count):
            y = top + title + radius + 4 + level * step
            lines(ax, [[(left - 8, y), (width - 4, y)]], GRID, lw=1, zorder=0)
            if level % every == 0:
                ax.text(8, y, f"level {level}", color=FAINT, va="center")
        for colour, far, dash in ((NEAR, False, "-"), (FAR, True, (0, (4, 3)))):
            curves = [[(x1, y1), (x1, y1 + 0.35 * (y2 - y1)), (x2, y2 - 0.9 * (y2 - y1)), (x2, y2)] for one, other in edges
                      if (node_of[one] != node_of[other]) == far for (x1, y1), (x2, y2) in [(at[one], at[other])]]
            if curves:
                codes = [Path.MOVETO, Path.CURVE4, Path.CURVE4, Path.CURVE4] * len(curves)
                ax.add_artist(PathPatch(Path(np.array(curves).reshape(-1, 2), codes), fill=False, edgecolor=colour, ls=dash,
                                       lw=min(max(radius / 8, 0.7), 1.6), zorder=1))
        parent_of = {child: parent for parent, child in edges}
        for cpu, (x, y) in at.items():
            hop = side["hops"].get(str(cpu))
            parent = parent_of.get(cpu) if hop is not None else None
            if hop is not None and shows_costs:
                far = node_of[parent] != node_of[cpu]
                ax.text(x, y - radius - 8, f"{hop:.{1 if hop < 10 else 0}f}", ha="center", va="center",
                        color=FAR_WORDS if far else NEAR, zorder=2,
                        bbox={"facecolor": CARD, "edgecolor": "none", "pad": 1, "alpha": 0.9})
            points.append([round(x / width, 5), round(y / sum(tall), 5), f"CPU {cpu}, node {node_of[cpu]}: {side['event']} "
                           f"at {cost_text(side['times'][str(cpu)])} {doc['unit']}" +
                           ("" if hop is None else f"; link {cost_text(hop)}"), parent if parent is not None else cpu, cpu])
        for node, colour in tint.items():
            inside = [cpu for cpu in at if node_of[cpu] == node]
            if len(at) > MOST_ROWS and inside:  # by reference to one: shorter
                ax.scatter(*zip(*(at[cpu] for cpu in inside)), s=(2 * radius) ** 2, color=colour, edgecolor=INK, zorder=3,
                           lw=0.6)
                continue
            for cpu in inside:
                ax.add_patch(Circle(at[cpu], radius, facecolor=colour, edgecolor=INK, zorder=3,
                                    lw=1.8 if cpu == side["root"] else 0.8))
        if 1.9 * radius >= 0.6 * LEAST_TEXT * max(2, len(str(max(at)))):
            for cpu, (x, y) in at.items():
                ax.text(x, y, cpu, ha="center", va="center_baseline", zorder=4, color="#000000",
                        weight="bold" if cpu == side["root"] else "normal")
        top += high
    # The first row says what the links are, the second what the colours of the CPUs are.
    fig.legend(handles=samples, loc="lower left", ncol=2, borderpad=0, bbox_to_anchor=(8 / width, 22 * several / (sum(tall) + below)))
    if several:
        shown = list(tint.items())[:8]
        fig.legend(handles=[Line2D([], [], marker="o", ls="", mfc=colour, mec=INK, mew=0.8, ms=10, label=(f"node {node}" if
                            len(tint) <= 8 else f"{node}, {node + 8} ...")) for node, colour in shown],
                   loc="lower left", ncol=8, borderpad=0, handlelength=1, columnspacing=1, bbox_to_anchor=(8 / width, 0))
    direction = "Messages go up the one tree and down the other" if len(sides) > 1 else \
        {"broadcast": "Messages go down the tree", "reduce": "Messages go up the tree"}.get(
            doc["op"], "Messages go up the tree and down again")
    order = "a parent takes its children's as they come" if doc["op"] == "reduce" else \
        "a parent's children stand from left to right in the order in which it tells them"
    notes = [f"{direction}; {order}."]
    if not shows_costs:
        notes.append("There are too many links for their costs here: the page says them at each CPU.")
    return Drawing(headline(doc), svg_of(fig), notes, {"kind": "points", "points": points, "radius": radius / width})


def line_samples_of_tree(several, costs, unit):
    what = f", with its hop in {unit}" if costs else ""
    return [Line2D([], [], color=NEAR, label=("link inside a NUMA node" if several else "link") + what)] + \
        ([Line2D([], [], color=FAR, ls="--", label="between NUMA nodes")] if several else [])


def heat_map(doc, kind, most=MOST_ROWS):
    rows, costs = Rows(doc, most), np.array(doc[kind])
    n = rows.count
    if rows.folded:  # the means between the groups
        member = (rows.group[:, None] == np.arange(n)).astype(float)
        counts = np.outer(member.sum(0), member.sum(0)) - np.diag(member.sum(0))
        cells = np.ma.masked_where(counts == 0, member.T @ costs @ member / np.maximum(counts, 1))
    else:
        cells = np.ma.array(costs, mask=np.eye(n, dtype=bool))
    sent = np.sort(cells.compressed()) if cells.count() else np.array([0.0])
    # Of many CPUs, the half per cent at either end does not stretch the scale.
    beyond = len(sent) // 200 if n >= 16 else 0
    low, high = sent[beyond], sent[len(sent) - 1 - beyond]
    norm = LogNorm(low, high, clip=True) if low > 0 and high > 8 * low else \
        Normalize(low, high if high > low else low + 1, clip=True)
    colours = matplotlib.colormaps["viridis_r"]
    left, bottom = max(len(name) for name in rows.names) * 7.4 + 12, 66
    side = min(WIDTH - left - 10, max(64 * n, 240))
    width = left + side + 10
    fig, ax = canvas(width, side + bottom + 24, left=left, right=10, top=24, bottom=bottom)
    cell = side / n
    numbers = cells.count() and cell >= max(16, max(len(cost_text(cost)) for cost in sent) * 7.2 + 2)
    if numbers:
        picture = ax.pcolormesh(cells, cmap=colours, norm=norm)
        ax.invert_yaxis()
    else:
        picture = ax.imshow(cells, cmap=colours, norm=norm, interpolation="none", extent=(0, n, n, 0), aspect="auto")
    for first, count, _ in rows.blocks:
        ax.add_patch(Rectangle((first, first), count, count, fill=False, edgecolor=INK, lw=1.2, clip_on=False))
    every = next(step for step in (1, 2, 4, 8, 16, 32, 64) if step * cell >= LEAST_TEXT + 2)
    ax.set_yticks(np.arange(0, n, every) + 0.5, rows.names[::every])
    short = [name.split()[-1] for name in rows.names]
    across = next(step for step in (1, 2, 4, 8, 16, 32, 64) if step * cell >= max(map(len, short)) * 8 + 4)
    ax.set_xticks(np.arange(0, n, across) + 0.5, short[::across])
    ax.tick_params(length=0, top=False, labeltop=True, labelbottom=False, pad=2)
    for spine in ax.spines.values():
        spine.set_visible(False)
    if numbers:
        for row, column in np.argwhere(~np.ma.getmaskarray(cells)):
            shade = colours(norm(cells[row, column]))
            linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in shade[:3]]
            dark = np.dot(linear, (0.2126, 0.7152, 0.0722)) < 0.179
            ax.text(column + 0.5, row + 0.5, cost_text(cells[row, column]), ha="center", va="center_baseline",
                    color="#ffffff" if dark else "#000000")
    bar = fig.colorbar(picture, cax=fig.add_axes([left / width, 34 / (side + bottom + 24), side / width, 14 / (side + bottom + 24)]),
                       orientation="horizontal")
    bar.solids.set_rasterized(True)
    bar.outline.set_visible(False)
    count = 1 if high <= low else 5 if side > 400 else 3
    scale = np.geomspace(low, high, count) if isinstance(norm, LogNorm) else np.linspace(low, high, count)
    bar.ax.xaxis.set_major_locator(matplotlib.ticker.FixedLocator(scale))
    bar.ax.xaxis.set_minor_locator(matplotlib.ticker.NullLocator())
    bar.ax.xaxis.set_major_formatter(lambda value, _: f"{cost_text(value)} {doc['unit']}")
    for label, place in zip(bar.ax.get_xticklabels(), ["left"] + ["center"] * (len(scale) - 2) + ["right"] * (len(scale) > 1)):
        label.set_ha(place)
    notes = ["Row: sender; column: receiver; by the kernel's numbers. Frames are NUMA nodes."] + \
        (["A row or column is " + rows.note()[0][8:] + " Cells are the means."] if rows.folded else []) + \
        (["The scale is logarithmic."] if isinstance(norm, LogNorm) else [])
    if sent[0] < low or sent[-1] > high:
        notes.append("The half per cent beyond either end of the scale looks like that end.")
    values = list(dict.fromkeys(cost_text(cost) for cost in cells.filled(0).ravel()))
    index = {value: at for at, value in enumerate(values)}
    tips = {"kind": "cells", "name": kind, "names": rows.names, "cpus": [] if rows.folded else doc["cpus"], "values": values,
            "cells": [index[cost_text(cost)] for cost in cells.filled(0).ravel()]}
    return Drawing(f"{KINDS[kind]}, in {doc['unit']}", svg_of(fig), notes, tips)


def plot(doc):
    """Curves over sizes, both axes logarithmic; upright lines where they cross."""
    names = -(-len(doc["curves"]) // 3)
    bottom = 60 + 20 * names
    fig, ax = canvas(WIDTH, 300 + bottom, left=66, bottom=bottom)
    for nth, curve in enumerate(doc["curves"]):
        ax.plot(curve["x"], curve["y"], color=CURVES[nth % len(CURVES)], lw=1.8, label=curve["name"], marker=".", ms=5,
                gid=f"curve-{nth}")
    ax.set(xscale="log", yscale="log")
    every = [1 << k for k in range(64) if ax.get_xlim()[0] <= 1 << k <= ax.get_xlim()[1]]
    ax.set_xticks(every[::max(1, -(-len(every) // 7))])
    ax.xaxis.set_major_formatter(lambda x, _: size_text(int(x)))
    ax.xaxis.set_minor_locator(matplotlib.ticker.NullLocator())
    ax.yaxis.set_major_formatter(lambda y, _: f"{y:g}")
    ax.yaxis.set_minor_formatter(matplotlib.ticker.NullFormatter())
    ax.set(xlabel=doc["x"], ylabel=doc["y"])
    ax.grid(color=GRID, lw=0.8)
    for place in doc["places"]:
        ax.axvline(place["x"], color=INK, ls=(0, (4, 3)), lw=1)
    legend(fig, ax.get_legend_handles_labels()[0], 3)
    return Drawing(doc["title"], svg_of(fig), ["Dashed: " + place["words"] for place in doc["places"]], None)


def drawings(what, doc):
    if what == "matrix":
        return [heat_map(doc, kind, 1 << 30) for kind in ("send", "receive", "hop") if kind in doc]
    if what == "plots":
        return [plot(one) for one in doc["plots"]]
    return [tree(doc)] if what == "tree" else [{"schedule": rounds, "timeline": timeline}[what](doc, 1 << 30)]


def file(shown, doc):
    """A file of its own: drawings under each other, with the words above and below them, on white."""
    body, y, width = [], 16, WIDTH
    escape = lambda words: html.escape(one_line(words), quote=False)

    def words(text, size, colour=INK, more=""):
        nonlocal y
        y += size + 5
        body.append(f'<text x="24" y="{y:.0f}" font-size="{size}" fill="{colour}"{more}>{escape(text)}</text>')

    for nth, drawing in enumerate(shown):
        words(drawing.title, 17 if nth == 0 else 14, more=' font-weight="bold"')
        if nth == 0 and "cpus" in doc:
            words(f"{doc['machine']} – CPUs {ranges(doc['cpus'])}", 12)
            model = f"{doc['cost_model']} cost model; " if "cost_model" in doc else ""
            words(f"costs in {'nanoseconds (ns)' if doc['unit'] == 'ns' else doc['unit']}, {model}{doc['origin']}", 12, FAINT)
        wide, high = (float(re.search(rf'<svg[^>]* {side}="([\d.]+)"', drawing.svg)[1]) for side in ("width", "height"))
        body.append(named(drawing.svg, f"p{nth}").replace("<svg", f'<svg x="24" y="{y + 8:.0f}"', 1))
        y += high + 12
        width = max(width, wide)
        for note in drawing.notes:
            for line in folded(note, width):
                words(line, 12, FAINT)
        y += 10
    if "date" in doc:
        words(f"drawn by smelt draw, {doc['date']}", 12, FAINT)
    title = escape(shown[0].title if shown else "")
    return (f'<?xml version="1.0" encoding="UTF-8"?>\n<svg xmlns="http://www.w3.org/2000/svg" width="{width + 48:.0f}" '
            f'height="{y + 24:.0f}" viewBox="0 0 {width + 48:.0f} {y + 24:.0f}" style="max-width:100%;height:auto" '
            f'font-family="DejaVu Sans, Helvetica, Arial, sans-serif">\n<title>{title}</title>\n'
            f'<rect width="100%" height="100%" fill="#ffffff"/>\n' + "\n".join(body) + "\n</svg>\n")


def folded(words, width):
    import textwrap
    return textwrap.wrap(words, int(width / 6.4)) or [""]


def named(svg, prefix):
    """Names in a drawing begin with the figure's, so that several stand in one document."""
    svg = re.sub(r'\bid="([^"]*)"', rf'id="{prefix}-\1"', svg)
    return re.sub(r'(url\(#|href="#)', rf"\1{prefix}-", svg)


def for_page(drawing, name):
    """With the page's colours, which follow the reader's choice of light and dark."""
    for colour, word in NAMES.items():
        drawing = drawing._replace(svg=re.sub(rf"(: ?){colour}", rf"\1var(--{word})", drawing.svg))
    svg = named(drawing.svg, name).replace(
        "<svg", f'<svg role="img" aria-label="{html.escape(one_line(drawing.title))}"', 1)
    return drawing._replace(svg=svg)
