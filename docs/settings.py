#!/usr/bin/env python3
"""The settings for people, made from core/base/options.def, of which the program is made.

  settings.py                   is the table of docs/settings.md what the rows say?
  settings.py --write           writes it anew
  settings.py --manual FILE     FILE with the settings in place of @SETTINGS@, as a manual page has them
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


def parts_of(body):
    return [part.strip() for part in re.findall(r'(?:"(?:[^"\\]|\\.)*"\s*)+|[^,"]+', body) if part.strip()]


def row(kind, body):
    _, name, scope, *rest, text = parts_of(body)
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


def entry(body):
    """Of the manual page, in which a hyphen is no minus."""
    _, name, *_, text = parts_of(body)
    text = re.sub(r"(?<![\w.])-(?=[-\d])|(?<=-)-(?=\w)", r"\\-", string(text))
    return f".TP\n.B {string(name)}\n{text}\n"


def rows():
    source = (root / "core/base/options.def").read_text()
    source = "\n".join(line for line in source.splitlines() if not line.startswith("//"))
    found = re.findall(rf"^({KINDS})\((.*?)\)$", source, re.S | re.M)
    if len(found) != len(re.findall(rf"^(?:{KINDS})\(", source, re.M)):
        raise ValueError("core/base/options.def has rows that docs/settings.py does not understand")
    return found


def table():
    return HEAD + "".join(row(kind, body) for kind, body in rows())


def main():
    if sys.argv[1:2] == ["--manual"]:
        page = pathlib.Path(sys.argv[2]).read_text()
        sys.stdout.write(page.replace("@SETTINGS@\n", "".join(entry(body) for _, body in rows())))
        return 0
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
