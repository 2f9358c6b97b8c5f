#!/usr/bin/env python3
"""What smelt report writes, as a document: well nested, whole, the same twice, nothing from outside; every figure of a
card and of the patterns' tables is one that --json has, patterns that cost the same are one row, the heading has host and
date; its refusals, and what is missing in one line; the committed examples are what the program writes today
(SMELT_RENEW_EXAMPLES=1 writes them anew). Skips without Matplotlib, Jinja or Graphviz.

  structure_test.py SMELT SOURCE_ROOT
"""
import base64, hashlib, html, html.parser, json, os, pathlib, re, shutil, subprocess, sys, tempfile

smelt, root = sys.argv[1], pathlib.Path(sys.argv[2])
EXAMPLES = {"intel-xeon-e5-2670v2-2x10": "report-xeon-2x10.html", "apple-m1-pro-1x6": "report-m1-pro.html"}
VOID = {"meta", "link", "br", "img", "hr", "input"}
PLAIN = {key: value for key, value in os.environ.items() if not key.startswith("SMELT_")}
failures = []
SYSTEMS = "/usr/bin/python3"
if subprocess.run([SYSTEMS, "-c", "import jinja2, matplotlib"], capture_output=True).returncode or not shutil.which("dot"):
    print("skipped: not here (Debian: python3-matplotlib python3-jinja2 graphviz)")
    sys.exit(77)


def check(ok, words):
    if not ok:
        failures.append(words)
        print("FAIL:", words)


class Reader(html.parser.HTMLParser):
    def __init__(self):
        super().__init__()
        self.open, self.wrong, self.ids, self.links, self.sections, self.words = [], [], [], [], [], []

    def handle_starttag(self, tag, attributes):
        attributes = dict(attributes)
        if tag not in VOID:
            self.open.append(tag)
        if "id" in attributes:
            self.ids.append(attributes["id"])
        if tag == "section":
            self.sections.append(attributes["id"])
        if "href" in attributes:
            self.links.append(attributes["href"])
        for name in attributes:
            if name.startswith("on"):
                self.wrong.append(f"<{tag} {name}>")
        if tag in ("iframe", "object", "embed", "img", "video", "audio", "form", "base"):
            self.wrong.append(f"<{tag}>")

    def handle_startendtag(self, tag, attributes):
        self.handle_starttag(tag, attributes)
        if tag not in VOID:
            self.open.pop()

    def handle_endtag(self, tag):
        if not self.open or self.open.pop() != tag:
            self.wrong.append(f"</{tag}> closes nothing")

    def handle_data(self, data):
        if not self.open or self.open[-1] not in ("script", "style") and "svg" not in self.open:
            self.words.append(data)


def read(text, name):
    page = Reader()
    page.feed(text)
    page.close()
    check(not page.open and not page.wrong, f"{name}: {page.wrong[:3]} {page.open}")
    check(len(page.ids) == len(set(page.ids)), f"{name}: an id twice")
    for link in page.links:
        check(link == "data:," or (link[0] == "#" and link[1:] in page.ids), f"{name}: {link} leads nowhere or out")
    script = re.search(r"<script>(.*?)</script>", text, re.S).group(1)
    allowed = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    check(f"'sha256-{allowed}'" in text, f"{name}: its own script is not the one that the policy allows")
    data = json.loads(re.search(r'<script type="application/json" id="data">(.*?)</script>', text, re.S).group(1))
    for id, tips in data["tips"].items():
        check(id in page.ids and id + "-cells" in page.ids, f"{name}: {id} has tips and no picture")
        if tips["kind"] == "cells":
            right = len(tips["cells"]) == len(tips["names"]) ** 2 and max(tips["cells"]) < len(tips["values"])
            check(right, f"{name}: {id}: cells")
    for number in ("nan", "inf"):
        check(not re.search(rf'"-?{number}|[> ]-?{number}[ <]', text.lower()), f"{name}: a figure is {number}")
    return page


def report(folder, name, *arguments, **environment):
    path = pathlib.Path(folder) / name
    env = dict(PLAIN)
    env.update(HOME=folder, XDG_CACHE_HOME=folder + "/cache", **environment)
    done = subprocess.run([smelt, "report", *arguments, "-o", str(path)], capture_output=True, text=True, env=env)
    return done, path.read_text() if path.exists() else ""


def said(page):
    """The words without figures, whatever their order."""
    return sorted(re.sub(r"[\d.,]+", "", words) for words in page.words)


