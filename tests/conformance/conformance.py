#!/usr/bin/env python3
"""libgomp's own test suite, stock and under the shim: every test must do under the shim what it does without.

The suite comes with Debian's package gcc-N-source, for the GCC that is installed (its libgomp is the one that is tested);
1,431 tests for GCC 12: C, C++ and Fortran, without OpenACC and without devices. DejaGnu is not needed: the tests'
directives are read here, and a test that asks for something this runner does not know is skipped with that as its
reason. Each test is built once (kept in the work folder), run stock for each thread count, and under the shim for each
thread count with hot teams on and off. A test that passes stock and fails under the shim is repeated, 5 times each way; it is a
difference unless stock fails too in one of them. Exit status: 0 no difference, 1 differences, 2 wrong usage, 77 no suite here.

    conformance.py --shim build/gomp_shim/libsmelt_gomp.so                              everything: a quarter of an hour on 2 CPUs
    conformance.py --shim ... --subset tests/conformance/subset.txt --threads 4         what ./check runs
    conformance.py --shim ... --tests 'libgomp.c/doacross-*' --env SMELT_TUNE=pattern=mst    some of it, with a setting of the shim
    conformance.py --control build/tests/gomp_shim/libsmelt_gomp_unmarked.so ...        a shim known to be wrong: must be noticed

Files: directives.py (what a test asks for), targets.py (what this machine has), suite.py (unpacking, building), runs.py (running,
comparing), report.py.
"""
import argparse
import concurrent.futures
import os
import re
import resource
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True  # nothing is left in the source folder

import report  # noqa: E402
import runs    # noqa: E402
import suite   # noqa: E402

_PROBE = '''
#include <omp.h>
int main (void)
{
  for (int i = 0; i < 4; ++i)
    #pragma omp parallel
    {
      #pragma omp barrier
    }
  return 0;
}
'''


