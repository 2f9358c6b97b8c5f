#!/usr/bin/env python3
"""What pages say was measured, results/ has: tests/claims.txt lists the figures, and this test holds both sides to it.

  claims_test.py SOURCE_ROOT

tests/claims.txt says how a claim is written. Above README's limits every number with a point, and every table's cell
that is a number, must be one. Every file of results/ that a page names must be there.
"""
import math, pathlib, re, sys

RATIO = r"[^\n]*\s([\d.]+)\*? +(?:[\d.]+-[\d.]+\b|\[)"  # a ratio is the number in front of its spread
FILE = re.compile(r"\b20\d\d-\d\d-\d\d-[a-z0-9-]+\.txt")
RULES = {"least": min, "most": max, "count": len, "mean": lambda values: math.exp(sum(map(math.log, values)) / len(values))}


def plain(text):
    """A page's text without bold and line breaks, which change no figure."""
    return " ".join(text.replace("**", "").split())


def claims(table):
    """(line, page, words, [(rule, [(file, [pattern])])]) of each claim."""
    found, names = [], {}
    for number, line in enumerate(table.split("\n"), 1):
        if not line.strip() or line.startswith("#"):
            continue
        if line.startswith(" "):
            rule, rest = re.fullmatch(r" +(?:(mean|least|most|count) )?(.*)", line).groups()
            sources = re.findall(r"(\w[\w.-]*)((?: /.+?/(?= |$))+)", rest)
            found[-1][3].append((rule, [(names.get(file, file), re.findall(r"/(.+?)/(?= |$)", patterns)) for file, patterns in sources]))
        elif short := re.fullmatch(r"(\w+) = (\S+)", line):
            names[short[1]] = short[2]
        else:
            found.append((number, *line.split(": ", 1), []))
    return found


def measured(text, patterns):
    """The figures that the last pattern finds, in the part of a file that the others narrow down."""
    for pattern in patterns[:-1]:
        begin = re.search(pattern, text, re.M)
        text = text[begin.end():] if begin else ""
        end = begin and re.search("^[$#]" if begin[0][0] in "$#" else "^$", text, re.M)
        text = text[:end.start()] if end else text
    values = {}
    for match in re.finditer(patterns[-1].replace("RATIO", RATIO), text, re.M):
        named = match.groupdict().get("row")
        one = [float(group) for group in match.groups() if group != named]
        values[named or match.start()] = one[0] / one[1] if len(one) == 2 else one[0]  # of a row's two figures the later one counts
    return list(values.values())


def holds(figure, rule, values):
    value = RULES.get(rule, lambda all: all[0])(values)
    return abs(value - float(figure)) <= 0.5001 / 10 ** len(figure.partition(".")[2])


def rows(page, header, sources):
    """A claim for each row of a page's table: its words, and the sources with the row's name in place of ROW."""
    lines = page.replace("**", "").split("\n")
    if lines.count(header) != 1:
        return [(header, [])]
    found = []
    for line in lines[lines.index(header) + 2:]:
        if not line.startswith("|"):
            break
        name, *cells = [cell.strip() for cell in line.strip("|").split("|")]
        numbers = [re.sub(r"^([\d.]+)", r"{\1}", cell) for cell in cells]
        found.append((f"| {name} | " + " | ".join(numbers) + " |",
                      [(rule, [(file, [pattern.replace("ROW", re.escape(name).replace("\\ ", " +")) for pattern in patterns]) for file, patterns in files])
                       for (rule, files), number in zip(sources, numbers) if number.startswith("{")]))
    return found


