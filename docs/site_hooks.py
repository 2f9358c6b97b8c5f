"""What mkdocs does not do by itself for the site (mkdocs.yml): links that lead out of docs/ into the source take the
files along, and pages are made of what is written down elsewhere: the first page of README.md, the settings of
core/base/options.def."""
import os
import pathlib
import re

from mkdocs.structure.files import File

root = pathlib.Path(__file__).resolve().parent.parent
made = None  # a folder beside the site, for what is not in docs/
LINK = re.compile(r"(\]\()([^)#:\s]+)(#[^)\s]*)?(\))")
NO_PAGES = (".py", ".in", ".build")
WRITTEN_ELSEWHERE = {"sites.md"}  # in the navigation as soon as it is there


def settings():
    """The table of all settings, from the rows of options.def."""
    source = (root / "core/base/options.def").read_text()
    source = "\n".join(line for line in source.splitlines() if not line.startswith("//"))
    strings = lambda text: "".join(re.findall(r'"((?:[^"\\]|\\.)*)"', text)).replace('\\"', '"')
    rows = []
    for kind, body in re.findall(r'^(BOOL|INTEGER|CHOICE|TEXT|STEPS)\((.*?)\)$', source, re.S | re.M):
        parts = re.findall(r'(?:"(?:[^"\\]|\\.)*"\s*)+|[^,\s"]+', body)
        name, scope, rest, text = strings(parts[1]), parts[2], [one.strip() for one in parts[3:-1]], strings(parts[-1])
        words = [strings(one) if one.startswith('"') else one for one in rest]
        if kind == "BOOL":
            default, values = {"true": "1", "false": "0"}[words[0]], "0 or 1"
        elif kind == "INTEGER":
            default, values = words[0], f"{words[1]} to {words[2]} {words[3]}".strip()
        elif kind == "CHOICE":
            default, values = words[0], words[1].replace("|", ", ")
        elif kind == "STEPS":
            default, values = "-1", f"multiples of {words[0]} up to {words[1]} {words[2]}".strip()
        else:
            default, values = words[0] if words else "", "text"
        readers = {"THREADS": "threads", "PROCESSES": "ranks", "BOTH": "threads, ranks"}[scope]
        rows.append(f"| `{name}` | {default or '(none)'} | {values} | {readers} | {text.replace('|', '&#124;')} |")
    if len(rows) != len(re.findall(r"^(?:BOOL|INTEGER|CHOICE|TEXT|STEPS)\(", source, re.M)):
        raise ValueError("core/base/options.def has rows that docs/site_hooks.py does not understand")
    return ("# All settings, as the program has them\n\nMade from [core/base/options.def](../core/base/options.def), "
            "the table that the program itself is made of; `smelt config` shows the values in force, and "
            "[Settings](settings.md) says more of some.\n\n| setting | default | values | read by | what it does |\n"
            "|---|---|---|---|---|\n" + "\n".join(rows) + "\n")


def first_page():
    """README.md, seen from docs/."""
    text = (root / "README.md").read_text()
    return re.sub(r"(\]\()docs/", r"\1", text).replace("](CONTRIBUTING.md)", "](../CONTRIBUTING.md)").replace(
        "](CHANGELOG.md)", "](../CHANGELOG.md)")


def on_config(config):
    global made
    made = pathlib.Path(config["site_dir"]).parent / "site-pages"

    def there(item):
        pages = [value for value in item.values() if isinstance(value, str)] if isinstance(item, dict) else []
        return not any(page in WRITTEN_ELSEWHERE and not (root / "docs" / page).exists() for page in pages)

    def pruned(items):
        for item in items:
            if isinstance(item, dict):
                for key, value in item.items():
                    if isinstance(value, list):
                        item[key] = pruned(value)
        return [item for item in items if there(item)]

    config["nav"] = pruned(config["nav"])
    return config


def outward(path, text):
    """The files of the repository outside of docs/ that a page's links name, as paths from the root."""
    for _, link, _, _ in LINK.findall(text):
        target = (root / "docs" / path).parent.joinpath(link).resolve()
        if target.is_relative_to(root) and not target.is_relative_to(root / "docs") and target.exists():
            yield target.relative_to(root)


def on_files(files, config):
    made.mkdir(parents=True, exist_ok=True)
    for name, text in (("index.md", first_page()), ("all-settings.md", settings())):
        (made / name).write_text(text)
        files.append(File(name, str(made), config["site_dir"], config["use_directory_urls"]))
    taken = set()
    for file in list(files):
        if file.src_path.endswith(NO_PAGES):
            files.remove(file)
        elif file.src_path.endswith(".md"):
            taken.update(outward(file.src_path, pathlib.Path(file.abs_src_path).read_text()))
    for path in sorted(taken):
        if (root / path).is_dir():  # as a list of what is in it
            inside = sorted(one for one in (root / path).iterdir() if one.is_file())
            taken_name = str(path) + "/index.txt"
            (made / taken_name).parent.mkdir(parents=True, exist_ok=True)
            (made / taken_name).write_text("\n".join(str(one.relative_to(root)) for one in inside) + "\n")
            files.append(File(taken_name, str(made), config["site_dir"], False))
        elif path.suffix == ".md":  # to be read as text: its own links are of the source
            (made / path).parent.mkdir(parents=True, exist_ok=True)
            text = (made / path).with_suffix(".md.txt")
            text.write_text((root / path).read_text())
            files.append(File(str(path) + ".txt", str(made), config["site_dir"], False))
        else:
            files.append(File(str(path), str(root), config["site_dir"], False))
    return files


def on_page_markdown(markdown, page, config, files):
    def rewritten(match):
        before, link, place, after = match.groups()
        target = (root / "docs" / page.file.src_path).parent.joinpath(link).resolve()
        if not target.is_relative_to(root) or target.is_relative_to(root / "docs") or not target.exists():
            return match.group(0)
        name = str(target.relative_to(root))
        if target.is_dir():
            name += "/index.txt"
        elif target.suffix == ".md":
            name += ".txt"
        return f"{before}{os.path.relpath(name, os.path.dirname(page.file.src_path) or '.')}{after}"

    return LINK.sub(rewritten, markdown)
