#!/usr/bin/env python3
"""The runner itself: directives as they stand in libgomp's suite, runs and their judgement, which differences count."""
import os
import sys
import tempfile
import time
import unittest

sys.dont_write_bytecode = True  # nothing is left in the source folder
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import directives  # noqa: E402
import runs        # noqa: E402
import suite       # noqa: E402
import targets     # noqa: E402


class Here:
    """A machine for the tests: x86-64 Linux with what is said to be true."""

    def __init__(self, *true):
        self.true = true

    def holds(self, name):
        if '-' in name:
            return targets.Targets('c', 'x86_64-unknown-linux-gnu').holds(name)
        if name.startswith('no_such'):
            raise directives.Unknown(f'effective target {name}')
        return name in self.true

    def options_for(self, feature):
        return ['-m' + feature]


def plan(*lines, true=('lp64',), **levels):
    return directives.plan('\n'.join(lines), Here(*true), **(levels or {'default_options': ['-O2']}))


class Words(unittest.TestCase):
    def test_tcl(self):
        self.assertEqual(directives.words('run { target { ! lp64 } }'), ['run', ' target { ! lp64 } '])
        self.assertEqual(directives.words(r'"a\n\[b\]" {c\n "d} e\tf'), ['a\n[b]', r'c\n "d', 'e\tf'])
        self.assertEqual(directives.words(''), [])
        self.assertEqual(directives.words('"(\\n|$)" "$"'), ['(\n|$)', '$'])

    def test_not_understood(self):
        for text in ('"[exec date]"', '"$name"', '{ open', '"open', '{a}b', r'"\x41"'):
            with self.assertRaises(directives.Unknown, msg=text):
                directives.words(text)


class Finding(unittest.TestCase):
    def test_where_directives_stand(self):
        found = directives.find('/* { dg-do run } */\n! { dg-options "-w" }\n{ dg-require-alias }\n// {dg-do run}\n'
                                "disturb the 'dg-output' scanning below.  */\n")
        self.assertEqual([(one.line, one.name, one.arguments) for one in found],
                         [(1, 'dg-do', 'run'), (2, 'dg-options', '"-w"'), (3, 'dg-require-alias', '')])

    def test_braces_within(self):
        found = directives.find('/* { dg-do run { target { { i?86-*-* x86_64-*-* } && lp64 } } } */')
        self.assertEqual(found[0].arguments, 'run { target { { i?86-*-* x86_64-*-* } && lp64 } }')


class Selectors(unittest.TestCase):
    def test_values(self):
        for text, expected in [
                ('target lp64', True), ('target ia32', False), ('target { ! lp64 }', False), ('target {! ia32 }', True),
                ('target { lp64 && { ! lp64 } }', False), ('target { ia32 || lp64 }', True),
                ('target { { i?86-*-* x86_64-*-* } && lp64 }', True), ('target i?86-*-* x86_64-*-*', True),
                ('target *-*-linux* *-*-gnu* *-*-freebsd*', True), ('target { ! *-*-* }', False),
                ('target skip-all-targets', False), ('target { { offload } }', False)]:
            self.assertEqual(directives.selected(text, Here('lp64')), expected, text)

    def test_not_understood(self):
        for text in ('lp64', 'xfail lp64', 'target lp64 xfail *-*-*', 'target no_such', 'target { no-opts "-O0" }',
                     'target { lp64 && ia32 && lp64 }', 'target { lp64 no_such }', 'target { ! }'):
            with self.assertRaises(directives.Unknown, msg=text):
                directives.selected(text, Here('lp64'))

    def test_real_targets(self):
        real = targets.Targets('c', 'x86_64-unknown-linux-gnu')
        self.assertTrue(real.holds('c'))
        self.assertFalse(real.holds('offload_device'))
        self.assertFalse(real.holds('powerpc*-*-*'))
        with self.assertRaises(directives.Unknown):
            real.holds('arm_neon')


