#!/usr/bin/env python3
"""tests/breaks.txt and tests/parts.txt hold what ./check --for and --full need: every folder of tests has a line, every path in a line is there,
every part has its packages; and for some changes, which suites they reach and which not.
    reach_test.py SOURCE_ROOT"""
import pathlib
import re
import sys

root = pathlib.Path(sys.argv[1])
sys.path.insert(0, str(root / 'tests'))
sys.dont_write_bytecode = True
import check  # noqa: E402
import expectations  # noqa: E402
from expectations import expect  # noqa: E402

rooms, breaks, parts = (check.table_of(name) for name in ('layering', 'breaks', 'parts'))
told = {path.parent: path.read_text() for path in (root / 'tests').rglob('meson.build')}
suites = {suite for text in told.values() for suite in re.findall(r"suite'?: \[?'(\w+)'", text)} - set(rooms)
for house, folder in check.HOUSES.items():
    told[folder] = (root / folder / 'tests/meson.build').read_text()
    suites |= {suite for suite in re.findall(rf"suite: \['(\w+)', '{house}'", told[folder]) if f'{house}/{suite}' not in rooms}
expect(len(suites) > 20, f'only {len(suites)} folders with tests: is {root} the source?')
for suite in sorted(suites):
    expect(suite in breaks, f'tests/breaks.txt has no line for tests/{suite}')
for suite, words in breaks.items():
    for word in words:
        name = word.rstrip('+')
        expect(word == '*' or name in rooms or (root / name).exists(), f'tests/breaks.txt, {suite}: there is no {word}')
wanted = {part for text in told.values() for part in re.findall(r"'full-([a-z0-9-]+)'", text)} | {'models', 'models-full', 'core', 'address', 'thread'}
for part in sorted(wanted):
    expect(part in parts, f'tests/parts.txt has no line for {part}')
for part in parts:
    expect(part in wanted or part == 'first', f'tests/parts.txt: no test is of the part {part}')

# The rule itself: file, a suite that it breaks, one that it does not.
for file, broken, whole in [
        ('core/library/queue/create.cc', 'context', 'gomp_shim'), ('core/library/queue/create.cc', 'queue', 'group'),
        ('core/library/tests/queue/queue_test.cc', 'queue', 'agree'), ('core/library/models/log.pml', 'library_models', 'model_check'), ('core/library/include/smelt/queue.h', 'context', 'team'),
        ('core/base/os/os.h', 'gomp_shim', 'mutants_of_nothing'), ('gomp_shim/tasks.cc', 'conformance', 'ompi_coll_smelt'),
        ('core/group/bcast.cc', 'ompi_coll_smelt', 'conformance'), ('core/include/smelt/group.h', 'group', 'model_check'),
        ('tests/model_check/bell.pml', 'model_check', 'queue'), ('docs/mpi.md', 'abi', 'queue'), ('meson.build', 'queue', 'none'),
        ('rails/ofi/send.cc', 'rail_ofi', 'team'), ('rails/nodes/nodes.c', 'ompi_coll_smelt', 'team'), ('rails/rail/split.cc', 'network', 'team'), ('rails/tests/rail/rail_test.cc', 'rail', 'team'), ('tests/core/team/barrier_test.cc', 'team', 'queue'), ('debian/rules', 'packages', 'cli')]:
    tests = {suite: check.Test('none', suite, [suite], None, 1, []) for suite in (broken, whole)}
    expect(check.why(tests[broken], [file], rooms, breaks) == [file], f'{file} does not reach {broken}')
    if whole in breaks or whole in rooms:
        expect(not check.why(tests[whole], [file], rooms, breaks), f'{file} reaches {whole}')
listed, flagged = [check.without_sources((root / 'core/meson.build').read_text().replace("'log.cc'", word)) for word in ("'log.cc', 'more.cc'", "'-O1'")]
expect(listed == check.without_sources((root / 'core/meson.build').read_text()) != flagged, 'a file more in a list is not told from another option')
print(f'{len(suites)} folders, {len(parts)} parts, {expectations.failed} failed')
sys.exit(expectations.failed != 0)
