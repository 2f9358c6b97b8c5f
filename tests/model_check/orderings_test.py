#!/usr/bin/env python3
"""Do the models describe the orderings that are written in the code? Holds a list such as orderings.txt against the source.
    orderings_test.py SOURCE_ROOT LIST
The models are of this folder and of the list's, which have a cases.txt each."""
import collections
import pathlib
import re
import sys

root, here, listing = pathlib.Path(sys.argv[1]), pathlib.Path(__file__).parent, pathlib.Path(sys.argv[2])
ORDERING = re.compile(r'memory_order_|full_fence\(\)|fence_after_update\(\)|fence_between_loads\(\)')
failed = lines = 0
listed, named = {}, set()  # file: [(model, text)]
for line in listing.read_text().splitlines():
    word, _, rest = line.partition(' ')
    if word == 'file':
        file = listed.setdefault(rest, [])
    elif not line.startswith('#'):
        file.append((word, rest))
        named |= set(word.split(',')) - {'-'}
for file, rows in listed.items():
    text = (root / file).read_text().splitlines()
    found = collections.Counter(re.sub(' *// .*', '', line.lstrip(' ')) for line in text if ORDERING.search(line) and not re.match(' *//', line))
    expected = collections.Counter(text for _, text in rows)
    lines += found.total()
    failed += found != expected
    for text in (expected - found).elements():
        print(f'FAIL: {file}: the model {dict(map(reversed, rows))[text]} describes another ordering: {text}')
    for text in (found - expected).elements():
        print(f'FAIL: {file}: no model describes: {text}')
# Every model that is named exists, and has a case that holds and one that does not.
cases = '\n'.join(path.read_text() for path in (here / 'cases.txt', listing.parent / 'cases.txt') if path.exists())
for model in sorted(named):
    for verdict in 'holds', '(races|hangs|breaks)':
        if not re.search(rf'^(quick|full) {model} {verdict}( |$)', cases, re.M):
            print(f'FAIL: cases.txt has no case of {model} that {verdict}')
            failed += 1
print(f'{lines} lines, {failed} failed')
sys.exit(failed != 0 or lines == 0)
