#!/usr/bin/env python3
"""Do the planted faults still follow the source? Each says what it must and can be applied in one place only, and every
room of the layering table has one.

    apply_test.py SOURCE_ROOT
"""
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import patches

MOST_CONTEXT = 3


def flaws(mutant, root, rooms):
    for key in patches.KEYS:
        if not mutant.said.get(key):
            yield f'says nothing under "{key}:"'
    if mutant.room not in rooms:
        yield f'"{mutant.room}" is no room of docs/architecture.md'
    room = mutant.room.replace('/', '_')
    if not re.fullmatch(f'{room}(-[a-z0-9]+)+', mutant.name):
        yield 'its name is not ROOM-WORDS'
    for line in mutant.path.read_text(encoding='utf-8').splitlines():
        if len(line) > 121:  # 120, and the diff's own column
            yield f'a line of {len(line)} characters'
    hunks = list(mutant.hunks())
    if not hunks:
        yield 'changes nothing'
    for file, before, context in hunks:
        path = root / file
        times = path.read_text(encoding='utf-8').count(before) if path.is_file() else 0
        if times != 1:
            yield f'{file}: {times} places for it; see CONTRIBUTING.md, "Planted faults"'
        if context > MOST_CONTEXT:
            yield f'{file}: {context} lines of context, at most {MOST_CONTEXT}'


def refused(root, mutants):
    """What git says of those patches, one after the other; '' if it takes them, or where there is no git."""
    git = shutil.which('git')
    if not git:
        return ''
    # Git passes over files of a source that lies in a folder of another repository; nothing is above this one.
    environment = dict(os.environ, GIT_CEILING_DIRECTORIES=str(root.parent))
    answer = subprocess.run([git, 'apply', '--check', *(str(mutant.path) for mutant in mutants)], cwd=root,
                            env=environment, capture_output=True, text=True)
    return (answer.stderr.strip() or 'git apply refuses it') if answer.returncode else ''


def main(root):
    if os.environ.get('PLANTED_FAULT'):  # one is planted here, on purpose: the others need not fit beside it
        print(f'skipped: {os.environ["PLANTED_FAULT"]} is planted')
        sys.exit(77)
    root = Path(root).resolve()
    mutants, rooms = patches.mutants(), patches.rooms()
    wrong = [f'{mutant.name}: {flaw}' for mutant in mutants for flaw in flaws(mutant, root, rooms)]
    # All at once, which is quick; two may lie too close together for that.
    if not wrong and refused(root, mutants):
        said = [(mutant, refused(root, [mutant])) for mutant in mutants]
        wrong += [f'{mutant.name}: {why}' for mutant, why in said if why]
    for room in sorted(rooms - {mutant.room for mutant in mutants}):
        wrong.append(f'no planted fault is in the room {room}')
    for text in wrong:
        print(f'FAIL: {text}')
    print(f'{len(mutants)} planted faults in {len(rooms)} rooms, {len(wrong)} failed')
    sys.exit(bool(wrong) or not mutants)


if __name__ == '__main__':
    main(*sys.argv[1:])
