"""Pictures of letters, and DOT: they need Python alone."""
import math
import unicodedata

FAR, ROUND_COLOURS = "#d55e00", ("#1b6ca8", "#c8553d", "#588157", "#7b2d8b", "#b8860b", "#444444")


def ranges(cpus):
    """0-3,8,10,11: two neighbours read better as a pair than as a range."""
    out, at, cpus = [], 0, sorted(cpus)
    while at < len(cpus):
        end = at + 1
        while end < len(cpus) and cpus[end] == cpus[end - 1] + 1:
            end += 1
        if end - at <= 2:
            end = at + 1
        out.append(str(cpus[at]) if end == at + 1 else f"{cpus[at]}-{cpus[end - 1]}")
        at = end
    return ",".join(out)


def cost_text(cost):
    """Three significant digits, or all that stand before the point."""
    return "0" if cost == 0 else f"{cost:.{0 if cost >= 100 else 1 if cost >= 10 else 2}f}"


def size_text(size):
    for unit, name in ((1 << 20, "MiB"), (1 << 10, "KiB")):
        if size >= unit and size % unit == 0:
            return f"{size // unit} {name}"
    return str(size)


def bytes_text(size):
    for unit, name in ((1 << 20, "MiB"), (1 << 10, "KiB")):
        if size >= unit:
            return f"{size / unit:.3g} {name}"
    return f"{size} B"


def one_line(text):
    return "".join(" " if unicodedata.category(c) == "Cc" else c for c in text)


def ticks(end, most):
    """Round numbers from 0 to `end`: 0, 50, 100 ..."""
    if not end > 0:
        return [0]
    decade = 10 ** math.floor(math.log10(end / (most - 1)))
    step = next(f * decade for f in (1, 2, 5, 10) if f * decade >= end / (most - 1))
    return [i * step for i in range(int(end * (1 + 1e-9) / step) + 1)]


def node_begins(doc):
    return [row > 0 and doc["nodes"][row] != doc["nodes"][row - 1] for row in range(len(doc["cpus"]))]


def schedule(doc, ascii=False, colour=False):
    to, back, dash = (">", "<", "-") if ascii else ("→", "←", "─")
    cells = {cpu: [([], []) for _ in range(doc["rounds"])] for cpu in doc["cpus"]}
    for m in doc["messages"]:
        cells[m["from"]][m["round"]][0].append(m["to"])
        cells[m["to"]][m["round"]][1].append(m["from"])

    def peers(mark, cpus):
        text = ranges(cpus)
        return [mark + (text if len(text) <= 16 else f"{len(cpus)} CPUs")] if cpus else []

    words = {cpu: [" ".join(peers(to, sends) + peers(back, waits)) for sends, waits in row]
             for cpu, row in cells.items()}
    widths = [max(len(f"round {r + 1}"), *(len(row[r]) for row in words.values())) for r in range(doc["rounds"])]
    out = doc["header"] + f"\nA row is a CPU: {to} whom it signals, {back} for whom it waits, round by round.\n"
    first = 0
    while first < max(doc["rounds"], 1):
        last, width = first, 10
        while last < doc["rounds"] and (last == first or width + widths[last] + 2 <= 110):
            width += widths[last] + 2
            last += 1
        shown = range(first, last)
        out += ("\n     CPU" + "".join(f"  {f'round {r + 1}':<{widths[r]}}" for r in shown)).rstrip() + "\n"
        for cpu, begins in zip(doc["cpus"], node_begins(doc)):
            out += dash * (width - 2) + "\n" if begins else ""
            out += (f"{cpu:>8}" + "".join(f"  {words[cpu][r]:<{widths[r]}}" for r in shown)).rstrip() + "\n"
        first = max(last, first + 1)
    return out


def timeline(doc, ascii=False, colour=False):
    columns, kinds = 80, ("send", "receive", "wait")
    glyphs = list("Sr." if ascii else "█▒·")
    if colour:
        glyphs = [f"\x1b[{code}m{glyph}\x1b[0m" for code, glyph in zip((34, 33, 90), glyphs)]
    step = doc["end"] / columns if doc["end"] > 0 else 1
    # Of a participant's actions in a column's time, work counts before waiting, however short; then the longer.
    spent = {cpu: [[0, 0, 0] for _ in range(columns)] for cpu in doc["cpus"]}
    for bar in doc["bars"]:
        column = min(int(bar["begin"] / step), columns - 1)
        while column < columns and column * step < bar["end"]:
            here = min(bar["end"], (column + 1) * step) - max(bar["begin"], column * step)
            spent[bar["cpu"]][column][kinds.index(bar["doing"])] += max(here, 1e-9 * step)
            column += 1
    out = doc["header"] + f"\n{glyphs[0]} sends   {glyphs[1]} receives   {glyphs[2]} waits\n\n     CPU\n"
    for cpu, begins in zip(doc["cpus"], node_begins(doc)):
        out += " " * 10 + ("-" if ascii else "─") * columns + "\n" if begins else ""
        lane = "".join(glyphs[0] if 0 < send >= receive else glyphs[1] if receive else glyphs[2] if wait else " "
                       for send, receive, wait in spent[cpu])
        out += f"{cpu:>8}  {lane}".rstrip() + "\n"
    marks = ""
    for tick in ticks(doc["end"], 9):
        marks = marks.ljust(10 + min(int(tick / step), columns)) + f"{tick:g}"
    return out + marks + " " + doc["unit"] + "\n"