def cost_text(cost):
    return "0" if cost == 0 else f"{cost:.{0 if cost >= 100 else 1 if cost >= 10 else 2}f}"


def section_of(text, id):
    return re.search(rf'<section id="{id}".*?</section>', text, re.S).group(0)


def tiles_of(text):
    return [(html.unescape(value), html.unescape(words))
            for value, words in re.findall(r"<li><b>(.*?)</b> <span>(.*?)</span></li>", text)]


def check_figures(text, made, name):
    """Cards and tables of the patterns have no other figures than the document, and all of its cheapest."""
    for part in re.split('<h3 id="pattern-', section_of(text, "patterns"))[1:]:
        op, compared = part[:part.index('"')], made["patterns"][part[:part.index('"')]]
        measured = [row for row in made.get("raced", []) if row["op"] == op]
        known = {f"{cost_text(cost)} {made['unit']}" for cost in
                 [compared["predicted"], compared.get("predicted_in_a_loop", 0)] + [row["measured"] for row in measured]}
        for value, words in tiles_of(part):
            check(value == compared["chosen"] if words == "pattern" else value in known, f"{name}: {op}: {words}: {value}")
        rows = [re.findall(r"<td[^>]*>(.*?)</td>", row, re.S) for row in re.findall(r"<tr.*?</tr>", part, re.S)[1:]]
        shown = [tuple(row[1:2] + row[3:]) for row in rows]
        check(rows and len(shown) == len(set(shown)), f"{name}: {op}: two rows are the same: {shown}")
        figures = sorted({tuple(f"{row[member]:.1f}" for member in ("predicted", "predicted_in_a_loop") if member in row)
                          for row in compared["patterns"]}, key=lambda row: float(row[0]))
        check(set(shown) <= set(figures) and len(shown) == min(len(figures), 12) and
              [row[0] for row in shown] == [row[0] for row in figures[:len(shown)]], f"{name}: {op}: {shown} of {figures}")
        times = {row["pattern"]: row["ratio"] for row in compared["patterns"]}
        for row in rows:
            first = row[0].split(" and ")[0].split(", ")[0]
            check(first not in times or abs(float(row[2]) - times[first]) < 0.006, f"{name}: {op}: {row}")
    counts = [value for value, _ in tiles_of(section_of(text, "overview"))]
    shape = made["shape"]
    check(counts == [str(len(set(shape[member]))) for member in ("cpus", "cores", "caches", "nodes", "packages")],
          f"{name}: {counts}")
    hops = re.findall(r'data-column="median">(.*?)<', section_of(text, "costs"))
    check(hops == [f"{row['median']:.1f}" for row in made["hops"]], f"{name}: hops {hops}")


def frame(text):
    return re.findall(r"<(?:style|script)>.*?</(?:style|script)>", text, re.S)


def figures_of(page):
    """The names but for those inside the drawings, which are Matplotlib's."""
    return [id for id in page.ids if not re.search(r"-(cells|[a-z]+_?\d+|[a-zA-Z]*[0-9a-f]{8,})", id)]


