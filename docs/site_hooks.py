"""What mkdocs does not do by itself for the site (mkdocs.yml). Pages of docs/ link to what lies elsewhere in the
repository, which a site of docs/ alone would not have: other pages come along as pages, README.md as the first one, other
files as they are, and folders as a list of their files."""
import html as html_text
import os
import pathlib
import re

from mkdocs.structure.files import File

root = pathlib.Path(__file__).resolve().parent.parent
LINK = re.compile(r"(\]\()([^)#:\s]+)(#[^)\s]*)?(\))")
NO_PAGES = (".py", ".in", ".build")
home = {}  # of a page of the site, its file in the repository


def place(path):
    """Where in the site a file of the repository is, given from the root."""
    if path.is_relative_to("docs"):
        return str(path.relative_to("docs"))
    if str(path) == "README.md":
        return "index.md"
    return str(path / "index.txt") if (root / path).is_dir() else str(path)


def target(page, link):
    """The path from the root of what a link in a page leads to, or None where that is not of the repository."""
    path = page.parent.joinpath(link).resolve()
    return path.relative_to(root) if path.is_relative_to(root) and path.exists() else None


def on_files(files, config):
    made = pathlib.Path(config["site_dir"]).parent / "site-pages"  # what is in the site under another name
    home.clear()
    for file in list(files):
        if file.src_path.endswith(NO_PAGES):
            files.remove(file)
        elif file.src_path.endswith(".md"):
            home[file.src_path] = root / "docs" / file.src_path
    taken = {file.src_path for file in files}
    waiting = [root / "README.md", *home.values()]
    for page in waiting:
        links = [link for _, link, _, _ in LINK.findall(page.read_text())]
        for path in [page.relative_to(root)] + [path for link in links if (path := target(page, link))]:
            name, source = place(path), root / path
            if name in taken:
                continue
            taken.add(name)
            if source.suffix == ".md":
                home[name] = source
                waiting.append(source)
            (made / name).parent.mkdir(parents=True, exist_ok=True)
            if source.is_dir():
                inside = sorted(str(one.relative_to(root)) for one in source.iterdir() if one.is_file())
                (made / name).write_text("\n".join(inside) + "\n")
            else:
                (made / name).write_bytes(source.read_bytes())
            files.append(File(name, str(made), config["site_dir"], config["use_directory_urls"]))
    return files


def on_page_markdown(markdown, page, config, files):
    def rewritten(match):
        before, link, fragment, after = match.groups()
        path = target(home[page.file.src_path], link)
        if not path:
            return match.group(0)
        there = os.path.relpath(place(path), os.path.dirname(page.file.src_path) or ".")
        return f"{before}{there}{fragment or ''}{after}"

    return LINK.sub(rewritten, markdown)


OPTION = re.compile(r"(?<!\S)-\S{1,27}(?!\S)")
COMMENT = re.compile(r"^([^#\n].*?)( +)(# .*)$|^(#.*)$", re.M)
MOST_IN_A_FIGURE, MOST_BESIDE_CONTENTS = 14, 112  # characters


def on_page_content(html, page, config, files):
    """Every cell knows its column's name: a telephone shows the cells of a row under each other, unless all are short
    figures (site.css). The comments of commands are marked, and the blanks before them, and
    blocks of long lines (narrow windows have smaller letters for these). Options are, so that no line ends at their
    hyphens."""
    def table(match):
        text = match.group(0)
        names = [re.sub(r"<[^>]*>", "", name).strip() for name in re.findall(r"<th[^>]*>(.*?)</th>", text, re.S)]
        rows = [re.findall(r"<td[^>]*>(.*?)</td>", row, re.S) for row in re.findall(r"<tr>.*?</tr>", text, re.S)]
        short = len(names) > 2 and all(len(re.sub(r"<[^>]*>", "", cell)) <= MOST_IN_A_FIGURE for row in rows for cell in row[1:])

        def row(cells):
            number = iter(range(len(names)))
            return re.sub(r"<td", lambda cell: named(cell.group(0), next(number, None)), cells.group(0))

        def named(cell, number):
            name = names[number] if number is not None else ""
            return f'{cell} data-column="{name}"' if name else cell

        text = re.sub(r"<tr>.*?</tr>", row, text, flags=re.S)
        return text.replace("<table>", '<table class="figures">', 1) if short else text

    def comment(match):
        command, gap, beside, alone = match.groups()
        return (f'<span class="comment">{alone}</span>' if alone else
                f'{command}<span class="gap">{gap}</span><span class="comment beside">{beside}</span>')

    def wide(match):
        longest = max(map(len, html_text.unescape(match[2]).split("\n")))
        return f'<pre class="wide">{match[1]}{match[2]}' if longest > MOST_BESIDE_CONTENTS else match[0]

    def options(code):
        return "<code>" + OPTION.sub(r'<span class="option">\g<0></span>', code[1])

    html = re.sub(r"<table>.*?</table>", table, html, flags=re.S)
    html = re.sub(r"(?<!<pre>)<code>(.*?)(?=</code>)", options, html)
    html = re.sub(r"<pre>(<code[^>]*>)(.*?)(?=</code>)", wide, html, flags=re.S)
    return re.sub(r'(<code class="language-(?:sh|console)">)(.*?)(?=</code>)', lambda code: code[1] + COMMENT.sub(comment, code[2]),
                  html, flags=re.S)


def on_post_page(output, page, config):
    """Our picture in place of MkDocs' own, and no list of contents where a page has one heading."""
    logo = os.path.relpath("logo.svg", os.path.dirname(page.file.dest_path) or ".")
    output = re.sub(r'<link rel="shortcut icon" href="[^"]*">', f'<link rel="icon" type="image/svg+xml" href="{logo}">', output)
    output = re.sub(r'(<a class="navbar-brand"[^>]*>)', rf'\1<img src="{logo}" alt="">', output)
    if not any(heading.children for heading in page.toc):
        output = re.sub(r"<body( class=\"([^\"]*)\")?", r'<body class="\2 no-toc"', output, count=1)
    return output
