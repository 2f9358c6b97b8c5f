#!/usr/bin/env python3
"""The settings for people, made from core/base/options.def, of which the program is made.

  settings.py                   are the tables of docs/settings.md and CONTRIBUTING.md what the rows say?
  settings.py --write           writes them anew
  settings.py --manual FILE     FILE with the settings in place of @SETTINGS@, as a manual page has them
"""
import pathlib
import re
import sys

root = pathlib.Path(__file__).resolve().parent.parent
KINDS = "BOOL|INTEGER|CHOICE|TEXT|STEPS|COUNTS|SWITCHES"
TUNE = "SMELT_TUNE="
MOST = 12  # users' settings, SMELT_TUNE among them
# Users' settings, and the words of SMELT_TUNE: where they stand, and how their table begins.
PAGES = {False: ("docs/settings.md", "setting"), True: ("CONTRIBUTING.md", "word of SMELT_TUNE")}


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
    elif kind == "COUNTS":
        default, values = "0", "0, 1 or a path"
    elif kind == "SWITCHES":
        default, values = "on", "on, off, or " + ",".join(switches())
    elif kind == "STEPS":
        default, values = "-1", f"-1, or multiples of {rest[0]} up to {rest[1]} {rest[2]}"
    else:
        default, values = rest[0] or "(none)", "text"
    readers = {"THREADS": "threads", "PROCESSES": "ranks", "BOTH": "threads, ranks"}[scope]
    return f"| `{string(name).removeprefix(TUNE)}` | {default} | {values.strip()} | {readers} | {string(text).replace('|', '&#124;')} |\n"


def entry(body):
    """Of the manual page, in which a hyphen is no minus."""
    _, name, *_, text = parts_of(body)
    text = re.sub(r"(?<![\w.])-(?=[-\d])|(?<=-)-(?=\w)", r"\\-", string(text))
    return f".TP\n.B {string(name)}\n{text}\n"


def source():
    text = (root / "core/base/options.def").read_text()
    return "\n".join(line for line in text.splitlines() if not line.startswith("//"))


def switches():
    return re.findall(r'^SWITCH\(\w+, "(-\w+)"', source(), re.M)


def rows(tuning):
    found = re.findall(rf"^({KINDS})\((.*?)\)$", source(), re.S | re.M)
    if len(found) != len(re.findall(r"^[A-Z]+\(", source(), re.M)) - len(switches()):
        raise ValueError("core/base/options.def has rows that docs/settings.py does not understand")
    return [one for one in found if (f'"{TUNE}' in one[1]) == tuning]


def table(tuning):
    head = f"| {PAGES[tuning][1]} | default | values | read by | what it does |\n|---|---|---|---|---|\n"
    return head + "".join(row(kind, body) for kind, body in rows(tuning))


def is_right(tuning):
    """Whether the page has the table; with --write it has it then."""
    name, first = PAGES[tuning]
    old = (root / name).read_text()
    new, found = re.subn(rf"^\| {first} \|.*\n(?:\|.*\n)+", lambda _: table(tuning), old, flags=re.M)
    if found != 1:
        print(f"FAIL: {name} has {found} tables of settings instead of one")
    elif new == old:
        return True
    elif "--write" in sys.argv[1:]:
        (root / name).write_text(new)
        return True
    else:
        print(f"FAIL: {name} does not say what core/base/options.def says; docs/settings.py --write mends it")
    return False


def main():
    if sys.argv[1:2] == ["--manual"]:
        page = pathlib.Path(sys.argv[2]).read_text()
        sys.stdout.write(page.replace("@SETTINGS@\n", "".join(entry(body) for _, body in rows(False))))
        return 0
    if len(rows(False)) + 1 > MOST:
        print(f"FAIL: {len(rows(False)) + 1} settings for users, {MOST} at most: is the last one only for us?")
        return 1
    return 0 if all([is_right(tuning) for tuning in PAGES]) else 1


if __name__ == "__main__":
    sys.exit(main())