class Plans(unittest.TestCase):
    def test_plain(self):
        got = plan('int main () {}')
        self.assertEqual((got.action, got.skip, got.options), ('run', '', ['-O2']))

    def test_do(self):
        self.assertEqual(plan('{ dg-do run }').skip, '')
        self.assertEqual(plan('{ dg-do "compile" }').skip, 'dg-do compile: nothing is run')
        self.assertEqual(plan('{ dg-do run { target ia32 } }').skip, 'dg-do run is for other targets')
        self.assertEqual(plan('{ dg-do link } ! ..., but still', '{ dg-do run { target ia32 } }').skip, '')
        self.assertIn('unknown', plan('{ dg-do run { target no_such } }').skip)
        self.assertIn('unknown', plan('{ dg-do walk }').skip)

    def test_options(self):
        self.assertEqual(plan('{ dg-options "-O0 -g" }', '{ dg-additional-options "-DX=1" }').options, ['-O0', '-g', '-DX=1'])
        self.assertEqual(plan('{ dg-additional-options "-DX=1" { target ia32 } }').options, ['-O2'])
        self.assertEqual(plan('{ dg-additional-options "-std=gnu99" {target lp64 } }').options, ['-O2', '-std=gnu99'])
        self.assertEqual(plan('{ dg-options "-w" }', fixed_options=['-O2']).options, ['-O2', '-w'])
        self.assertEqual(plan('{ dg-add-options tls }').options, ['-O2', '-mtls'])

    def test_requirements(self):
        self.assertEqual(plan('{ dg-require-effective-target lp64 }').skip, '')
        self.assertEqual(plan('{ dg-require-effective-target tls }').skip, 'needs tls')
        self.assertEqual(plan('{ dg-require-effective-target tls { target ia32 } }').skip, '')
        self.assertIn('no_such', plan('{ dg-require-effective-target no_such }').skip)
        self.assertEqual(plan('{ dg-skip-if "" { *-*-* } }').skip, 'dg-skip-if: not a test of its own here')
        self.assertEqual(plan('{ dg-skip-if "tiny" {ia32} }').skip, '')

    def test_skip_by_flags(self):
        line = '! { dg-skip-if "" { ! ia32 } { "*" } { "-O0" "-O2" } }'
        self.assertEqual(plan(line).skip, '')
        self.assertNotEqual(plan('{ dg-options "-O3" }', line).skip, '')

    def test_running(self):
        got = plan('{ dg-set-target-env-var OMP_PLACES "{6,7}:4:-2,!{2,3}" }', '{ dg-timeout-factor 2.0 }', '{ dg-timeout 10 }',
                   '{ dg-shouldfail "" }', '{ dg-additional-sources "a.c b.c" }')
        self.assertEqual(got.skip, '')
        self.assertEqual(got.environment, {'OMP_PLACES': '{6,7}:4:-2,!{2,3}'})
        self.assertEqual((got.timeout, got.timeout_factor, got.shouldfail, got.sources), (10, 2, True, ['a.c', 'b.c']))

    def test_compiler_messages(self):
        self.assertEqual(plan('{ dg-final { scan-tree-dump "x" "original"} }', 'x; { dg-warning "[a-z]" }').skip, '')
        self.assertEqual(plan('x; { dg-error "expected" }').skip, 'a compile error is expected')
        self.assertEqual(plan('{ dg-error "mode" "" { target ia32 } 0 }').skip, '')

    def test_unknown_directive(self):
        self.assertEqual(plan('{ dg-new-thing 3 }').skip, 'unknown: dg-new-thing: the directive')


class Judgement(unittest.TestCase):
    def test_status(self):
        good, bad = directives.Plan(), directives.Plan(shouldfail=True)
        self.assertEqual(runs.judge(good, 0, '', 1), '')
        self.assertEqual(runs.judge(good, 3, '', 1), 'exit status 3')
        self.assertEqual(runs.judge(good, -6, '', 1), 'ended by signal 6 (SIGABRT)')
        self.assertEqual(runs.judge(bad, -6, '', 1), '')
        self.assertIn('should fail', runs.judge(bad, 0, '', 1))
        self.assertIn('still running', runs.judge(bad, None, '', 1))

    def test_output(self):
        got = plan(r'{ dg-output "a\[0\](\n|\r\n|\r)+" }'.replace(r'\[', r'\\\[').replace(r'\]', r'\\\]'), '{ dg-output "b" }')
        self.assertEqual(runs.judge(got, 0, 'x\na[0]\n\nb', 1), '')
        self.assertIn('does not match', runs.judge(got, 0, 'a[0] b', 1))

    def test_difference(self):
        passed, failed = runs.Outcome(True, '', 0, []), runs.Outcome(False, 'exit status 1', 0, [])
        self.assertTrue(runs.Difference(None, None, [passed] * 6, [failed] + [passed] * 5).steady())
        self.assertFalse(runs.Difference(None, None, [passed] * 5 + [failed], [failed] * 6).steady())


