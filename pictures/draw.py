#!/usr/bin/env python3
"""Draws what the smelt program knows: it reads a document that --json prints, and writes one file.

  draw.py WHAT OUTPUT [--ascii] [--colour] < DOCUMENT

WHAT is the kind of the document: matrix, tree, schedule or timeline (smelt draw WHAT --json), dot, plots (smelt info
--rails --json), report (smelt report --json), or a file of Python that has drawings(document). OUTPUT ends in .svg, .dot,
.txt or .html; "-" is text on standard output. Text and DOT need Python alone, SVG Matplotlib, trees Graphviz too, and
pages Jinja.
"""
import json
import os
import runpy
import shutil
import sys

sys.dont_write_bytecode = True
SYSTEMS_PYTHON = "/usr/bin/python3"


def fail(words):
    print(f"smelt: {words}", file=sys.stderr)
    sys.exit(2)


def need(libraries, programs):
    """Goes on under the system's Python where only that has the libraries: another one may stand before it in PATH."""
    import importlib.util
    missing = [name for name in libraries if importlib.util.find_spec(name) is None]
    if missing and os.access(SYSTEMS_PYTHON, os.X_OK) and "PICTURES_AGAIN" not in os.environ:
        os.execve(SYSTEMS_PYTHON, [SYSTEMS_PYTHON] + sys.argv, dict(os.environ, PICTURES_AGAIN="1"))
    packages = [f"python3-{name}" for name in missing] + [package for program, package in programs.items()
                                                          if not shutil.which(program)]
    if packages:
        fail(f"pictures need what is not here; install it (Debian: apt install {' '.join(packages)}), or use --json")


def main():
    words = [word for word in sys.argv[1:] if word not in ("--ascii", "--colour")]
    if len(words) != 2:
        fail(f"draw.py: {__doc__.strip().splitlines()[2].strip()}")
    what, output = words
    form = "txt" if output == "-" else output.rpartition(".")[2]
    if form in ("svg", "html"):
        need(["matplotlib"] + ["jinja2"] * (form == "html"), {"dot": "graphviz"} if what in ("tree", "report") else {})
    document = json.load(sys.stdin)
    if form == "html":
        import page
        drawn = page.report(document)
    elif form == "svg":
        import charts
        shown = runpy.run_path(what)["drawings"](document) if what.endswith(".py") else charts.drawings(what, document)
        drawn = charts.file(shown, document)
    else:
        import text
        pen = text.dot if "dot" in (what, form) else getattr(text, what, None)
        if not pen:
            fail(f"a {what} is not drawn in letters; write .svg")
        drawn = pen(document, "--ascii" in sys.argv, "--colour" in sys.argv)
    try:
        if output == "-":
            sys.stdout.buffer.write(drawn.encode())
            sys.stdout.flush()
        else:
            with open(output, "w", encoding="utf-8") as file:
                file.write(drawn)
    except BrokenPipeError:
        os._exit(1)
    except OSError as error:
        fail(f"{output}: cannot be written ({error.strerror})")


main()
