"""libgomp's test suite on this machine: its source, its tests, how each of them is compiled."""
import fcntl
import fnmatch
import glob
import json
import os
import re
import shutil
import subprocess
import tarfile

import directives
import targets

SUITES = ('libgomp.c', 'libgomp.c-c++-common', 'libgomp.c++', 'libgomp.fortran')

# What is unpacked. gomp-constants.h and libgomp_g.h are all that the tests include from elsewhere in GCC's source.
_WANTED = re.compile(r'[^/]+/(libgomp/testsuite/(?:%s|libgomp\.oacc-fortran)/.*|libgomp/libgomp_g\.h|include/gomp-constants\.h)$'
                     % '|'.join(re.escape(suite) for suite in SUITES))

# The affinity tests include the config.h that libgomp's configure made, for this macro alone; it is true on Linux.
_CONFIG_H = '#define HAVE_PTHREAD_AFFINITY_NP 1\n'

_FORTRAN = re.compile(r'\.[fF](|90|95|03|08)$')

# What all of the suite's .exp files set. Without offloading: a region on a device would be out of the shim's reach, and a
# compiler configured for devices whose own compilers are not installed would only warn.
_ALWAYS = ['-fmessage-length=0', '-fno-diagnostics-show-caret', '-fdiagnostics-color=never', '-fopenmp', '-foffload=disable']


class Unavailable(Exception):
    """The suite cannot be had here; one line says what to install."""


class Test:
    """One test: `name` is its path below libgomp/testsuite, with :c or :c++ where one file is compiled as both."""

    def __init__(self, name, suite, path, language):
        self.name, self.suite, self.path, self.language = name, suite, path, language
        self.plan = None
        self.program = None    # the executable, once built
        self.complaint = ''    # of the compiler, where it could not be built


def compiler_version():
    if not shutil.which('gcc'):
        raise Unavailable('gcc is not installed')
    return subprocess.run(['gcc', '-dumpfullversion'], stdout=subprocess.PIPE, text=True, check=True).stdout.strip()


def find_tarball():
    major = compiler_version().split('.', maxsplit=1)[0]
    found = sorted(glob.glob(f'/usr/src/gcc-{major}/gcc-{major}.*.tar.xz'))
    if not found:
        raise Unavailable(f'libgomp\'s test suite is in the source of GCC {major}: install the package gcc-{major}-source, '
                          'or name the tarball with --source')
    return found[-1]


def lock(work):
    """One run per work folder: a second one waits. Returns what must be kept open."""
    os.makedirs(work, exist_ok=True)
    handle = open(os.path.join(work, 'lock'), 'w', encoding='ascii')  # pylint: disable=consider-using-with
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        print(f'waiting for another run in {work}', flush=True)
        fcntl.flock(handle, fcntl.LOCK_EX)
    return handle


def unpack(tarball, work):
    """Unpacks what is needed into work/source, unless the stamp says that it is there. Returns that folder."""
    root, stamp = os.path.join(work, 'source'), os.path.join(work, 'source.stamp')
    status = os.stat(tarball)
    wanted = f'{os.path.realpath(tarball)} {status.st_size} {status.st_mtime_ns} {_WANTED.pattern}\n'
    if os.path.exists(stamp):
        with open(stamp, encoding='utf-8') as file:
            if file.read() == wanted:
                return root
        os.remove(stamp)
    shutil.rmtree(root, ignore_errors=True)
    shutil.rmtree(os.path.join(work, 'build'), ignore_errors=True)
    count = 0
    with tarfile.open(tarball, 'r|*') as archive:
        for member in archive:
            match = _WANTED.match(member.name)
            if not match or not member.isfile() or '..' in member.name.split('/'):
                continue
            path = os.path.join(root, match.group(1))
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, 'wb') as file:
                shutil.copyfileobj(archive.extractfile(member), file)
            count += 1
    if not count:
        raise Unavailable(f'{tarball} has no libgomp/testsuite')
    os.makedirs(os.path.join(root, 'generated'))
    with open(os.path.join(root, 'generated', 'config.h'), 'w', encoding='ascii') as file:
        file.write(_CONFIG_H)
    with open(stamp, 'w', encoding='utf-8') as file:
        file.write(wanted)
    return root