def plots(doc, ascii=False, colour=False):
    return "".join("\n" + plot(one) for one in doc["plots"])


def plot(doc, width=76, height=20):
    """Curves over sizes, both axes logarithmic, with the places where they cross."""
    xs, ys = ([value for curve in doc["curves"] for value in curve[axis]] for axis in "xy")
    (x_low, x_high), (y_low, y_high) = ((min(all), max(max(all), min(all) * 1.01)) for all in (xs, ys))
    column = lambda x: int(math.log(x / x_low) / math.log(x_high / x_low) * (width - 1) + 0.5)
    rows = [[" "] * width for _ in range(height)]
    for place in doc["places"]:
        if x_low <= place["x"] <= x_high:
            for row in rows:
                row[column(place["x"])] = ":"
    single = len({curve["name"][0] for curve in doc["curves"]}) < len(doc["curves"])
    marks = [str(i % 10) if single else curve["name"][0] for i, curve in enumerate(doc["curves"])]
    for mark, curve in zip(marks, doc["curves"]):
        points = list(zip(curve["x"], curve["y"]))
        for c in range(width):
            x = x_low * (x_high / x_low) ** (c / (width - 1))
            for (x0, y0), (x1, y1) in zip(points, points[1:]):
                if x0 <= x <= x1 * 1.0001:
                    y = min(max(y0 + (y1 - y0) * (x - x0) / (x1 - x0), y_low), y_high)
                    rows[height - 1 - int(math.log(y / y_low) / math.log(y_high / y_low) * (height - 1) + 0.5)][c] = mark
                    break
    out = doc["title"] + "\n"
    for r, row in enumerate(rows):
        y = y_low * (y_high / y_low) ** (1 - r / (height - 1))
        label = cost_text(y) if r % 4 == 0 or r + 1 == height else ""
        out += f"{label:>9} |{''.join(row)}".rstrip() + "\n"
    powers = [1 << k for k in range(64) if x_low <= 1 << k <= x_high]
    labels = ""
    for x in powers[::max(1, -(-len(powers) // 7))]:
        labels = labels.ljust(11 + column(x)) + size_text(x)
    out += " " * 10 + "+" + "-" * width + "\n" + labels + "\n"
    names = "".join(f" {mark} {curve['name']}" for mark, curve in zip(marks, doc["curves"]))
    out += f"{'':>9}  {doc['y']} over {doc['x']};{names}\n"
    return out + "".join(f"{'':>9}  : {place['words']}\n" for place in doc["places"])


def quoted(text):
    return '"' + one_line(text).replace("\\", "\\\\").replace('"', '\\"') + '"'


def dot(doc, ascii=False, colour=False):
    """For Graphviz: of a tree or an exchange one cluster per NUMA node, edges labelled with send order (or round) and
    cost."""
    node = dict(zip(doc["cpus"], doc["nodes"]))
    title = [f"{doc['machine']}: {doc['op']} by {doc['pattern']}, {doc['predicted']:.1f} {doc['unit']} "
             f"({doc['cost_model']} cost model)"] + ([doc["date"]] if "date" in doc else [])
    out = [f"digraph smelt {{\n  label={quoted(', '.join(title))};", '  node [shape=circle, fontname="sans-serif"];',
           '  edge [fontname="sans-serif", fontsize=10];']

    def clusters(prefix, root):
        for one in sorted(set(node.values())):
            members = " ".join(f"\"{prefix}{cpu}\" [label={cpu}{', shape=doublecircle' if cpu == root else ''}];"
                               for cpu in sorted(node) if node[cpu] == one)
            out.append(f'  subgraph cluster_{prefix}{one} {{\n    label="node {one}";\n    {members}\n  }}')

    for side in doc.get("sides", []):
        prefix = side["title"]
        if prefix:
            out.append(f'  subgraph cluster_{prefix} {{\n  label="{prefix}";')
        clusters(prefix, side["root"])
        # Drawn root first; a reduction's messages run the other way along the same edges, those of a barrier's only
        # tree both ways.
        direction = ", dir=back" if side["up"] else "" if side["down"] else ", dir=both"
        for parent, children in doc[side["children"]].items():
            for order, child in enumerate(children, 1):
                far = f', color="{FAR}"' if node[child] != node[int(parent)] else ""
                out.append(f'  "{prefix}{parent}" -> "{prefix}{child}" '
                           f'[label="{order}: {side["hops"][str(child)]:.0f}"{direction}{far}];')
        if prefix:
            out.append("  }")
    if "messages" in doc:
        clusters("", None)
        for m in doc["messages"]:
            out.append(f'  "{m["from"]}" -> "{m["to"]}" [label="{m["round"] + 1}: {m["hop"]:.0f}", '
                       f'color="{ROUND_COLOURS[m["round"] % len(ROUND_COLOURS)]}"];')
    return "\n".join(out) + "\n}\n"
