#!/usr/bin/env python3
"""Who may include whom (tests/layering.txt), read off the #include lines; getenv, abort, exit, printf only where they
may be; one type, one meaning; and each room's budget of lines.
    layering_test.py SOURCE_ROOT"""
import functools
import graphlib
import os
import pathlib
import re
import sys

os.chdir(sys.argv[1])
failed, checked = 0, set()
INCLUDE = re.compile(r'^#include "(profile/text|library/[a-z_]*|rails/[a-z_]*|pictures/machines|[a-z_]*)/', re.M)
SHIMS, COMPONENTS = ('gomp_shim', 'kmp_shim'), ('ompi_coll_smelt', 'ompi_pml_smelt')
COUNTED = ('.cc', '.h', '.hpp', '.c', '.def', '.S', '.map', '.py', '.html', '.css', '.js', '.sh', '.in', 'meson.build')


def fail(text):
    global failed
    failed += 1
    print(f'FAIL: {text}')


@functools.cache
def text_of(path):
    return pathlib.Path(path).read_text(encoding='utf-8')


def files(folder, suffixes, depth=99):  # 1: those in the folder alone
    for place, below, names in os.walk(folder):
        del below[0 if place.count('/') - folder.count('/') >= depth - 1 else len(below):]
        yield from (f'{place}/{name}' for name in names if name.endswith(suffixes))


rules = text_of('tests/layering.txt')
rooms = {room: [room, *rest.split()] for room, rest in re.findall(r'^([a-z/]*):(.*)', rules, re.M)}
budgets = {room: int(lines) for room, lines in re.findall(r'^budget (\S+) ([0-9]+)$', rules, re.M)}
named = set(re.findall(r'^name ([A-Za-z]*) ', rules, re.M))

# What is a house's, main may not have: neither may its row name such a room, nor a file include one or a header that only programmers use.
for row in rules.splitlines():
    if re.match(r'[a-z_/]+:.* ((library|rails)/|pictures)', row) and not re.match('(library|rails|bench)/|pictures:', row):
        fail(f"main may not use a house's room: {row}")
mains = [path for folder in ('core', *SHIMS, *COMPONENTS) for path in files(folder, ('.c', '.h', '.cc')) if not path.startswith('core/library/')]
for header in sorted({header for path in mains for header in re.findall(r'^# *include <(smelt/[^>]*)>', text_of(path), re.M)}):
    if not os.path.exists(f'core/include/{header}'):
        fail(f"main includes <{header}>, which is a house's")
for room, allowed in rooms.items():
    folder = room if re.match('bench/|rails/|pictures', room) else f'core/{room}'
    own = [path for path in files(folder, ('.cc', '.c', '.h', '.def'), depth=2) if room != 'profile' or '/text/' not in path]
    checked |= set(own)
    for path in own:
        for included in sorted(set(INCLUDE.findall(text_of(path)))):
            if ('base' if included in ('arch', 'os') else included) not in allowed:
                fail(f'{path} includes {included}/, which {room} may not')
        # What a shim gives to this room is found by the linker; its folder is on the compiler's way all the same.
        for included in re.findall(r'^#include "([^/"]*)"', text_of(path), re.M) if room == 'openmp' else ():
            if included != 'smelt_config.h':
                fail(f"{path} includes {included}, which is a shim's")

# The components see Smelt through its installed headers and nothing else.
beside = [(shim, rooms['openmp'], 'openmp and what it may use') for shim in SHIMS]
for folder, allowed, who in beside + [(component, ('ompi', 'opal'), "Open MPI's headers and <smelt/...>") for component in COMPONENTS]:
    paths = files(folder, ('.cc', '.c', '.h'), depth=1)
    for room in sorted({room for path in paths for room in re.findall(r'^#include "([a-z_]*)/', text_of(path), re.M)} - set(allowed)):
        fail(f'{folder} includes {room}/: only {who} may be')
