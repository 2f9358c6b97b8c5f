#!/usr/bin/env python3
"""The words of documents and comments, as far as a program can judge them (CONTRIBUTING.md, "Words").

  words_test.py SOURCE_ROOT         the rules below; exit status 1 where one is broken
  words_test.py SOURCE_ROOT SEED    200 comment lines drawn by chance, for a reader: "?" before those that lack a verb

Documents: no sentence has more than 40 words, no paragraph more than 120. A list's item and a table's cell are
paragraphs, code is none, and a code span is one word. README has at most 8 links.

Comments: no sentence begins as one without a subject does ("Of", "Not", "Likewise", "Whoever", ...), and of 200 comment
lines, drawn by the same seed each time, at most 20 begin a sentence without a verb. A sentence begins with a capital
and ends with a stop. It lacks a verb if it has none of the closed list below, no pronoun that a verb follows, and no
word in -s or -ed that might be one.

How well that judges, a reader found on 240 sentences: of 120 that were said to lack a verb 116 did; of 120 others 38 did,
29 of them titles of what is declared below, which may be noun phrases. So the count is a lower bound, and the lines are
there to be read.
"""
import pathlib, random, re, sys

MOST_WORDS, MOST_IN_PARAGRAPH, MOST_LINKS, MOST_LINES, LINES, SEED = 40, 120, 8, 20, 200, 60
ROOMS = ("core", "gomp_shim", "kmp_shim", "ompi_coll_smelt", "ompi_pml_smelt")
VERBS = set("""is are was were be been has have had does do did can may must will would should could might shall cannot let lets make
take see call use""".split())
PRONOUNS = set("they we you it he she who which that there nobody everybody".split())
NO_VERBS = set("""this its ours us as always less unless perhaps besides towards afterwards backwards plus minus yes thus cross across process
address access class bias basis status bus previous various""".split())
HEADLESS = re.compile(r"(Of|Not(?!-a-| (all|every|only|each))|Nor|Likewise|Alike|Else|Whoever|Whatever|Who)\b(?!.*\?$)|Then[.:]")


def paragraphs(page):
    """(line, text) of each paragraph of a page."""
    found, lines, first = [], [], 0

    def end():
        if lines:
            found.append((first, " ".join(lines)))
        lines.clear()

    page = re.sub(r"^\s*```.*?^\s*```\s*$", lambda code: "\n" * code[0].count("\n"), page, flags=re.M | re.S)
    for number, line in enumerate(page.split("\n"), 1):
        line = line.strip()
        if line.startswith("|"):
            end()
            found += [(number, cell.strip()) for cell in re.split(r"(?<!\\)\|", line) if re.search(r"\w", cell)]
            continue
        item = re.match(r"([-*+]|\d+\.) ", line)
        if item or not line or line.startswith("#"):
            end()
        if line and not line.startswith("#"):
            first = first if lines else number
            lines.append(line[item.end():] if item else line)
    end()
    return found


def sentences_of(text):
    """The sentences of a paragraph of a page, links and code spans as the words that they are."""
    text = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", re.sub(r"`[^`]*`", "Code", text)).replace("*", "")
    return re.split(r"(?<=[.!?])(?<!\bal\.)(?<!e\.g\.)(?<!i\.e\.)(?<!\.\.\.)[)\"]?\s+", text)


def words(text):
    return sum(1 for word in text.split() if re.search(r"\w", word))


def judge_page(name, page):
    wrong = []
    for line, text in paragraphs(page):
        sentences = sentences_of(text)
        wrong += [f"{name}:{line}: a sentence of {words(one)} words: {one}" for one in sentences if words(one) > MOST_WORDS]
        count = sum(map(words, sentences))
        if count > MOST_IN_PARAGRAPH:
            wrong.append(f"{name}:{line}: a paragraph of {count} words")
    return wrong


def comment_lines(source):
    """Per run of comment lines: [(line, text)]."""
    runs, run, inside = [], [], False
    for number, line in enumerate(source.split("\n"), 1):
        line = line.strip()
        text = None
        if inside or line.startswith("/*"):
            text, inside = line.strip("/* "), "*/" not in line
        elif line.startswith("//"):
            text = line.lstrip("/ ")
        elif '"' not in line and (found := re.search(r"//\s*(.*)$|/\*\s*(.*?)\s*\*/", line)):
            text = found[1] or found[2]
            run = run and runs.append(run) or []
        if text is None:
            run = run and runs.append(run) or []
        else:
            run.append((number, text))
    return runs + ([run] if run else [])


def comment_sentences(run):
    """(line on which it begins, sentence) of each whole sentence; tables and pictures have none."""
    found, text, lines = [], "", []
    for number, line in run + [(0, "")]:
        if line and not re.search(r"\S {2,}\S|^[-*|@\\]|^\d+\. ", line):
            lines += [number] * (len(line) + 1)
            text += line + " "
            continue
        begin = 0
        for stop in re.finditer(r"(?<!\bal)(?<!e\.g)(?<!i\.e)[.!?][)\"]?\s+(?=[A-Z`\"(]|$)", text):
            one = text[begin:stop.end()]
            if one.strip()[0].isupper():
                found.append((lines[begin + len(one) - len(one.lstrip())], one.strip()))
            begin = stop.end()
        text, lines = "", []
    return found