class Running(unittest.TestCase):
    """A shell script in place of a test."""

    def run_script(self, script, expected=None, limit=20, **settings):
        with tempfile.TemporaryDirectory() as work:
            test = suite.Test('s/a.c', 's', '', 'c')
            test.plan, test.program = expected or directives.Plan(), os.path.join(work, 'program')
            with open(test.program, 'w', encoding='ascii') as file:
                file.write('#!/bin/sh\n' + script + '\n')
            os.chmod(test.program, 0o755)
            return runs.Runner(work, limit).run(test, runs.Configuration(4, **settings))

    def test_environment(self):
        os.environ |= {'OMP_SCHEDULE': 'dynamic', 'SMELT_VERBOSE': '1'}
        got = self.run_script('env; exit 1', directives.Plan(environment={'OMP_PLACES': 'cores'}),
                              shim='', hot='on', settings=(('SMELT_CPUS', '9'),))
        names = sorted(line.split('=')[0] for line in got.tail if line.startswith(('OMP_', 'SMELT_')))
        self.assertEqual(names, ['OMP_NUM_THREADS', 'OMP_PLACES'])  # stock: nothing for the shim
        configuration = runs.Configuration(2, 'lib.so', 'off', (('SMELT_CPUS', '9'),))
        self.assertEqual(configuration.environment(), {'OMP_NUM_THREADS': '2', 'LD_PRELOAD': 'lib.so', 'SMELT_OPENMP': '-hot',
                                                       'SMELT_CPUS': '9'})
        self.assertEqual(configuration.stock().environment(), {'OMP_NUM_THREADS': '2'})

    def test_hanging(self):
        began = time.monotonic()
        got = self.run_script('echo here; sleep 60 & sleep 60', limit=3)
        self.assertEqual((got.passed, got.hung, got.why, got.tail), (False, True, 'still running after 3 s', ['here']))
        self.assertLess(time.monotonic() - began, 30)

    def test_left_behind(self):
        """What a test leaves running is ended, and does not keep the runner waiting."""
        began = time.monotonic()
        self.assertTrue(self.run_script('sleep 60 &').passed)
        self.assertLess(time.monotonic() - began, 30)


class Comparing(unittest.TestCase):
    """Programs whose results are given, one after the other, in place of a runner."""

    def compare(self, shim, stock):
        test = suite.Test('s/a.c', 's', '', 'c')
        configuration = runs.Configuration(4, 'lib.so', 'on')

        class Given:
            def __init__(self):
                self.results = {True: list(shim), False: list(stock)}

            def run(self, _, which):
                passed = self.results[bool(which.shim)].pop(0)
                return runs.Outcome(passed == 1, '' if passed == 1 else 'failed', 0, [], passed is None)
        given = Given()
        first_stock = runs.steady_stock(given, [test], configuration.stock(), 1)
        first_shim = runs.run_all(given, [test], configuration, 1)
        return runs.compare(given, [test], configuration, first_stock, first_shim)

    def test_equal(self):
        self.assertEqual(self.compare([1], [1]), [])
        self.assertEqual(self.compare([0], [0] * 6), [])
        self.assertEqual(self.compare([1], [0] * 6), [])

    def test_different(self):
        for shim in ([0] * 6, [0] + [1] * 5, [None, None]):  # even once; a hang twice is enough
            found = self.compare(shim, [1] * 6)
            self.assertEqual([one.steady() for one in found], [True], shim)
            self.assertEqual(len(found[0].shim), len(shim))

    def test_unsteady_stock(self):
        self.assertEqual([one.steady() for one in self.compare([0] * 6, [1, 1, 1, 0, 1, 1])], [False])


class Choosing(unittest.TestCase):
    def test_names(self):
        everything = [suite.Test(name, 's', '', 'c') for name in ('s/a.c', 's/b.c:c', 's/b.c:c++')]

        def names(subset, pattern):
            chosen, missing = suite.choose(everything, subset, pattern)
            return [test.name for test in chosen], missing
        self.assertEqual(names(None, 's/b*'), (['s/b.c:c', 's/b.c:c++'], []))
        self.assertEqual(names(None, 's/?.c'), (['s/a.c', 's/b.c:c', 's/b.c:c++'], []))
        self.assertEqual(names(['s/b.c:c', 's/gone.c', 's/b.c:c'], None), (['s/b.c:c'], ['s/gone.c']))


if __name__ == '__main__':
    unittest.main()
