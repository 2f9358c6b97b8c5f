"""The drawing of a paper's figure, for pictures/draw.py: bars, lines or a heat map for each panel, one under the other."""
import matplotlib
import matplotlib.pyplot as plt
import numpy as np
from matplotlib.colors import Normalize

from charts import CURVES, GRID, INK, Drawing, svg_of
from text import cost_text


def drawings(doc):
    panels = [panel for panel in doc["panels"] if panel["chart"] != "none" and values(panel)]
    heights = [(24 * len(panel["rows"]) + 90) if panel["chart"] == "heat" else 400 for panel in panels]
    width = 900
    fig = plt.figure(figsize=(width / 72, max(sum(heights), 10) / 72))
    bottom = sum(heights)
    for panel, height in zip(panels, heights):
        bottom -= height
        is_heat = panel["chart"] == "heat"
        box = [(260 if is_heat else 80) / width, (bottom + (44 if is_heat else 110)) / sum(heights),
               (width - (280 if is_heat else 100)) / width, (height - (84 if is_heat else 170)) / sum(heights)]
        ax = fig.add_axes(box)
        ax.set_title(panel["title"], loc="left", weight="bold", pad=10 if not is_heat else 22)
        {"bars": bars, "lines": lines, "heat": heat}[panel["chart"]](ax, panel)
        if not is_heat:
            ax.set_ylabel(f"{panel['y']}, {panel['unit']}" + (" (log)" if panel["log_y"] else ""))
            if panel["log_y"]:
                ax.set_yscale("log")
            ax.yaxis.set_major_formatter(lambda y, _: f"{y:g}")
            ax.grid(axis="y", color=GRID, lw=0.8)
            ax.set_axisbelow(True)
            for sample in ax.legend(loc="lower left", bbox_to_anchor=(0, -0.46), ncol=4).findobj():
                sample.set_gid(None)  # names are the marks'
    notes = [note for panel in panels for note in panel["notes"]] + doc["notes"]
    return [Drawing(doc["title"], svg_of(fig), [doc["source"]] + notes, None)]


def drawn(cell):
    return not cell["words"] and cell["value"] > 0


def values(panel):
    return [cell["value"] for row in panel["rows"] for cell in row["cells"] if drawn(cell)]


def bars(ax, panel):
    shown = [s for s in range(len(panel["series"])) if any(drawn(row["cells"][s]) for row in panel["rows"])]
    for nth, s in enumerate(shown):
        places = [(r + 0.84 * ((nth + 0.5) / len(shown) - 0.5), row["cells"][s]) for r, row in enumerate(panel["rows"])
                  if drawn(row["cells"][s])]
        ax.bar([x for x, _ in places], [cell["value"] for _, cell in places], 0.84 / len(shown) * 0.9,
               yerr=[min(cell["spread"], 1) * cell["value"] for _, cell in places], color=CURVES[s % len(CURVES)],
               label=panel["series"][s], gid=f"series:{panel['series'][s]}", error_kw={"elinewidth": 1, "ecolor": INK})
    ax.set_xticks(range(len(panel["rows"])), [f"{row['name']}\n{row['kind']}" for row in panel["rows"]])
    if len(panel["rows"]) > 6:
        plt.setp(ax.get_xticklabels(), rotation=20, ha="right")
    ax.set_xlabel(panel["rows_are"])


def lines(ax, panel):
    for s, name in enumerate(panel["series"]):
        points = [(row["x"], row["cells"][s]) for row in panel["rows"] if drawn(row["cells"][s])]
        if points:
            drawn_line = ax.errorbar([x for x, _ in points], [cell["value"] for _, cell in points],
                        yerr=[min(cell["spread"], 1) * cell["value"] for _, cell in points], label=name, marker="o", ms=4,
                        color=CURVES[s % len(CURVES)], ls="--" if s % 2 else "-", elinewidth=1)
            drawn_line.lines[0].set_gid(f"series:{name}")
    if panel["log_x"]:
        ax.set_xscale("log")
    rows = panel["rows"][::-(-len(panel["rows"]) // 12)]
    ax.set_xticks([row["x"] for row in rows], [row["name"] for row in rows])
    ax.xaxis.set_minor_locator(matplotlib.ticker.NullLocator())
    ax.set_xlabel(f"{panel['rows_are']}{', log' if panel['log_x'] else ''} ({panel['rows'][0]['kind']})")


def heat(ax, panel):
    """A box for each number, dearest colour for the largest, the number in it."""
    cells = np.array([[cell["value"] if drawn(cell) else np.nan for cell in row["cells"]] for row in panel["rows"]])
    norm, colours = Normalize(np.nanmin(cells), np.nanmax(cells)), matplotlib.colormaps["viridis_r"]
    ax.imshow(cells, cmap=colours, norm=norm, aspect="auto", interpolation="none")
    for r, row in enumerate(panel["rows"]):
        for s, cell in enumerate(row["cells"]):
            dark = drawn(cell) and norm(cell["value"]) > 0.5
            ax.text(s, r, cost_text(cell["value"]) if drawn(cell) else cell["words"], ha="center", va="center",
                    color="#ffffff" if dark else INK, gid=f"series:{panel['series'][s]}" if drawn(cell) else None)
    ax.set_xticks(range(len(panel["series"])), panel["series"])
    ax.set_yticks(range(len(panel["rows"])), [f"{row['name']} ({row['kind']})" for row in panel["rows"]])
    ax.tick_params(top=False, labeltop=True, bottom=False, labelbottom=False, length=0)
    ax.set(xlabel=f"{panel['y']}, {panel['unit']}", ylabel=panel["rows_are"])