def lacks_verb(sentence):
    bare = re.sub(r"\([^()]*\)", "", re.sub(r"`[^`]*`", "X", sentence))
    each = [word.strip(".,;:!?\"'()").lower() for word in bare.split()]
    return not any(
        word in VERBS or word in PRONOUNS or word.endswith(("n't", "'re", "ed")) or
        word.endswith("s") and word not in NO_VERBS and not word.endswith(("'s", "ss", "ous")) for word in each)


def comments(root):
    """(name of the file, run of comment lines) of all rooms."""
    for room in ROOMS:
        for path in sorted((root / room).rglob("*")):
            if path.suffix in (".cc", ".c", ".h", ".hpp", ".def"):
                for run in comment_lines(path.read_text()):
                    yield str(path.relative_to(root)), run


def draw(runs, seed):
    """(place, line, its sentences) of lines drawn by chance."""
    lines = []
    for name, run in runs:
        begun = {}
        for number, one in comment_sentences(run):
            begun.setdefault(number, []).append(one)
        lines += [(f"{name}:{number}", text, begun.get(number, [])) for number, text in run
                  if len(text.split()) > 1 and not text.startswith(("namespace", "NOLINT"))]
    return random.Random(seed).sample(lines, LINES)


def is_bad(line):
    return any(lacks_verb(one) or HEADLESS.match(one) for one in line[2])


def main():
    root = pathlib.Path(sys.argv[1])
    runs = list(comments(root))
    if len(sys.argv) > 2:
        for line in draw(runs, int(sys.argv[2])):
            print("?" if is_bad(line) else " ", line[0], line[1])
        return 0
    wrong = []
    pages = [root / "README.md", root / "CONTRIBUTING.md", *sorted((root / "docs").glob("*.md")), *sorted((root / "core").rglob("*.md"))]
    for page in pages:
        wrong += judge_page(page.relative_to(root), page.read_text())
    links = re.findall(r"(?<!!)\[[^\]]*\]\(", (root / "README.md").read_text())
    if len(links) > MOST_LINKS:
        wrong.append(f"README.md has {len(links)} links, not {MOST_LINKS} at most")
    sentences = [(name, number, one) for name, run in runs for number, one in comment_sentences(run)]
    for name, number, one in sentences:
        if HEADLESS.match(one):
            wrong.append(f"{name}:{number}: no subject: {one}")
    bad = [line for line in draw(runs, SEED) if is_bad(line)]
    if len(bad) > MOST_LINES:
        wrong += [f"{place}: no verb: {text}" for place, text, _ in bad]
    print(f"{len(pages)} pages, {len(sentences)} sentences in comments; {len(bad)} of {LINES} lines without a verb")
    if len(pages) < 10 or len(sentences) < 3000:
        wrong.append(f"only {len(pages)} pages and {len(sentences)} sentences: is {root} the source?")

    # It must be able to fail.
    long = "One " + "word " * 40
    page = f"# T\n\n{long}end. Short.\n\n- {'one two three. ' * 41}\n\n| {'a cell ' * 21}|\n\n```\n{long * 9}\n```\n`{long}` is short.\n"
    if [re.sub(r": .*", "", one) for one in judge_page("x", page)] != ["x:3", "x:5", "x:7"]:
        wrong.append(f"control: two sentences and a paragraph are too long: {judge_page('x', page)}")
    source = "// Of two. The reader\n// waits. Under the lock.\nint a;  // Not ours.\n/* Which of them polls? */\n"
    found = [(number, one) for run in comment_lines(source) for number, one in comment_sentences(run)]
    if [number for number, one in found if HEADLESS.match(one) or lacks_verb(one)] != [1, 2, 3]:
        wrong.append(f"control: three sentences lack something: {found}")
    for line in wrong:
        print("FAIL:", line)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
