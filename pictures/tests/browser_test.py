#!/usr/bin/env python3
"""Reports in a browser, headless: at 1280 and at 390 pixels, light and dark, nothing on the console, nothing fetched,
all links lead to something, and what look.js finds is empty. What a hand points at is told. Skips without Chromium.

  browser_test.py SMELT SOURCE_ROOT [--pictures FOLDER]    (keeps a screenshot of each)
"""
import base64, os, pathlib, subprocess, sys, tempfile
from browser import Browser, find_chromium

smelt, root = sys.argv[1], pathlib.Path(sys.argv[2])
pictures = pathlib.Path(sys.argv[4]) if sys.argv[3:4] == ["--pictures"] else None
look = (root / "pictures/tests/look.js").read_text()
program = find_chromium()
if not program or subprocess.run(["/usr/bin/python3", "-c", "import jinja2, matplotlib"], capture_output=True).returncode:
    print("skipped: not here (Debian: chromium python3-matplotlib python3-jinja2)")
    sys.exit(77)

failures = []


def check(ok, words):
    if not ok:
        failures.append(words)
        print("FAIL:", words)


# A name from a file may hold anything: it must stay text.
HOSTILE = '</title><script>document.title="taken"</script><img src=x onerror="document.title=1">\\" onload=\\"x'


def hostile_machine(folder):
    n = 4
    matrix = [[0 if a == b else 20 + 5 * abs(a - b) for b in range(n)] for a in range(n)]
    import json
    path = folder / "hostile.json"
    path.write_text(json.dumps({"name": HOSTILE, "unit": "ns", "numa_node": [0, 0, 1, 1], "t_send": matrix,
                                "t_receive": matrix}))
    return str(path)


def visit(browser, page, name):
    for scheme in ("light", "dark"):
        for width in (1280, 390):
            where = f"{name}, {width} pixels, {scheme}"
            browser.screen(width, 900, scheme)
            browser.open(page.as_uri())
            for line in browser.ask(look):
                check(False, f"{where}: {line}")
            for line in browser.complaints():
                check(False, f"{where}: console: {line}")
            fetched = [url for url in browser.requests() if not url.startswith(("file:", "data:"))]
            check(not fetched, f"{where}: fetches {fetched}")
            if pictures:
                shot = browser.call("Page.captureScreenshot", format="png", captureBeyondViewport=True)
                pictures.mkdir(parents=True, exist_ok=True)
                (pictures / f"{name}-{width}-{scheme}.png").write_bytes(base64.b64decode(shot["data"]))


TIP = """(() => {
  const element = document.querySelector(%r);
  element.scrollIntoView({ block: "center", behavior: "instant" });
  const box = element.getBoundingClientRect();
  const [x, y] = [box.left + box.width * %f, box.top + box.height * %f];
  const event = new PointerEvent("pointermove", { bubbles: true, clientX: x, clientY: y });
  document.elementFromPoint(x, y).dispatchEvent(event);
  return document.getElementById("tip").hidden ? "" : document.getElementById("tip").textContent;
})()"""


def hover(browser, page):
    browser.screen(1280, 900, "light")
    browser.open(page.as_uri())
    cell = browser.ask(TIP % ("#heat-hop-cells", 0.99, 0.01))
    check("hop" in cell and " to CPU " in cell and "ns" in cell and "published" in cell,
          f"a cell of the heat map says {cell!r}")
    x, y = browser.ask('JSON.parse(document.getElementById("data").textContent).tips["tree-broadcast"].points[1].slice(0, 2)')
    tree = browser.ask(TIP % ("#tree-broadcast-cells", x, y))
    check("informed at" in tree and "link" in tree and "published" in tree, f"a CPU of the tree says {tree!r}")
    lane = browser.ask(TIP % ("#timeline-barrier-cells", 0.01, 0.97))
    check(lane.startswith("CPU 19 sends from 0 to "), f"a bar of the timeline says {lane!r}")
    round = browser.ask(TIP % ("#rounds-barrier-cells", 0.99, 0.97))
    check(round.startswith("CPU 19, round 2\n") and "signals CPU 9: hop" in round, f"a CPU of the rounds says {round!r}")
    cpu = browser.ask(TIP % (".machine .cpu", 0.5, 0.5))
    check(cpu.startswith("CPU 0"), f"a CPU of the boxes says {cpu!r}")


with tempfile.TemporaryDirectory() as scratch:
    folder = pathlib.Path(scratch)
    machines = {"xeon": "zoo:intel-xeon-e5-2670v2-2x10", "m1": "zoo:apple-m1-pro-1x6",
                "hostile": hostile_machine(folder)}
    pages = {}
    for name, machine in machines.items():
        pages[name] = folder / f"{name}.html"
        done = subprocess.run([smelt, "report", "--machine", machine, "-o", str(pages[name])],
                              capture_output=True, text=True)
        check(done.returncode == 0 and not done.stdout, f"{name}: {done.stderr}{done.stdout}")
    browser = Browser(program)
    try:
        for name, page in pages.items():
            visit(browser, page, name)
        browser.open(pages["hostile"].as_uri())
        title = browser.ask("document.title")
        check(title == " ".join(HOSTILE.split()), f"a hostile name became {title!r}")
        check(browser.ask("document.images.length + document.scripts.length") == 2, "a hostile name made elements")
        hover(browser, pages["xeon"])

        # The looking itself must be able to fail.
        bad = folder / "bad.html"
        bad.write_text('<!DOCTYPE html><body style="background:#fff"><p style="font-size:9px">small</p>'
                       '<p style="color:#ccc">faint</p>'
                       '<div style="width:3000px">wide</div><a href="#none">x</a><a href="https://example.org/">y</a>'
                       '<b id=a></b><b id=a></b>'
                       '<svg width=100 height=50 viewBox="0 0 200 100"><rect width=200 height=100 fill="#777"/>'
                       '<text x=10 y=50 font-size=20 fill="#999">z</text></svg><script>console.error("heard")</script>')
        browser.screen(1280, 900, "light")
        browser.open(bad.as_uri())
        found = "\n".join(browser.ask(look))
        for word in ("text of 9px", "contrast 1.6", "pixels wide on a screen", "#none leads nowhere", "leads out",
                     "two elements", "in a picture"):
            check(word in found, f"control: look.js does not find {word!r} in a bad page: {found}")
        check(any("heard" in line for line in browser.complaints()), "control: the console is not heard")
    finally:
        browser.close()

print(f"{len(pages)} reports, 2 widths, 2 schemes; {len(failures)} failures")
sys.exit(1 if failures else 0)
