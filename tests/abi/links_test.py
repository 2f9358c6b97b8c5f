#!/usr/bin/env python3
"""Every relative link of the Markdown files, and every picture, leads to something; docs/settings.md has the table that options.def makes; the
files that docs/papers.md names are there.
    links_test.py SOURCE_ROOT"""
import pathlib
import re
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
import expectations  # noqa: E402
from expectations import expect  # noqa: E402

root = pathlib.Path(sys.argv[1])


def links(top):
    """(page, link, does it lead to something?)"""
    for page in (page for pages in ('*.md', 'docs/*.md', 'pictures/*.md', 'rails/*.md', 'core/*/*.md', 'core/*/*/*.md') for page in top.glob(pages)):
        for link in sorted({link.split('#')[0] for link in re.findall(r'\]\(([^)]*)\)', page.read_text())}):
            if link and not re.match('[a-z]*:', link):
                yield page, link, (page.parent / link).exists()


def missing(page):
    """The files of the source that tables name in their second column and that are not there. A name alone lies where the one before it does."""
    folder = ''
    for cell in re.findall(r'^\|[^|\n]*\|([^|\n]*)\|', page.read_text(), re.M):
        for file in re.findall('`([a-z0-9_./]*)`', cell):
            if '/' in file:
                folder = file.rpartition('/')[0]
            elif not (root / file).exists():
                file = f'{folder}/{file}'
            if not (root / file).exists():
                yield file


found = list(links(root))
for page, link, leads in found:
    expect(leads, f'{page}: {link} leads nowhere')
expect(len(found) >= 20, f'only {len(found)} links: is {root} the source?')
expect(subprocess.run([root / 'docs/settings.py']).returncode == 0, 'docs/settings.py')
expect(not list(missing(root / 'docs/papers.md')), f'docs/papers.md names what is not there: {list(missing(root / "docs/papers.md"))}')
with tempfile.TemporaryDirectory() as folder:  # The test must be able to fail.
    scratch = pathlib.Path(folder)
    (scratch / 'docs').mkdir()
    (scratch / 'docs/two.md').write_text('[here](two.md) [there](../one.md) [away](https://example.org/x) ![](none.svg)')
    (scratch / 'one.md').touch()
    expect([link for _, link, leads in links(scratch) if not leads] == ['none.svg'], 'control: one link of four leads nowhere')
    (scratch / 'three.md').write_text('| a | `core/base/log.h`, `arena.h`, `nothing.h` | b |')
    expect(list(missing(scratch / 'three.md')) == ['core/base/nothing.h'], 'control: one file of three is not there')
print(f'{len(found)} links, {expectations.failed} failed')
sys.exit(expectations.failed != 0)
