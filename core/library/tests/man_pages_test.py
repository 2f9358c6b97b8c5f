#!/usr/bin/env python3
"""Each public header has a man page, and each function that the library exports one that leads there, where its
prototype is. No page draws a warning.

  man_pages_test.py FOLDER_OF_PAGES LIBRARY FOLDER_OF_HEADERS...
"""
import glob
import os
import re
import shutil
import subprocess
import sys
import tempfile


def bare(text):
    return re.sub(r'\s', '', text)


def shown(folder, name):
    """What `man 3 name` shows and warns of, without its white space."""
    environment = dict(os.environ, LC_ALL='C.UTF-8', MANWIDTH='200')
    done = subprocess.run(['man', '-M', os.path.dirname(folder), '--warnings', '-P', 'cat', '3', name], env=environment,
                          capture_output=True, text=True)
    return bare(done.stdout), done.stderr if done.returncode == 0 else f'exit status {done.returncode} {done.stderr}'


def complaints(folder, pages, prototypes):
    texts, found = {}, []
    for page in pages:
        texts[page], warnings = shown(folder, page)
        if warnings:
            found.append(f'{page}: {warnings}')
    for function, prototype in prototypes.items():
        path = f'{folder}/{function}.3'
        leads = re.fullmatch(r'\.so man3/(\w+)\.3\n', open(path).read()) if os.path.exists(path) else None
        if not leads:
            found.append(f'{function} has no page, or one that leads nowhere')
        elif bare(prototype) not in texts.get(leads[1], ''):
            found.append(f'{function} is not in {leads[1]}(3) as {prototype}')
    return found


def main(folder, library, *headers):
    if not shutil.which('man'):
        print('skipped: no man here (Debian: man-db)')
        return 77
    symbols = subprocess.run(['nm', '-D', '--defined-only', library], check=True, capture_output=True, text=True)
    exported = re.findall(r' T (smelt_\w+)', symbols.stdout)
    files = sorted((file for place in headers for file in glob.glob(f'{place}/*.h')), key=os.path.basename)
    source = ''.join(open(file).read() for file in files)
    prototypes = {name: re.search(rf'^SMELT_API ([^;(]*\b{name}\([^;]*;)', source, re.M)[1] for name in exported}
    names = [os.path.basename(file)[:-2] for file in files]
    pages = ['smelt' if name == 'smelt' else 'smelt_' + name for name in names]
    found = complaints(folder, pages, prototypes)
    if shutil.which('mandoc'):
        for page in pages:
            lint = subprocess.run(['mandoc', '-T', 'lint', '-W', 'warning', f'{folder}/{page}.3'],
                                  capture_output=True, text=True)
            # In place of a date the pages have the version.
            found += [line for line in lint.stdout.splitlines() if 'missing date' not in line]

    # The test must be able to fail: a page that is gone, one that is wrong, and one with an unknown macro.
    with tempfile.TemporaryDirectory() as scratch:
        broken = shutil.copytree(folder, f'{scratch}/man3')
        os.remove(f'{broken}/smelt_tree_root.3')
        with open(f'{broken}/smelt_barrier.3') as page:
            text = page.read()
        with open(f'{broken}/smelt_barrier.3', 'w') as page:
            page.write(text.replace('unsigned participant', 'int participant') + '.NO_SUCH\n')
        control = complaints(broken, ['smelt_barrier', 'smelt_tree'],
                             {name: prototypes[name]
                              for name in ('smelt_tree_root', 'smelt_tree_size', 'smelt_barrier_wait')})
        if len(control) != 3:
            found.append(f'control: three pages are broken, found were {control}')

    for complaint in found:
        print('FAIL:', complaint)
    print(len(pages), 'pages,', len(prototypes), 'functions')
    return 1 if found or len(pages) < 10 or len(prototypes) < 50 else 0


sys.exit(main(*sys.argv[1:]))