ALWAYS = ["overview", "topology", "costs", "patterns", "thresholds", "commands"]
with tempfile.TemporaryDirectory() as folder:
    for machine, file in EXAMPLES.items():
        done, text = report(folder, file, "--machine", "zoo:" + machine)
        check(done.returncode == 0 and done.stdout == "" and done.stderr == "", f"{machine}: {done}")
        page = read(text, machine)
        check(page.sections == ALWAYS, f"{machine}: sections {page.sections}")
        for figure in ("heat-hop", "heat-send", "heat-receive", "timeline-barrier", "timeline-broadcast",
                       "timeline-reduce"):
            check(figure in page.ids, f"{machine}: no {figure}")
        check(len(text) < 1 << 20, f"{machine}: {len(text)} bytes")
        done = subprocess.run([smelt, "report", "--machine", "zoo:" + machine, "--json"], capture_output=True, text=True)
        check_figures(text, json.loads(done.stdout), machine)
        check(report(folder, "again.html", "--machine", "zoo:" + machine)[1] == text, f"{machine}: not the same twice")
        committed = root / "docs/examples" / file
        if os.environ.get("SMELT_RENEW_EXAMPLES"):
            committed.parent.mkdir(exist_ok=True)
            committed.write_text(text)
        # Where compilers fuse multiplications, costs differ in the last digit, and equally good trees may change places:
        # figures are compared as far as they say what they are of.
        old = read(committed.read_text(), str(committed))
        same = figures_of(old) == figures_of(page) and said(old) == said(page) and frame(committed.read_text()) == frame(text)
        check(same, f"{committed}: is not what the program writes; SMELT_RENEW_EXAMPLES=1 writes it anew")

    # The picture that README shows. The day on which it was drawn is no part of it.
    def drawing(text):
        return re.sub(r"drawn by smelt draw[^<]*", "", text)

    picture = pathlib.Path(folder) / "tree.svg"
    done = subprocess.run([smelt, "draw", "tree", "--machine", "zoo:intel-xeon-e5-2670v2-2x10", "--op", "broadcast", "--pattern",
                           "optimised", "-o", str(picture)], capture_output=True, text=True)
    check(done.returncode == 0, f"tree.svg: {done}")
    committed = root / "docs/tree.svg"
    if os.environ.get("SMELT_RENEW_EXAMPLES"):
        committed.write_text(picture.read_text())

    def words(text):
        return sorted(re.sub(r"[\d.,]+", "", drawing(word)) for word in re.findall(r">([^<>\n]+)</(?:text|title)>", text))

    check(len(words(picture.read_text())) > 40 and words(committed.read_text()) == words(picture.read_text()),
          "docs/tree.svg is not what smelt draw makes today; SMELT_RENEW_EXAMPLES=1 draws it anew")

    # The document that a page is made of.
    done = subprocess.run([smelt, "report", "--machine", "zoo:apple-m1-pro-1x6", "--json"], capture_output=True, text=True)
    made = json.loads(done.stdout)
    check(set(made) == {"machine", "origin", "kind", "note", "unit", "asked", "version", "cpus", "shape", "hops", "distances",
                        "origins", "costs", "patterns", "thresholds", "plots", "help"}, f"--json: {list(made)}")
    check(made["patterns"]["barrier"]["chosen"] and made["patterns"]["barrier"]["best"] > 0, "--json: no barrier")
    check(subprocess.run([smelt, "report"], capture_output=True).returncode == 2, "report without a place")

    # Nothing on the page claims that nothing can take less than what a race has taken; its figures are the race's.
    pictures = pathlib.Path(smelt).resolve().parent.parent / "pictures/draw.py"

    def drawn(document, name, **environment):
        path = pathlib.Path(folder) / name
        done = subprocess.run([SYSTEMS, str(pictures), "report", str(path)], input=json.dumps(document), text=True,
                              capture_output=True, env=dict(PLAIN, **environment))
        return done, path.read_text() if path.exists() else ""

    raced = dict(made, raced=[{"op": "barrier", "cpus": made["cpus"], "pattern": "pair", "predicted": 100.0, "measured": 38.0,
                               "spread": 0.1, "skewed": None, "hop": 30.0}])
    raced["patterns"]["barrier"]["bound"] = 95.0
    done, text = drawn(raced, "raced.html")
    check(done.returncode == 0, f"raced: {done.stderr}")
    read(text, "raced")
    check_figures(text, raced, "raced")
    tiles = tiles_of(section_of(text, "patterns"))
    check(("38.0 ns", "measured, each in a loop, by pair") in tiles, f"raced: {tiles}")
    check(not any(value.startswith("95") for value, _ in tiles) and "can take less" not in text and
          "lower bound" not in text, f"raced: a card claims a bound: {tiles}")
    check("took 38.0 ns in a loop" in section_of(text, "overview"), "raced: the overview does not say what was measured")
    before = list(failures)
    print("control, which fails:")
    check_figures(text.replace("<b>38.0 ns</b>", "<b>39.0 ns</b>"), raced, "control")
    found = len(failures) > len(before)
    failures[:] = before
    check(found, "control: a card's wrong figure passes")

    # Names out of files stay text; machines of one CPU and of many have a page too.
    matrix = [[0, 30], [31, 0]]
    evil = '<script>alert(1)</script> "x" \'y\' & </section>'
    (pathlib.Path(folder) / "evil.json").write_text(json.dumps(
        {"name": evil, "unit": "ns", "numa_node": [0, 0], "t_send": matrix, "t_receive": matrix}))
    done, text = report(folder, "evil.html", "--machine", folder + "/evil.json")
    check(done.returncode == 0, f"evil: {done.stderr}")
    check("<script>alert" not in text and evil in "".join(read(text, "evil").words),
          "evil: the name is not there as text")
    for shape in ("pack:1 core:1 pu:1", "pack:1 core:1 pu:2", "pack:2 numa:2 l3:2 core:4 pu:2"):
        done, text = report(folder, "shape.html", "--machine", "synthetic:" + shape)
        check(done.returncode == 0, f"{shape}: {done.stderr}")
        read(text, shape)

    # Of many CPUs the charts have a row for each group of some: their own, or neighbours where there are none.
    for shape, group in (("pack:2 numa:1 l3:1 core:64 pu:1", "block of neighbours"), ("pack:2 l3:1 core:32 pu:2", "core"),
                         ("pack:2 numa:1 l3:16 core:8 pu:2", "last-level cache")):
        done, text = report(folder, "many.html", "--machine", "synthetic:" + shape)
        check(done.returncode == 0, f"{shape}: {done.stderr}")
        read(text, shape)
        check(f"each is a {group}, " in text, f"{shape}: no row is a {group}")
        check(len(text) < 1_200_000, f"{shape}: {len(text)} bytes")

    # A profile and a network profile bring their own sections.
    network = root / "rails/tests/data/two_rails.json"
    done, text = report(folder, "network.html", "--machine", "zoo:apple-m1-pro-1x6", "--network", str(network))
    if " network " in subprocess.run([smelt, "--help"], capture_output=True, text=True).stdout:
        page = read(text, "network")
        check(done.returncode == 0 and "networks" in page.sections and "rail-1" in page.ids,
              f"network: {done.stderr} {page.sections}")
    else:  # a build without rails
        check(done.returncode == 2 and "-Drails=enabled" in done.stderr, f"network: {done.stderr}")
    done, text = report(folder, "here.html", "--json")
    check(done.returncode == 0, f"here: {done.stderr}")
    here, page = json.loads(done.stdout), read(text, "here")
    check("conditions" in page.sections, f"here: {page.sections}")
    check_figures(text, here, "here")
    check(here["host"] == os.uname().nodename and re.fullmatch(r"\d{4}-\d\d-\d\d \d\d:\d\d UTC", here["date"]),
          f"here: {here['host']}, {here['date']}")
    header = re.search(r"<header>.*?</header>", text, re.S).group(0)
    check(html.escape(f"Host {here['host']}, {here['date']}.") in header, f"here: the heading is {header}")

    # Where Python or a library is missing, one line says what to install, and --json works.
    place = pathlib.Path(folder) / "bin"
    place.mkdir()
    for what, words in (("", "apt install"), (f'#!/bin/sh\nexec {SYSTEMS} -S "$@"\n', "apt install python3-matplotlib")):
        if what:
            (place / "python3").write_text(what)
            (place / "python3").chmod(0o755)
        for arguments in (("report", "-o", folder + "/missing.html"), ("draw", "tree", "-o", folder + "/missing.svg")):
            done = subprocess.run([smelt, *arguments, "--machine", "zoo:apple-m1-pro-1x6"], capture_output=True, text=True,
                                  env=dict(PLAIN, PATH=str(place), PICTURES_AGAIN="1"))
            check(done.returncode == 2 and done.stderr.count("\n") == 1 and words in done.stderr and
                  "--json" in done.stderr and not list(pathlib.Path(folder).glob("missing.*")), f"{what!r}: {done}")
        done = subprocess.run([smelt, "report", "--machine", "zoo:apple-m1-pro-1x6", "--json"], capture_output=True,
                              text=True, env=dict(PLAIN, PATH=str(place)))
        check(json.loads(done.stdout)["cpus"] == made["cpus"], f"{what!r}: --json: {done}")

    for arguments, words in ((("--machine", "zoo:apple-m1-pro-1x6", "--measure"), "only this machine"),
                             (("--machine", "zoo:nothing-like-it"), "zoo"),
                             (("--network", folder + "/none.json"), ": ")):
        done, text = report(folder, "refused.html", *arguments)
        check(done.returncode == 2 and done.stderr.count("\n") == 1 and words in done.stderr and not text,
              f"{arguments}: {done}")
    done = subprocess.run([smelt, "report", "-o", folder + "/x.pdf"], capture_output=True, text=True)
    check(done.returncode == 2 and ".html" in done.stderr, f"x.pdf: {done}")

    # The reading itself must be able to fail.
    probe = Reader()
    probe.feed('<section id="a"><p onclick="x"></section>')
    check(len(probe.wrong) == 2, "control: a bad page passes")

print(f"{len(failures)} failures")
sys.exit(1 if failures else 0)
