#!/usr/bin/env python3
"""The documentation as a site: mkdocs builds it without a warning, every page is in the navigation, and every link and
picture in it leads to something that is in the site, its place in the page included. Nothing is fetched from elsewhere.

  site_test.py SOURCE_ROOT
"""
import html.parser, os, pathlib, re, shutil, subprocess, sys, tempfile, urllib.parse

sys.dont_write_bytecode = True
import expectations  # noqa: E402
from expectations import expect  # noqa: E402

root = pathlib.Path(sys.argv[1])
mkdocs = shutil.which("mkdocs")
if not mkdocs:
    print("skipped: no mkdocs here (Debian: mkdocs)")
    sys.exit(77)


class Links(html.parser.HTMLParser):
    def __init__(self):
        super().__init__()
        self.links, self.fetched, self.places = [], [], {"", "top"}

    def handle_starttag(self, tag, attributes):
        for name, value in attributes:
            if name in ("id", "name") and value:
                self.places.add(value)
            if name in ("href", "src") and value is not None:
                (self.links if tag == "a" else self.fetched).append(value)


def read(page):
    parser = Links()
    parser.feed(page.read_text())
    return parser


def wrong_links(site):
    """A line per link that leads nowhere, and how many were followed."""
    pages = {page.resolve(): read(page) for page in site.rglob("*.html") if page.name != "404.html"}
    wrong, followed = [], 0
    for page, links in pages.items():
        for link in links.links + links.fetched:
            parts = urllib.parse.urlsplit(link)
            if parts.scheme or parts.netloc:
                if link in links.fetched and parts.scheme != "data":
                    wrong.append(f"{page.name} fetches {link}")
                continue
            followed += 1
            target = (page.parent / urllib.parse.unquote(parts.path)).resolve() if parts.path else page
            # The theme's scripts are MkDocs' own; Ubuntu 24.04's package lacks one.
            if link in links.fetched and target.parent == site.resolve() / "js" and target.suffix == ".js":
                continue
            if target.is_dir():
                target = target / "index.html"
            if not target.exists():
                wrong.append(f"{page.name}: {link} leads nowhere")
            elif (parts.fragment and target in pages and
                  urllib.parse.unquote(parts.fragment) not in pages[target].places):
                wrong.append(f"{page.name}: {link}: there is no such place")
    for sheet in site.rglob("*.css"):
        for link in re.findall(r"""(?:url\(|@import)\s*["']?([^"')]*)""", sheet.read_text()):
            if urllib.parse.urlsplit(link).netloc:
                wrong.append(f"{sheet.name} fetches {link}")
    return wrong, followed, len(pages)


with tempfile.TemporaryDirectory() as scratch:
    site = pathlib.Path(scratch) / "site"
    done = subprocess.run([mkdocs, "build", "--strict", "--config-file", str(root / "mkdocs.yml"),
                           "--site-dir", str(site)], capture_output=True, text=True,
                          env=dict(os.environ, PYTHONDONTWRITEBYTECODE="1"))
    expect(done.returncode == 0 and "WARNING" not in done.stderr, f"mkdocs: {done.stdout}{done.stderr}")
    if done.returncode == 0:
        wrong, followed, pages = wrong_links(site)
        for line in wrong:
            expect(False, line)
        expect(followed > 500 and pages > 14, f"only {followed} links in {pages} pages")
        navigation = read(site / "index.html").links
        for page in sorted((root / "docs").glob("*.md")):
            expect(page.stem + ".html" in navigation, f"docs/{page.name} is not in the navigation of mkdocs.yml")
        print(f"{followed} links in {pages} pages")

        # It must be able to fail.
        (site / "bad.html").write_text('<a href="none.html">x</a><a href="index.html#nowhere-at-all">y</a>'
                                       '<script src="https://example.org/x.js"></script>'
                                       '<a href="https://example.org/">z</a>')
        (site / "bad.css").write_text('@import "//example.org/x.css"; b { background: url(https://example.org/y.png) }')
        found = [line for line in wrong_links(site)[0] if line.startswith("bad.")]
        expect(len(found) == 5, f"control: three of four links and two of a style sheet are wrong: {found}")

print(f"{expectations.failed} failures")
sys.exit(expectations.failed != 0)
