"""The planted faults: patches beside this file, each opened by what is said of it.

    mistake: what is wrong, in one sentence
    seen as: what a user would see
    room: a room of docs/architecture.md's table
    found by: test, test ...; or "none known", with the reason in parentheses

    diff --git ...

git apply passes over everything before the first `diff --git`.
"""
import re
from pathlib import Path

FOLDER = Path(__file__).resolve().parent
ROOT = FOLDER.parent.parent
KEYS = ('mistake', 'seen as', 'room', 'found by')


class Mutant:
    def __init__(self, path):
        self.path = path
        self.name = path.stem
        text = path.read_text(encoding='utf-8')
        head, separator, diff = text.partition('diff --git ')
        self.diff = separator + diff
        self.said = dict(re.findall(r'^([a-z ]+): (.+)$', head, re.MULTILINE))

    @property
    def room(self):
        return self.said.get('room', '')

    @property
    def expected(self):
        """The tests that should find it; empty where none is known to."""
        said = re.sub(r'\(.*?\)', '', self.said.get('found by', ''))
        return [] if said.startswith('none known') else [test.strip() for test in said.split(',') if test.strip()]

    def hunks(self):
        """(file, what a hunk takes away and its context, how many lines of context it has at most on one side)."""
        file, before, run, most = None, [], 0, 0
        for line in self.diff.splitlines(keepends=True) + ['@@']:
            if line.startswith(('diff --git ', '@@')):
                if before:
                    yield file, ''.join(before), most
                before, run, most = [], 0, 0
            if line.startswith('+++ b/'):
                file = line[len('+++ b/'):].rstrip()
            elif line[:1] in ' -' and not line.startswith('--- '):
                before.append(line[1:])
            run = run + 1 if line.startswith(' ') else 0
            most = max(most, run)


def mutants():
    return [Mutant(path) for path in sorted(FOLDER.glob('*.patch'))]


def rooms():
    """The rooms of the layering table."""
    text = (ROOT / 'docs/architecture.md').read_text(encoding='utf-8')
    table = text[text.index('| room | may use'):].split('\n\n')[0]
    return {room for line in table.splitlines()[2:] for room in re.findall(r'`([a-z_/]+)`', line.split('|')[1])}
