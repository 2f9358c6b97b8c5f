"""Effective targets: what the tests may require of compiler and machine, found out by compiling or running a line of C.

Offloading is switched off in every build (suite.py), so that each test runs in the process that the shim is in;
whatever asks for a device is false.
"""
import fnmatch
import os
import platform
import subprocess
import tempfile

from directives import Unknown

_X86 = platform.machine() in ('x86_64', 'i686', 'i586', 'i386')

# True or false without asking.
_FACTS = {
    '__float128': _X86,      # GCC's own rule; POWER, where it depends, is left out
    'fd_truncate': True,     # ftruncate: this is Linux
    'offload_device': False,
    'offload_device_nonshared_as': False,
    'offload_device_shared_as': True,  # GCC asks a target region, and one that runs on the host shares its memory
    'offload_device_nvptx': False,
    'offload_device_gcn': False,
    'offload_device_intel_mic': False,
    'offload_device_any_intel_mic': False,
    'offload_target_nvptx': False,
    'offload_target_amdgcn': False,
    'run_expensive_tests': bool(os.environ.get('GCC_TEST_RUN_EXPENSIVE')),
}


def _size(condition):
    return 'object', f'int a[({condition}) ? 1 : -1];', ''


# name -> how far it must get, the program, options
_PROBES = {
    'lp64': _size('sizeof (int) == 4 && sizeof (long) == 8 && sizeof (void *) == 8'),
    'ia32': ('object', 'int a[sizeof (int) == 4 && sizeof (long) == 4 && sizeof (void *) == 4 ? 1 : -1] = {__i386__};', ''),
    'large_long_double': _size('sizeof (long double) > sizeof (double)'),
    'size32plus': ('object', 'char a[16777217L];', ''),
    'sync_int_long': ('object', 'long f (long *p, int *q) { return __sync_fetch_and_add (p, 1) + __sync_fetch_and_add (q, 1); }\n'
                      '#if !defined __GCC_HAVE_SYNC_COMPARE_AND_SWAP_4 || (__SIZEOF_LONG__ == 8 && '
                      '!defined __GCC_HAVE_SYNC_COMPARE_AND_SWAP_8)\n#error\n#endif\n', ''),
    'tls': ('object', '__thread int i; int f (void) { return i; }', ''),
    'tls_runtime': ('run', '__thread int i __attribute__ ((tls_model ("global-dynamic"))); int main (void) { return i; }', ''),
    'lto': ('link', 'int main (void) { return 0; }', '-flto'),
    'fpic': ('object', 'extern int b; int f (void) { return b; }', '-fpic'),
    'shared': ('link', 'extern int b; int f (void) { return b; }', '-shared -fpic'),
    'alias': ('object', 'void g (void) {} void f (void) __attribute__ ((alias ("g")));', ''),
    'aarch64_tiny': ('object', '#if !defined __aarch64__ || !defined __AARCH64_CMODEL_TINY__\n#error\n#endif\nint a;', ''),
    'vect_simd_clones': ('object', 'typedef double v __attribute__ ((vector_size (64))); v f (v a) { return a + a; }',
                         '-O2 -mavx512f'),
    'sse2_runtime': ('run', 'int main (void) { return !__builtin_cpu_supports ("sse2"); }', '-msse2'),
    'avx_runtime': ('run', 'int main (void) { return !__builtin_cpu_supports ("avx"); }', '-mavx'),
    'avx2_runtime': ('run', 'int main (void) { return !__builtin_cpu_supports ("avx2"); }', '-mavx2'),
    'avx512f_runtime': ('run', 'int main (void) { return !__builtin_cpu_supports ("avx512f"); }', '-mavx512f'),
}


class Targets:
    """The answers, asked for once each. `language` is that of the test: 'c' is an effective target too."""

    def __init__(self, language, triplet, answers=None):
        self.language = language
        self.triplet = triplet
        self.answers = {} if answers is None else answers  # shared between languages

    def holds(self, name):
        """An effective target, or a triplet like *-*-linux*."""
        if '-' in name:
            return fnmatch.fnmatchcase(self.triplet, name)
        if name in ('c', 'c++'):
            return name == self.language
        if name in _FACTS:
            return _FACTS[name]
        if name not in _PROBES:
            raise Unknown(f'effective target {name}')
        if name not in self.answers:
            self.answers[name] = _probe(*_PROBES[name])
        return self.answers[name]

    def options_for(self, feature):
        """dg-add-options."""
        if feature in ('__float128', 'tls') and _X86:
            return []
        raise Unknown(f'options for {feature}')


def _probe(depth, program, options):
    with tempfile.TemporaryDirectory(prefix='conformance-probe-') as folder:
        source, binary = os.path.join(folder, 'probe.c'), os.path.join(folder, 'probe')
        with open(source, 'w', encoding='ascii') as file:
            file.write(program + '\n')
        command = ['gcc', *options.split(), source, '-o', binary] + (['-c'] if depth == 'object' else [])
        if subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False).returncode:
            return False
        return depth != 'run' or subprocess.run([binary], timeout=60, check=False).returncode == 0


def triplet_of_compiler():
    """`gcc -dumpmachine` with the vendor that config.sub would put in: selectors count the dashes."""
    triplet = subprocess.run(['gcc', '-dumpmachine'], stdout=subprocess.PIPE, text=True, check=True).stdout.strip()
    parts = triplet.split('-')
    if len(parts) == 3 and parts[1] == 'linux':
        parts.insert(1, 'unknown')
    return '-'.join(parts)
