#!/usr/bin/env python3
"""Builds and runs the tests, in two tiers. The first is what ./check runs and CI: it begins with what takes seconds (how the source is laid
out) and stops there when that fails; then come the plain build and, under AddressSanitizer and ThreadSanitizer, the rooms that read
input and those whose threads share most. The second tier is everything else, in parts (tests/parts.txt).

Which test belongs where is told by its suites: the folder it lies in, and full-PART where it is the second tier's. Meson runs them.
"""
import argparse
import collections
import functools
import json
import os
import pathlib
import re
import statistics
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
SANITISED = ['-Dtests=true', '-Dbench=false', '-Db_lundef=false', '-Doptimization=0', '-Ddebug=false', '-Dc_args=-g1', '-Dcpp_args=-g1']
# Build: its directory and meson's options. Under the sanitizers the tests are compiled at -O0, what they test at -O1 (core/meson.build).
BUILDS = {
    'plain': ('build', ['-Dtests=true', '-Dbench=true', '-Dcli=enabled']),
    'address': ('build-asan', ['-Db_sanitize=address,undefined'] + SANITISED),
    'thread': ('build-tsan', ['-Db_sanitize=thread'] + SANITISED),
}
PROCESSES = max(3, (os.cpu_count() or 2) // 2)  # a test has two threads or more of its own, but many wait rather than work
HOUSES = {'library': 'core/library', 'rails': 'rails'}  # house, which is also the suite of all its tests: its folder
FIRST = ['source', *BUILDS]  # the first tier's order

Test = collections.namedtuple('Test', 'sanitizer name suites part timeout targets')
Row = collections.namedtuple('Row', 'what tests build test result')


def table_of(name):
    """NAME: words... of each line of tests/NAME.txt that is no comment."""
    rows = {}
    for line in (ROOT / 'tests' / (name + '.txt')).read_text().splitlines():
        if ':' in line and not line.startswith('#'):
            key, words = line.split(':', 1)
            rows[key] = words.split()
    return rows


def run(command, **options):
    return subprocess.run(command, cwd=ROOT, **options)


def say(text):
    print(f'\n== {text}', flush=True)


def need_packages(parts):
    """Installs what these parts want and this machine lacks."""
    wanted = []
    for part in parts:
        for package in table_of('parts')[part]:
            if package == 'GCC-SOURCE':
                version = subprocess.run(['gcc', '-dumpversion'], capture_output=True, text=True).stdout.strip()
                package = f'gcc-{version}-source'
            if package not in wanted:
                wanted.append(package)
    done = run(['sh', '-c', '. .ci/prepare; need_packages "$@"', 'sh'] + wanted)
    if done.returncode:
        sys.exit(done.returncode)


class Build:
    """One build directory and the tests in it."""

    def __init__(self, sanitizer):
        self.sanitizer = sanitizer
        self.directory, self.options = BUILDS[sanitizer]

    def configure(self):
        done = run(['sh', '-c', '. .ci/prepare; need_build "$@"', 'sh', self.directory] + self.options)
        # What is asked below is of the last configuration.
        done = done if done.returncode else run(['ninja', '-C', self.directory, '--quiet', 'build.ninja'], stdout=subprocess.PIPE,
                                                          stderr=subprocess.STDOUT, text=True)
        if done.returncode:
            print(done.stdout or '', file=sys.stderr)
            sys.exit(done.returncode)

    def tests(self):
        told = run(['meson', 'introspect', '--tests', '--targets', self.directory], capture_output=True, text=True, check=True)
        told = json.loads(told.stdout)
        files = {target['id']: [os.path.relpath(f, ROOT / self.directory) for f in target['filename']] for target in told['targets']}
        found = []
        for test in told['tests']:
            suites = [suite.split(':', 1)[1] for suite in test['suite'] if ':' in suite]
            part = next((suite[len('full-'):] for suite in suites if suite.startswith('full-')), None)
            targets = [file for target in test['depends'] for file in files.get(target, [])]
            found.append(Test(self.sanitizer, test['name'], suites, part, test['timeout'], targets))
        return found

    def compile(self, tests):
        targets = sorted({target for test in tests for target in test.targets})
        return not targets or run(['ninja', '-C', self.directory, '--quiet'] + targets).returncode == 0

    def run(self, tests, first=False, repeat=1, slower=1):
        """The results: [(name, result, seconds)]."""
        log = ROOT / self.directory / 'meson-logs/testlog.json'
        log.unlink(missing_ok=True)
        command = ['meson', 'test', '-C', self.directory, '--no-rebuild', '--print-errorlogs', '--num-processes', str(PROCESSES),
                   '--timeout-multiplier', str(slower)]
        command += ['--maxfail', '1'] if first else []
        command += ['--repeat', str(repeat)] if repeat > 1 else []
        run(command + [test.name for test in tests])
        if not log.exists():
            return [(test.name, 'ERROR', 0.0) for test in tests]
        rows = [json.loads(line) for line in log.read_text().splitlines()]
        # "smelt:abi / links" of meson 1.3 is "abi - smelt:links" of 1.10.
        return [(re.split(' / |:', row['name'])[-1], row['result'], row['duration']) for row in rows]


class Tally:
    """What was run, and what came of it."""

    def __init__(self):
        self.rows, self.passed, self.failed, self.skipped, self.durations, self.wrong = [], 0, 0, 0, [], []

    def add(self, what, tests, results, build_seconds, test_seconds, slower=1):
        limits = {test.name: test.timeout * slower for test in tests}
        counts = collections.Counter()
        for name, result, seconds in results:
            kind = 'passed' if result in ('OK', 'EXPECTEDFAIL') else 'skipped' if result == 'SKIP' else 'failed'
            if kind == 'passed' and limits.get(name) and seconds > limits[name] / 2:
                kind, result = 'failed', f'{seconds:.0f} s, more than half of its limit of {limits[name]:.0f} s'
            counts[kind] += 1
            self.durations.append((seconds, what, name))
            if kind == 'failed' and result != 'INTERRUPT':
                self.wrong.append(f'FAIL {name} ({what}): {result}')
        self.count(what, len(results), build_seconds, test_seconds, counts)

    def count(self, what, number, build_seconds, test_seconds, counts):
        self.passed += counts['passed']
        self.failed += counts['failed']
        self.skipped += counts['skipped']
        result = ', '.join(f'{counts[kind]} {kind}' for kind in ('passed', 'failed', 'skipped') if counts[kind]) or 'nothing to run'
        self.rows.append(Row(what, number, build_seconds, test_seconds, result))

    def broken(self, what, seconds):
        self.wrong.append(f'FAIL build ({what})')
        self.count(what, 0, seconds, 0, collections.Counter(failed=1))

    def finish(self, began):
        width = max([len(row.what) for row in self.rows] + [4])
        print(f"\n{'part':{width}} {'tests':>5} {'build s':>8} {'test s':>7}  result")
        for row in self.rows:
            print(f'{row.what:{width}} {row.tests:5} {row.build:8.0f} {row.test:7.0f}  {row.result}')
        print(f"{'all':{width}} {'':5} {'':8} {time.time() - began:7.0f}")
        slowest = sorted(self.durations, reverse=True)[:10]
        print('longest: ' + ', '.join(f'{name} {seconds:.0f} s' for seconds, _, name in slowest if seconds >= 1))
        for line in self.wrong:
            print(line)
        print(f'\n{self.passed} passed, {self.failed} failed, {self.skipped} skipped')
        return 0 if self.failed == 0 and self.passed > 0 else 1


def run_group(tally, what, sanitizer, tests, options):
    """Builds and runs these tests of one build directory. False: something failed."""
    if not tests:
        return True
    build = Build(sanitizer)
    began = time.time()
    if any(test.targets for test in tests):
        say(f'{what}: building {build.directory}')
    if not build.compile(tests):
        tally.broken(what, time.time() - began)
        return False
    built = time.time()
    say(f'{what}: {len(tests)} tests')
    before = tally.failed
    results = build.run(tests, first=options.first)
    tally.add(what, tests, results, built - began, time.time() - built)
    return tally.failed == before


@functools.cache  # configuring takes seconds, and parts share their build
def tests_of(sanitizer):
    build = Build(sanitizer)
    build.configure()
    return build.tests()


def first_tier(tally, options):
    need_packages(['first'])
    plain = [test for test in tests_of('plain') if test.part is None]
    source = [test for test in plain if 'source' in test.suites]
    if not run_group(tally, 'source', 'plain', source, options):
        print('\nthe rest was not run: these take seconds and come first')
        return
    for build in BUILDS:
        tests = plain if build == 'plain' else [test for test in tests_of(build) if test.part is None]
        if not run_group(tally, build, build, [test for test in tests if test not in source], options) and options.first:
            return


def second_tier(tally, options, parts):
    known = [part for part in table_of('parts') if part != 'first']
    for part in parts:
        if part not in known:
            sys.exit(f"check: there is no part '{part}'; parts: {' '.join(known)}")
    for part in parts or known:
        need_packages(['first', part])
        sanitizer = part if part in BUILDS else 'plain'
        tests = [test for test in tests_of(sanitizer) if test.part == part]
        if not run_group(tally, part, sanitizer, tests, options) and options.first:
            return


# --- which tests a change can break

def folder_of(room):
    house, _, inside = room.partition('/')
    if house in HOUSES:
        return f'{HOUSES[house]}/{inside}/'
    return f'{room}/' if house in ('bench', 'pictures') else f'core/{room}/'


def reach_of(suite, rooms, breaks):
    """The paths whose change can break the tests of this suite; '' is everything."""
    named = next((name for name in [suite, *(f'{house}/{suite}' for house in HOUSES)] if name in rooms), None)
    if suite in breaks:
        words, paths = breaks[suite], [f'tests/{suite}/']
    elif named:
        folder = f'tests/core/{suite}/' if named == suite else f"{HOUSES[named.partition('/')[0]]}/tests/{suite}/"
        words, paths = [named + '+'], [folder, 'tests/core/pch/', 'tests/core/machines.', 'tests/core/folder.h', 'tests/core/counting.h',
                                       'tests/core/sanitized.h', 'tests/core/meson.build', 'tests/data/']
    else:
        return None
    for word in words:
        if word == '*':
            return ['']
        room = word.rstrip('+')
        if room in rooms:
            paths += [folder_of(used) for used in [room] + (rooms[room] if word.endswith('+') else [])]
            paths.append('core/include/')  # part of base, which all use
            paths += [f'{folder}/include/' for house, folder in HOUSES.items() if room.startswith(house + '/')]
        else:
            paths.append(word)
    return paths + ['meson.build', 'meson_options.txt', 'core/meson.build', 'tests/meson.build']


def changed_since(base):
    done = run(['git', 'diff', '--name-only', base], capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"check: git knows no '{base}' to compare with")
    new = run(['git', 'ls-files', '--others', '--exclude-standard'], capture_output=True, text=True, check=True)
    changed = set((done.stdout + new.stdout).split('\n')) - {''}
    # Where a list of sources alone is another, what it names tells what can break.
    return sorted(file for file in changed if not (file.endswith('meson.build') and os.path.exists(file) and without_sources(
        run(['git', 'show', f'{base}:{file}'], capture_output=True, text=True).stdout) == without_sources(open(file).read())))


def without_sources(text):
    return re.sub(r"'[\w/]+\.cc?'|[\s,]", '', text)


def why(test, files, rooms, breaks):
    """The changed files that can break this test. A suite without a rule is run for everything."""
    subjects = [suite for suite in test.suites if not suite.startswith('full-') and suite not in ['core', *HOUSES]]
    reasons = {f'{HOUSES[suite]}/{name}' for suite in test.suites if suite in HOUSES for name in ('meson.build', 'tests/meson.build')} & set(files)
    for subject in subjects or ['source']:
        paths = reach_of(subject, rooms, breaks)
        reasons |= {file for file in files if paths is None or any(file.startswith(path) for path in paths)}
    return sorted(reasons)


def for_change(tally, options):
    files = changed_since(options.base)
    if not files:
        sys.exit(f'check: nothing has changed since {options.base}')
    rooms, breaks = table_of('layering'), table_of('breaks')
    chosen = collections.OrderedDict()
    need_packages(['first'])
    for sanitizer in BUILDS:
        for test in tests_of(sanitizer):
            if options.tier and (1 if test.part is None else 2) != options.tier:
                continue
            reasons = why(test, files, rooms, breaks)
            if reasons:
                what = test.part or ('source' if 'source' in test.suites else sanitizer)
                place = (1 if test.part is None else 2, FIRST.index(what) if test.part is None else 0, what, sanitizer)
                chosen.setdefault(place, []).append((test, reasons))
    for (*_, what, _), tests in sorted(chosen.items()):
        say(f'{what}: {len(tests)} tests')
        for test, reasons in tests:
            more = f' and {len(reasons) - 2} more' if len(reasons) > 2 else ''
            print(f"  {test.name}: {', '.join(reasons[:2])}{more}")
    if options.dry_run:
        sys.exit(0)
    for (tier, _, what, sanitizer), tests in sorted(chosen.items()):
        if tier == 2:
            need_packages([what])
        # After those that are named, what lies nearest to the change comes first. Each stops the rest of its group as well.
        named = [test for test, _ in tests if test.name in options.names]
        near = [test for test, _ in tests if any(f'/{suite}/' in f'/{file}' for suite in test.suites for file in files)]
        near = [test for test in near if test not in named]
        far = [test for test, _ in tests if test not in named + near]
        for name, some in ((f'{what}, named', named), (f'{what}, near', near), (what, far)):
            if not run_group(tally, name, sanitizer, some, options) and (options.first or what == 'source'):
                return


# --- again and again

def repeat(options):
    """Every test of the first tier, or those named, N times; how often each failed."""
    need_packages(['first'])
    failures = 0
    neighbours = [subprocess.Popen(['sh', '-c', 'while :; do :; done']) for _ in range(options.beside)]
    try:
        for sanitizer, (directory, _) in BUILDS.items():
            tests = [test for test in tests_of(sanitizer) if (test.part is None or test.part in options.names) and (
                not options.names or {test.name, test.part, *test.suites} & set(options.names))]
            build = Build(sanitizer)
            if not tests:
                continue
            if not build.compile(tests):
                sys.exit(f'check: {directory} does not build')
            slower = 1 + options.beside
            results = build.run(tests, repeat=options.repeat, slower=slower)
            limits = {test.name: test.timeout * slower for test in tests}
            by_name = collections.OrderedDict()
            for name, result, seconds in results:
                by_name.setdefault(name, []).append((result, seconds))
            print(f"\n{directory}, {options.repeat} times beside {options.beside} busy processes")
            print(f"{'test':32} {'runs':>4} {'failed':>6} {'min s':>7} {'median':>7} {'max':>7} {'limit':>6}")
            for name, runs in by_name.items():
                failed = sum(result not in ('OK', 'SKIP', 'EXPECTEDFAIL') for result, _ in runs)
                times = [seconds for _, seconds in runs]
                failed += sum(seconds > limits[name] / 2 for _, seconds in runs)
                failures += failed
                print(f'{name:32} {len(runs):4} {failed:6} {min(times):7.1f} {statistics.median(times):7.1f} {max(times):7.1f} {limits[name]:6.0f}')
    finally:
        for neighbour in neighbours:
            neighbour.kill()
    print(f'\n{failures} failures')
    return 1 if failures else 0


def main():
    parser = argparse.ArgumentParser(prog='check', description='Builds and runs the tests.', epilog='Without an option: the first tier.')
    parser.add_argument('--full', nargs='*', metavar='PART', help='the second tier, or these parts of it (--parts lists them)')
    parser.add_argument('--parts', action='store_true', help='list the parts of the second tier, and their tests')
    parser.add_argument('--for', dest='base', metavar='BASE', help='the tests of both tiers that what changed since this commit can break')
    parser.add_argument('--tier', type=int, choices=[1, 2], help='with --for: only this tier')
    parser.add_argument('--dry-run', action='store_true', help='with --for: only say which tests, and why')
    parser.add_argument('--first', action='store_true', help='stop at the first failure')
    parser.add_argument('--repeat', type=int, metavar='N', help='the first tier, or the suites and tests named, N times')
    parser.add_argument('--beside', type=int, default=0, metavar='K', help='with --repeat: beside K busy processes')
    parser.add_argument('names', nargs='*', help='with --repeat: suites, tests or parts; with --for: the tests that come first')
    options = parser.parse_args()
    if options.names and not options.repeat and not options.base:
        parser.error('only --repeat and --for take names of tests; meson test -C build NAME runs one')
    # Caches of other checkouts serve, and precompiled headers are taken for what they are.
    os.environ.setdefault('CCACHE_BASEDIR', str(ROOT))
    os.environ.setdefault('CCACHE_NOHASHDIR', '1')
    os.environ.setdefault('CCACHE_SLOPPINESS', 'pch_defines,time_macros')
    began, tally = time.time(), Tally()
    if options.repeat:
        return repeat(options)
    if options.parts:
        for part in table_of('parts'):
            sanitizer = part if part in BUILDS else 'plain'
            tests = [test.name for test in tests_of(sanitizer) if (test.part or 'first') == part]
            print(f"{part}: {' '.join(tests)}")
        return 0
    if options.base:
        for_change(tally, options)
    elif options.full is not None:
        second_tier(tally, options, options.full)
    else:
        first_tier(tally, options)
    return tally.finish(began)


if __name__ == '__main__':
    sys.exit(main())