# Nor is there a circle among their files, where a file and its header are one. That a circle is seen is tried, too.
for folder in (*COMPONENTS, 'rails/nodes', ''):
    graph = {} if folder else {'a': {'b'}, 'b': {'c'}, 'c': {'a'}}
    for path in files(folder, ('.c', '.h'), depth=1):
        name, included = pathlib.Path(path).stem, re.findall(r'^#include "([a-z_0-9]*)\.h"', text_of(path), re.M)
        graph[name] = graph.get(name, set()) | set(included) - {name}
    circle = None
    try:
        graphlib.TopologicalSorter(graph).prepare()
    except graphlib.CycleError as error:
        circle = error.args[1]
    if bool(circle) == bool(folder):
        fail(f'a circle of #include lines in {folder or "three"}: {circle}')

# The runtime half and the shims neither end the host program, nor print, nor read its environment behind options.h's back. Words in
# comments do not count; ::exit and std::exit are exit.
runtime = [f'core/{room}' for room in 'base transport model policy message generate schedule team group openmp'.split()]
runtime += [f'core/{room}' for room in rooms if room.startswith('library/')]
runtime += ['rails/rail', 'rails/far', 'rails/ofi', 'rails/nodes', *SHIMS, *COMPONENTS]
half = {path for folder in runtime for path in files(folder, ('.cc', '.c', '.h'))} | set(files('core/profile', ('.cc', '.c', '.h'), depth=1))
checked |= half
CALLED = re.compile(r'(?:^|[^_a-zA-Z:>.])(?:std::|::)?(abort|exit|_exit|_Exit|quick_exit|__builtin_trap|__builtin_abort|printf|fprintf|puts|getenv|'
                    r'secure_getenv) *\(', re.M)
for path in sorted(half):
    for word in sorted(set(CALLED.findall(re.sub('//.*', '', text_of(path))))):
        if not (path.startswith('core/base/') and word.endswith('getenv')):  # the one place that reads it
            fail(f'{path} calls {word}()')
for path in files('core', ('.cc', '.h')):
    if 'getenv(' in text_of(path) and not re.match('core/(base|cli|library/(tests|bench|examples))/', path):
        fail(f'{path} reads the environment; options.h does that')

# One type, one meaning: no two rooms have types of one name in their headers, but for the `name` lines of tests/layering.txt.
DECLARED = re.compile(r'^(?:template <.*> )?(?:enum class|struct|class|enum)(?: alignas\([^)]*\))? ([A-Z][A-Za-z0-9]*)(?: final)?(?: : [^;\n]*)? \{', re.M)
OUTSIDE = re.compile('(core/library/(tests|bench|examples)|rails/(tests|bench)|(bench/lab|pictures)/tests)/')
ROOM = re.compile('(core/library/[a-z]+|core/profile/text|core/[a-z]+|rails/[a-z]+|bench/lab|[a-z_]+)/')
types = {}
for path in (path for folder in ('core', *SHIMS, 'pictures', 'rails', 'bench/lab') for path in files(folder, '.h')):
    for name in [] if OUTSIDE.match(path) else DECLARED.findall(text_of(path)):
        types.setdefault(name, set()).add(ROOM.match(path)[1])
if sum(map(len, types.values())) <= 300:
    fail('control: the headers declare types')
for name in sorted(named ^ {name for name, where in types.items() if len(where) > 1}):
    fail(f'a type {name}: {sorted(types.get(name, ()))} (tests/layering.txt names: {sorted(named)})')

# The walls. Main is all rooms of core and what is preloaded or loaded; houses, tests and benchmarks have walls of their own.
main = [f'core/{room}' for room in sorted(os.listdir('core')) if os.path.isdir(f'core/{room}') and room != 'library'] + [*SHIMS, *COMPONENTS]
lines = {folder: sum(text_of(path).count('\n') for path in files(folder, COUNTED))
         for folder in (*main, 'core/library', 'rails', 'bench', 'epcc', 'pictures', 'tests')}
lines['main'] = sum(lines[folder] for folder in main)
for folder, count in lines.items():
    if folder not in budgets:
        fail(f'tests/layering.txt has no budget for {folder}')
    elif count > budgets[folder] and 'PLANTED_FAULT' not in os.environ:  # which may take a line
        fail(f'{folder} has {count} lines, {budgets[folder]} are its budget: take something out, or say what they are for')
if len(checked) <= 30:
    fail(f'only {len(checked)} files found: is {sys.argv[1]} the source?')
print(f'{len(checked)} files, {failed} violations')
sys.exit(failed != 0)