def judge(table, pages, results):
    """A line per claim that does not hold, how many figures do, and the pages without the claims' words."""
    bad, held, rest = [], 0, {name: plain(text) for name, text in pages.items()}
    for number, page, words, sources in [
            (number, page, row, of_row) for number, page, words, sources in claims(table)
            for row, of_row in (rows(pages.get(page, ""), words[6:], sources) if words.startswith("table ") else [(words, sources)])]:
        here = f"tests/claims.txt:{number}: {page}"
        bare = plain(re.sub(r"[{}]", "", words))
        figures = re.findall(r"\{([\d.]+)\}", words)
        if plain(pages.get(page, "")).count(bare) != 1:
            bad.append(f"{here} does not say, once: {bare}")
        if len(figures) != len(sources):
            bad.append(f"{here}: {len(figures)} figures, but {len(sources)} lines that say where they are from")
        for figure, (rule, files) in zip(figures, sources):
            values = [value for file, patterns in files for value in measured(results.get(file, ""), patterns)]
            if values and holds(figure, rule, values):
                held += 1
            else:
                bad.append(f"{here} says {figure}; results/{' and '.join(file for file, _ in files)}: {rule or 'the first'} of {values[:9]}")
        rest[page] = rest.get(page, "").replace(bare, "(claimed)")
    return bad, held, rest


def unclaimed(text):
    """The figures of README's first screen that no claim has."""
    text = re.sub(r"`[^`]*`|\d+(\.\d+){2,}|Ubuntu [\d.]+ and [\d.]+", "name", text.partition("Limits.")[0])
    return [text[max(0, match.start() - 60):match.end()] for match in re.finditer(r"\d+\.\d+|\| \d+(?= \|)", text)]


def main(root):
    paths = [root / "README.md", *sorted((root / "docs").glob("*.md"))]
    pages = {str(path.relative_to(root)): path.read_text() for path in paths}
    results = {path.name: path.read_text() for path in (root / "results").glob("*.txt")}
    bad, held, rest = judge((root / "tests/claims.txt").read_text(), pages, results)
    bad += [f"README.md: tests/claims.txt has no claim of the figure at the end of: {text}" for text in unclaimed(rest["README.md"])]
    for name, text in pages.items():
        bad += [f"{name} names results/{file}, which is not there" for file in sorted(set(FILE.findall(text)) - set(results))]
    print(f"{held} figures of {len(pages)} pages are those of results/")
    if held < 50:
        bad.append(f"only {held} figures: is {root} the source?")

    # It must be able to fail.
    file = "$ one\nB  9.9 9.9  3.26  3.1-3.4\n$ two\nB  9.9 9.9  1.26  1.1-1.4\n| a | 2.0 [1 .. 3] |\n| a | 3.0 [1 .. 3] |\n"
    page = {"p": "a **1.3**\n**3.3** b, mean 3 of 2.6\n| x | y |\n|---|---|\n| a | **2.0** (1-3) |\n| b | - |\n"}
    right = ("f = x.txt\np: a {1.3} {3.3} b\n f /^. two/ /^B RATIO/\n most f /^B RATIO/\n"
             "p: mean {3} of {2.6}\n mean f /^. (?P<row>a) .RATIO/\n f /^B.*(3.26) .*\\n. two\\nB.*(1.26)/\n"
             "p: table | x | y |\n f /^. ROW .RATIO/\n")
    for old, new, complaints in (("", "", 0), ("{1.3}", "{1.4}", 2), ("f /^. two/ /^B", "f /^. none/ /^B", 1), ("most ", "least ", 1),
                                 ("{2.6}", "{7.9}", 2), (" most f /^B RATIO/\n", "", 1), ("x.txt", "y.txt", 5), ("| x |", "| z |", 1), ("ROW", "b", 1)):
        found = judge(right.replace(old, new), page, {"x.txt": file})[0]
        if len(found) != complaints:
            bad.append(f"control: {complaints} complaints of {new}, not {found}")
    if len(unclaimed("a 1.5 b `2.5` 4.1.4 | 14 | 15 c | (claimed) Limits. 9.9")) != 2:
        bad.append("control: two figures of a first screen are unclaimed")
    for line in bad:
        print("FAIL:", line)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main(pathlib.Path(sys.argv[1])))
