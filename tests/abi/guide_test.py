#!/usr/bin/env python3
"""The guide's programs are what a reader gets by typing them in: its commands are run as they stand, and print what
stands below them.

  guide_test.py GUIDE [PROGRAM...]

Each ```c or ```c++ block is written to the file that its first line names. Each ```sh block with a ```text block after
it is run in the same folder, with sh -eu; `...` in the text stands for anything on its line. With PROGRAMs only what
compiles these is run. The environment says where cc, pkg-config and smelt find the library; settings of Smelt's, and
the user's profiles, are left out.
"""
import os
import re
import subprocess
import sys
import tempfile


def blocks(page):
    """(language, text) of each fenced block, in order."""
    return re.findall(r'^```(\S+)\n(.*?)^```$', page, re.M | re.S)


def matches(expected, printed):
    return re.fullmatch('.*'.join(map(re.escape, expected.split('...'))), printed) is not None


def run_guide(page, only=()):
    """Complaints, and how many blocks of commands were run."""
    complaints, unbuilt, ran = [], set(), 0
    parts = blocks(page)
    with tempfile.TemporaryDirectory() as folder:
        environment = {name: value for name, value in os.environ.items() if not name.startswith('SMELT_')}
        environment['XDG_CACHE_HOME'] = folder
        for number, (language, text) in enumerate(parts):
            if language in ('c', 'c++'):
                name = re.match(r'/[/*] (\S+):', text)
                if not name:
                    complaints.append(f'a program whose first line does not name its file: {text.splitlines()[0]}')
                    continue
                with open(f'{folder}/{name[1]}', 'w') as file:
                    file.write(text)
                unbuilt.add(name[1])
                continue
            if language != 'sh' or parts[number + 1:][:1] == [] or parts[number + 1][0] != 'text':
                continue
            sources = {word for word in text.split() if word in unbuilt}
            unbuilt -= sources
            if only and not sources & set(only):
                continue
            ran += 1
            try:
                done = subprocess.run(['sh', '-euc', text], cwd=folder, env=environment, timeout=400, text=True,
                                      stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
                printed, status = done.stdout, done.returncode
            except subprocess.TimeoutExpired as late:
                printed, status = (late.stdout or b'').decode(), 'none after 400 s'
            if status != 0 or not matches(parts[number + 1][1], printed):
                complaints.append(f'{text}exit status {status}, printed:\n{printed}instead of:\n{parts[number + 1][1]}')
    complaints += [f'{name} is built by no command that is run' for name in sorted(unbuilt)]
    return complaints, ran


def control():
    """A guide with one of each fault, so that this test is known to be able to fail."""
    program = ('```c\n/* %s.c: x */\nint puts(const char *);\n'
               'int main(void) { return puts("one two three") < 0; }\n```\n')
    build = '```sh\ncc %s.c -o %s && ./%s\n```\n```text\n%s\n```\n'
    right = program % 'a' + build % ('a', 'a', 'a', 'one ... three')
    wrong = program % 'b' + build % ('b', 'b', 'b', 'one ... four') + program % 'c' + '```c\nint main(void) {}\n```\n'
    status = '```sh\nfalse\n```\n```text\n```\n'
    return run_guide(right) == ([], 1) and len(run_guide(right + wrong + status)[0]) == 4


if __name__ == '__main__':
    if not control():
        sys.exit('FAIL: control: faults of a guide are not found')
    with open(sys.argv[1]) as guide:
        found, count = run_guide(guide.read(), sys.argv[2:])
    for complaint in found:
        print('FAIL:', complaint)
    print(count, 'blocks of commands')
    sys.exit(1 if found or count == 0 else 0)
