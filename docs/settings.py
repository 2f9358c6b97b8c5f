#!/usr/bin/env python3
"""The table of docs/settings.md, made from core/base/options.def, of which the program is made.

  settings.py            is the page's table what the rows say?
  settings.py --write    writes it anew
"""
import pathlib
import re
import sys

root = pathlib.Path(__file__).resolve().parent.parent
KINDS = "BOOL|INTEGER|CHOICE|TEXT|STEPS"
HEAD = "| setting | default | values | read by | what it does |\n|---|---|---|---|---|\n"


def string(literals):
    """Of one or several C string literals after each other, what they hold."""
    return "".join(re.findall(r'"((?:[^"\\]|\\.)*)"', literals)).replace('\\"', '"')


def row(kind, body):
    parts = [part.strip() for part in re.findall(r'(?:"(?:[^"\\]|\\.)*"\s*)+|[^,"]+', body) if part.strip()]
    _, name, scope, *rest, text = parts
    rest = [string(one) if one.startswith('"') else one for one in rest]
    if kind == "BOOL":
        default, values = {"true": "1", "false": "0"}[rest[0]], "0 or 1"
    elif kind == "INTEGER":
        default, values = rest[0], f"{rest[1]} to {rest[2]} {'' if rest[3] == 'level' else rest[3]}"
    elif kind == "CHOICE":
        default, values = rest[0], rest[1].replace("|", ", ")
    elif kind == "STEPS":
        default, values = "-1", f"-1, or multiples of {rest[0]} up to {rest[1]} {rest[2]}"
    else:
        default, values = rest[0] or "(none)", "text"
    readers = {"THREADS": "threads", "PROCESSES": "ranks", "BOTH": "threads, ranks"}[scope]
    return f"| `{string(name)}` | {default} | {values.strip()} | {readers} | {string(text).replace('|', '&#124;')} |\n"


def table():
    source = (root / "core/base/options.def").read_text()
    source = "\n".join(line for line in source.splitlines() if not line.startswith("//"))
    rows = re.findall(rf"^({KINDS})\((.*?)\)$", source, re.S | re.M)
    if len(rows) != len(re.findall(rf"^(?:{KINDS})\(", source, re.M)):
        raise ValueError("core/base/options.def has rows that docs/settings.py does not understand")
    return HEAD + "".join(row(kind, body) for kind, body in rows)


def main():
    page = root / "docs/settings.md"
    old = page.read_text()
    new, found = re.subn(r"^\| setting \|.*\n(?:\|.*\n)+", lambda _: table(), old, flags=re.M)
    if found != 1:
        print(f"FAIL: {page} has {found} tables of settings instead of one")
        return 1
    if new == old:
        return 0
    if "--write" not in sys.argv[1:]:
        print(f"FAIL: {page} does not say what core/base/options.def says; docs/settings.py --write mends it")
        return 1
    page.write_text(new)
    return 0


if __name__ == "__main__":
    sys.exit(main())