def parse(arguments):
    parser = argparse.ArgumentParser(description=__doc__.split('\n', maxsplit=1)[0], epilog=__doc__.split('\n', maxsplit=1)[1],
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    cache = os.environ.get('XDG_CACHE_HOME') or os.path.expanduser('~/.cache')
    parser.add_argument('--shim', metavar='LIBRARY', help='the shim: it must make no difference')
    parser.add_argument('--control', metavar='LIBRARY', help='a wrong shim: it must make a difference to some test')
    parser.add_argument('--source', metavar='TARBALL', help='GCC\'s source (default: that of the package gcc-N-source)')
    parser.add_argument('--work', default=os.path.join(cache, 'smelt-conformance'), metavar='FOLDER',
                        help='keeps the suite and the built tests (default: %(default)s)')
    parser.add_argument('--suites', default=','.join(suite.SUITES), metavar='NAME,...', help='default: %(default)s')
    parser.add_argument('--subset', metavar='FILE', help='only the tests named there')
    parser.add_argument('--tests', metavar='GLOB', help='only the tests whose name matches')
    parser.add_argument('--threads', default='2,4,8', metavar='N,...', help='values of OMP_NUM_THREADS (default: %(default)s)')
    parser.add_argument('--hot', default='on,off', metavar='on,off', help='with hot teams and without (default: %(default)s)')
    parser.add_argument('--env', action='append', default=[], metavar='NAME=VALUE', help='further settings under the shim')
    parser.add_argument('--preload', metavar='LIBRARY', help='preloaded in front of the shim')
    parser.add_argument('--expect', metavar='REGEX', help='what the shim says of a program by SMELT_VERBOSE=2 must match, for each '
                        'of --threads; with {threads} for their number')
    parser.add_argument('--used', metavar='REGEX', help='what the shim\'s counters (SMELT_STATS=1) must say of some of the tests in each '
                        'configuration')
    parser.add_argument('--jobs', type=int, default=2, metavar='N',
                        help='builds at a time, and at most as many runs (default: %(default)s)')
    parser.add_argument('--timeout', type=float, default=60, metavar='S', help='seconds for a run (default: %(default)g)')
    parser.add_argument('--json', metavar='FILE', help='write all results there')
    options = parser.parse_args(arguments)
    if not options.shim and not options.control:
        parser.error('--shim or --control is needed')
    for library in (options.shim, options.control, options.preload):
        if library and not os.path.isfile(library):
            parser.error(f'{library} is not there')
    try:
        options.threads = [int(word) for word in options.threads.split(',')]
    except ValueError:
        parser.error('--threads takes numbers')
    options.hot = options.hot.split(',')
    if not set(options.hot) <= {'on', 'off'}:
        parser.error('--hot takes on and off')
    options.suites = options.suites.split(',')
    if not set(options.suites) <= set(suite.SUITES):
        parser.error(f'--suites takes {", ".join(suite.SUITES)}')
    if not all('=' in setting for setting in options.env):
        parser.error('--env takes NAME=VALUE')
    if options.jobs < 1 or min(options.threads) < 1:
        parser.error('--jobs and --threads take numbers from 1')
    if options.used:
        options.env.append('SMELT_STATS=1')
    options.env = tuple(tuple(setting.split('=', maxsplit=1)) for setting in options.env)
    return options


def say(line):
    print(line, flush=True)


def stop(line):
    print(line, file=sys.stderr)
    sys.exit(2)


def preloaded(library, options):
    return ':'.join(os.path.abspath(name) for name in (options.preload, library) if name)


def check_taken(library, scratch, threads, options):
    """Is the library a shim that serves programs here? A preloaded library that is not found is only a warning of ld.so. And does it
    serve them as expected?"""
    with tempfile.TemporaryDirectory(dir=scratch) as folder:
        program = os.path.join(folder, 'probe')
        subprocess.run(['gcc', '-fopenmp', '-x', 'c', '-', '-o', program], input=_PROBE, text=True, check=True)
        environment = {'PATH': os.environ.get('PATH', ''), 'LD_PRELOAD': preloaded(library, options), 'XDG_CACHE_HOME': folder,
                       'OMP_NUM_THREADS': str(threads)} | dict(options.env) | {'SMELT_VERBOSE': '2'}
        output = subprocess.run([program], env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                                timeout=60, check=False).stdout
    lines = [line for line in output.splitlines() if 'symbols taken' in line]
    if not lines:
        stop(f'{library} takes nothing from a program here: {output.strip() or "it says nothing"}')
    if options.expect and not re.search(options.expect.format(threads=threads), output):
        stop(f'{library} does not serve {threads} threads as expected:\n{output.strip()}')
    return lines[0]


def at_a_time(threads, jobs):
    """How many runs side by side. Teams that fit the machine spin at their barriers: none gets another's CPU in its way."""
    cpus = len(os.sched_getaffinity(0))
    return jobs if threads > cpus else max(1, min(jobs, cpus // threads))


def build_all(chosen, root, options):
    began = time.monotonic()
    version = suite.compiler_version()
    wanted = [test for test in chosen if not test.plan.skip]
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        made = sum(pool.map(lambda test: suite.build(test, root, options.work, version), wanted))
    built = [test for test in wanted if test.program]
    say(f'{len(built)} tests built in {time.monotonic() - began:.0f} s ({len(wanted) - made} of them before)')
    return built


def run_shim(library, options, runner, tests, stock_results, skipped):
    """All configurations under one library: {configuration: results}, differences. Ends the run if none of a configuration's tests did what
    --used asks for: they would prove nothing."""
    shim_results, found = {}, []
    for threads in options.threads:
        for hot in options.hot:
            configuration = runs.Configuration(threads, preloaded(library, options), hot, options.env)
            stock = stock_results[configuration.stock()]
            began = time.monotonic()
            results = runs.run_all(runner, tests, configuration, at_a_time(threads, options.jobs))
            here = runs.compare(runner, tests, configuration, stock, results)
            lines = report.under(configuration, results, stock, here, skipped)
            say(f'{lines[0]} ({time.monotonic() - began:.0f} s)')
            for line in lines[1:]:
                say(line)
            if options.used:
                used = sum(outcome.used for outcome in results.values())
                say(f'  {used} of {len(results)} tests: {options.used}')
                if not used:
                    say(f'no test under {configuration.name()} did what is tested here')
                    sys.exit(1)
            shim_results[configuration] = results
            found += here
    return shim_results, found


def main(arguments):
    options = parse(arguments)
    options.work = os.path.abspath(options.work)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # the tests that end by abort() leave nothing
    try:
        tarball = options.source or suite.find_tarball()
        if not os.path.isfile(tarball):
            stop(f'{tarball} is not there')
        handle = suite.lock(options.work)
        root = suite.unpack(tarball, options.work)
    except suite.Unavailable as error:
        say(f'skipped: {error}')
        return 77

    everything = suite.tests(root, options.suites)
    subset = suite.read_subset(options.subset) if options.subset else None
    chosen, missing = suite.choose(everything, subset, options.tests)
    suite.make_plans(chosen)
    runner = runs.Runner(options.work, options.timeout, options.used)
    for library in filter(None, (options.shim, options.control)):
        for threads in options.threads:
            say(check_taken(library, runner.scratch, threads, options))
    tests = build_all(chosen, root, options)
    for line in report.suites(chosen, missing):
        say(line)
    if not tests:
        say('no test to run')
        return 1

    stock_results = {}
    for threads in options.threads:
        configuration = runs.Configuration(threads)
        began = time.monotonic()
        stock_results[configuration] = runs.steady_stock(runner, tests, configuration, at_a_time(threads, options.jobs))
        lines = report.stock(configuration, stock_results[configuration])
        say(f'{lines[0]} ({time.monotonic() - began:.0f} s)')
        for line in lines[1:]:
            say(line)

    status, skipped = 0, len(chosen) - len(tests)
    if options.control:
        _, noticed = run_shim(options.control, options, runner, tests, stock_results, skipped)
        for one in noticed:
            say(f'  noticed: {report.headline(one)}')
        names = list(dict.fromkeys(one.test.name for one in noticed if one.steady()))
        say(f'control: {len(names)} of {len(tests)} tests notice the wrong shim')
        if not names:
            status = 1
    if options.shim:
        shim_results, found = run_shim(options.shim, options, runner, tests, stock_results, skipped)
        for one in found:
            for line in report.difference(one, runner):
                say(line)
        if options.json:
            head = {'source': tarball, 'compiler': suite.compiler_version(), 'shim': os.path.abspath(options.shim),
                    'configurations': [configuration.name() for configuration in shim_results]}
            report.write_json(options.json, head, chosen, missing, stock_results, shim_results, found)
        counted = sum(one.steady() for one in found)
        if counted:
            status = 1
        say(f'{len(shim_results)} configurations x {len(chosen)} tests ({len(tests)} run): {counted} '
            f'difference{"" if counted == 1 else "s"}')
    handle.close()
    return status


if __name__ == '__main__':
    sys.exit(main(sys.argv[1:]))
