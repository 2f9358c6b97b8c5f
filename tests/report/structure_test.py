#!/usr/bin/env python3
"""What smelt report writes, as a document: well nested, whole, the same twice, nothing from outside; its refusals; the
committed examples are what the program writes today (SMELT_RENEW_EXAMPLES=1 writes them anew).

  structure_test.py SMELT SOURCE_ROOT
"""
import base64, hashlib, html.parser, json, os, pathlib, re, subprocess, sys, tempfile

smelt, root = sys.argv[1], pathlib.Path(sys.argv[2])
EXAMPLES = {"intel-xeon-e5-2670v2-2x10": "report-xeon-2x10.html", "apple-m1-pro-1x6": "report-m1-pro.html"}
VOID = {"meta", "link", "br", "img", "hr", "input"}
failures = []


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
        if not self.open or self.open[-1] not in ("script", "style"):
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
    for id, heat in data["heat"].items():
        check(id in page.ids, f"{name}: {id} has cells and no picture")
        right = len(heat["cells"]) == len(heat["order"]) ** 2 and max(heat["cells"]) < len(heat["values"])
        check(right, f"{name}: {id}: cells")
    check(len(data["cpus"]) == len(data["places"]), f"{name}: places")
    for number in ("nan", "inf"):
        check(not re.search(rf'"-?{number}|[> ]-?{number}[ <]', text.lower()), f"{name}: a figure is {number}")
    return page


def report(folder, name, *arguments, **environment):
    path = pathlib.Path(folder) / name
    env = {key: value for key, value in os.environ.items() if not key.startswith("SMELT_")}
    env.update(HOME=folder, XDG_CACHE_HOME=folder + "/cache", **environment)
    done = subprocess.run([smelt, "report", *arguments, "-o", str(path)], capture_output=True, text=True, env=env)
    return done, path.read_text() if path.exists() else ""


def said(page):
    """The words without figures, whatever their order."""
    return sorted(re.sub(r"[\d.,]+", "", words) for words in page.words)


def frame(text):
    return re.findall(r"<(?:style|script)>.*?</(?:style|script)>", text, re.S)


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
        check(report(folder, "again.html", "--machine", "zoo:" + machine)[1] == text, f"{machine}: not the same twice")
        committed = root / "docs/examples" / file
        if os.environ.get("SMELT_RENEW_EXAMPLES"):
            committed.parent.mkdir(exist_ok=True)
            committed.write_text(text)
        # Where compilers fuse multiplications, costs differ in the last digit, and equally good trees may change places:
        # figures are compared as far as they say what they are of.
        old = read(committed.read_text(), str(committed))
        same = old.ids == page.ids and said(old) == said(page) and frame(committed.read_text()) == frame(text)
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

    def shape(text):
        return [tag for tag in re.findall(r"<(\w+)", text)], re.sub(r"[\d.,]+", "", drawing(text))

    check(shape(committed.read_text())[0] == shape(picture.read_text())[0] and
          re.findall(r"<title>[^<]*", committed.read_text())[0] == re.findall(r"<title>[^<]*", picture.read_text())[0],
          "docs/tree.svg is not what smelt draw makes today; SMELT_RENEW_EXAMPLES=1 draws it anew")

    # The document that a page is made of.
    done = subprocess.run([smelt, "report", "--machine", "zoo:apple-m1-pro-1x6", "--json"], capture_output=True, text=True)
    made = json.loads(done.stdout)
    check(set(made) == {"machine", "origin", "cpus", "hops", "patterns", "thresholds"}, f"--json: {list(made)}")
    check(made["patterns"]["barrier"]["chosen"] and made["patterns"]["barrier"]["best"] > 0, "--json: no barrier")
    check(subprocess.run([smelt, "report"], capture_output=True).returncode == 2, "report without a place")

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
        check(len(text) < 900_000, f"{shape}: {len(text)} bytes")

    # A profile and a network profile bring their own sections.
    network = root / "rails/tests/data/two_rails.json"
    done, text = report(folder, "network.html", "--machine", "zoo:apple-m1-pro-1x6", "--network", str(network))
    if " network " in subprocess.run([smelt, "--help"], capture_output=True, text=True).stdout:
        page = read(text, "network")
        check(done.returncode == 0 and "networks" in page.sections and "rail-1" in page.ids,
              f"network: {done.stderr} {page.sections}")
    else:  # a build without rails
        check(done.returncode == 2 and "-Drails=enabled" in done.stderr, f"network: {done.stderr}")
    done, text = report(folder, "here.html")
    if done.returncode == 0:
        page = read(text, "here")
        check("conditions" in page.sections, f"here: {page.sections}")
    else:
        check(False, f"here: {done.stderr}")

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