def tests(root, suites):
    """All tests of the suites, in order."""
    found = []
    for suite in suites:
        folder = os.path.join(root, 'libgomp/testsuite', suite)
        paths = [os.path.join(where, name) for where, _, names in os.walk(folder) for name in names]
        for path in sorted(paths):
            name = os.path.relpath(path, os.path.join(root, 'libgomp/testsuite'))
            if suite == 'libgomp.fortran':
                if _FORTRAN.search(path):
                    found.append(Test(name, suite, path, 'fortran'))
            elif suite == 'libgomp.c++':
                if path.endswith('.C'):
                    found.append(Test(name, suite, path, 'c++'))
            elif path.endswith('.c'):
                if suite == 'libgomp.c':
                    found.append(Test(name, suite, path, 'c'))
                else:
                    found += [Test(f'{name}:{language}', suite, path, language) for language in ('c', 'c++')]
    return found


def read_subset(path):
    """Names, one per line; # begins a comment."""
    with open(path, encoding='utf-8') as file:
        lines = [line.split('#', maxsplit=1)[0].strip() for line in file]
    return [line for line in lines if line]


def choose(everything, subset, pattern):
    """The tests named by a subset file and matched by a glob; and the names that are not in this source."""
    chosen, missing = everything, []
    if subset is not None:
        by_name = {test.name: test for test in everything}
        names = list(dict.fromkeys(subset))
        chosen = [by_name[name] for name in names if name in by_name]
        missing = [name for name in names if name not in by_name]
    if pattern:
        chosen = [test for test in chosen
                  if fnmatch.fnmatchcase(test.name, pattern) or fnmatch.fnmatchcase(test.name.split(':')[0], pattern)]
    return chosen, missing


def make_plans(chosen):
    """Reads every test's directives."""
    triplet, answers = targets.triplet_of_compiler(), {}
    for test in chosen:
        with open(test.path, encoding='latin-1') as file:
            text = file.read()
        here = targets.Targets(test.language, triplet, answers)
        # c.exp and c++.exp: -O2 unless the test says otherwise. fortran.exp: several levels of optimisation, of
        # which -O2 is one, beside what the test says.
        levels = {'fixed_options': ['-O2']} if test.language == 'fortran' else {'default_options': ['-O2']}
        test.plan = directives.plan(text, here, **levels)
        compiler = {'c': 'gcc', 'c++': 'g++', 'fortran': 'gfortran'}[test.language]
        if not test.plan.skip and not shutil.which(compiler):
            test.plan.skip = f'{compiler} is not installed'
        for source in test.plan.sources:
            if not test.plan.skip and not os.path.exists(os.path.join(os.path.dirname(test.path), source)):
                test.plan.skip = f'unknown: its source {source} is not there'


def compile_command(test, root, program):
    driver = {'c': ['gcc'], 'c++': ['g++', '-x', 'c++'], 'fortran': ['gfortran']}[test.language]
    includes = ['-I' + os.path.join(root, folder) for folder in ('include', 'libgomp', 'generated')]
    sources = [os.path.normpath(os.path.join(os.path.dirname(test.path), source)) for source in test.plan.sources]
    return [*driver, test.path, *sources, *_ALWAYS, *includes, *test.plan.options, '-lm', '-o', program]


def build(test, root, work, version, timeout=600):
    """Builds one test in a folder of its own (Fortran's modules, dumps), unless the same command has built it before."""
    folder = os.path.join(work, 'build', test.name.replace('/', '--'))
    program, note = os.path.join(folder, 'test'), os.path.join(folder, 'command.json')
    command = compile_command(test, root, program)
    wanted = json.dumps([version, command])
    if os.path.exists(program) and os.path.exists(note):
        with open(note, encoding='utf-8') as file:
            if file.read() == wanted:
                test.program = program
                return False
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    try:
        done = subprocess.run(command, cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              env=os.environ | {'LC_ALL': 'C'}, timeout=timeout, check=False)
    except subprocess.TimeoutExpired:
        test.complaint = f'the compiler took more than {timeout} s'
        return True
    if done.returncode or not os.path.exists(program):
        lines = done.stdout.decode(errors='replace').strip().splitlines()
        errors = [line for line in lines if re.search(r'\b(error|undefined)\b', line, re.IGNORECASE)]
        test.complaint = (errors or lines or [f'exit status {done.returncode}'])[0]
        return True
    test.program = program
    with open(note, 'w', encoding='utf-8') as file:
        file.write(wanted)
    return True
