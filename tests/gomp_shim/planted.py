#!/usr/bin/env python3
"""Writes the tasks' sources as one, with one mistake planted: a negative control that a stress must notice.

    planted.py FAULT OUTPUT SOURCE...

Where the lines to be changed are not there, or more than once, it fails: the mistake must follow the source.
"""
import pathlib
import re
import sys

# own_tasks.h says what each of these is for. FAULT: [(pattern, replacement), ...]
FAULTS = {
    # A task is made and the maker's next barrier is not marked.
    'unmarked': [(r'if \(!mark_next\(position, guess\)\) return;', 'return;')],
    # Who waits inside a task runs any task, not only descendants.
    'strangers': [(r'return is_below\(candidate, waiting\);', 'return is_below(candidate, waiting) || true;')],
    # What an undeferred task makes is counted as its parent's.
    'unadopted': [(r'if \(settle\(position\)\) return position\.task;', 'settle(position); return position.task;')],
    # An undeferred task that has made others is over, and it is not seen.
    'unsettled': [(r'(  TaskTeam& team = \*team_of\(position\);\n  const Shell now)', r'  if (position.level) return false;\n\1')],
    # A task can be stolen before it is counted, and the maker takes its time in between.
    'counted_late': [
        (r'\n  count_task\(parent, me\);\n', '\n'),
        (r'(\n    if \(add_dependences\(.*\)\)) return true;', r'\1 return count_task(parent, me), true;'),
        (r'(\n  else\n    run_task\(\*team, position, task\);)(\n  return true;\n\})',
         r'\1\n  for (int i = 0; i < 3000; ++i) cpu_pause();\n  count_task(parent, me);\2'),
    ],
    # Who comes to a barrier asks whether it is time to enter libgomp's before it looks at its own deque.
    'looked_first': [(r'(for \(uint32_t turns = 0;;\) \{\n)', r'\1    if ((libgomps = is_libgomps())) break;\n')],
    # A barrier is released by sums that are read in the wrong order, with time in between. So that it shows more often,
    # threads say that they have arrived before they have run what there is, which alone does no harm.
    'sums_swapped': [
        (r'(\n  uint32_t come = 0;)', r'\n  worker.arrived.store(episode, std::memory_order_release);\1'),
        (r'(\n  for [^\n]*\n[^\n]*finished \+= [^\n]*)(\n[^\n]*)(\n  for [^\n]*\n[^\n]*created \+= [^\n]*)',
         r'\3\n  for (int i = 0; i < 3000; ++i) cpu_pause();\2\1'),
    ],
}


def whole(sources):
    """The sources one after the other, each of their own headers where it is first included."""
    included = set()

    def text_of(path):
        def include(match):
            header = path.parent / match[1]
            if not header.name.startswith('task_') or not header.exists():
                return match[0]
            if header in included:
                return ''
            included.add(header)
            return text_of(header)
        text = path.read_text(encoding='utf-8').replace('#pragma once\n', '')
        return re.sub(r'#include "([a-z_.]+)"\n', include, text)
    return ''.join(text_of(pathlib.Path(source)) for source in sources)


def main(fault, output, *sources):
    text = whole(sources)
    for pattern, replacement in FAULTS[fault]:
        text, times = re.subn(pattern, replacement, text)
        if times != 1:
            sys.exit(f'{times} places for the mistake "{fault}" ({pattern}): see tests/gomp_shim/planted.py')
    pathlib.Path(output).write_text(text, encoding='utf-8')


if __name__ == '__main__':
    main(*sys.argv[1:])
