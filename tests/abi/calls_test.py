#!/usr/bin/env python3
"""The table of system calls in docs/sites.md is the whole truth: a program under Smelt makes those that it makes
without, and those of the table, no other; it runs where any other call ends it; and each call of the table is made, but
for those that the table calls rare.

  calls_test.py CALLS SITES.MD SHIM OPENMP_PROGRAM [COMPONENT MPI_PROGRAM [MESSAGES_COMPONENT]]

Exit status 77: the kernel has no filters to look on with.
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile

# What the C library may do in any process, at its own discretion: seen in one run and not in another.
ALWAYS = '''brk clock_nanosleep clone3 close exit exit_group fstat futex madvise mmap mprotect mremap munmap nanosleep
  newfstatat openat pread64 read restart_syscall rseq rt_sigprocmask rt_sigreturn set_robust_list write'''.split()


def numbers():
    """The numbers of all system calls, by name."""
    done = subprocess.run(['cc', '-E', '-dM', '-x', 'c', '-'], input='#include <sys/syscall.h>\n', text=True,
                          capture_output=True, check=True)
    return {name: int(number) for name, number in re.findall(r'^#define __NR_(\w+) (\d+)$', done.stdout, re.M)}


def table(path):
    """{part: ({calls}, {those of them that are rare})}."""
    parts = {}
    rows = re.findall(r'^\| (`[a-z_0-9`, ]+`) \| ((?:OpenMP|MPI|library)[^|]*) \| ([^|]+) \|$', open(path).read(), re.M)
    for row in rows:
        for part in row[1].split(','):
            every, rare = parts.setdefault(part.strip(), (set(), set()))
            calls = set(re.findall(r'`(\w+)`', row[0]))
            every |= calls
            if 'rare' in row[2]:
                rare |= calls
    return parts


class Looker:
    def __init__(self, program, scratch):
        self.program, self.scratch = program, scratch
        self.number = numbers()
        self.name = {number: name for name, number in self.number.items()}
        self.failed = 0

    def environment(self, more):
        ours = ('SMELT_', 'OMPI_MCA_', 'LD_PRELOAD', 'OMP_', 'GOMP_')
        kept = {name: value for name, value in os.environ.items() if not name.startswith(ours)}
        return dict(kept, XDG_CACHE_HOME=self.scratch, OMPI_ALLOW_RUN_AS_ROOT='1', OMPI_ALLOW_RUN_AS_ROOT_CONFIRM='1',
                    OMPI_MCA_rmaps_base_oversubscribe='1', OMPI_MCA_orte_tmpdir_base=self.scratch, **more)

    def run(self, before, command, more):
        return subprocess.run([self.program] + before + command, env=self.environment(more), capture_output=True,
                              text=True, errors='replace')

    def made(self, command, more):
        """The calls that it makes, by name."""
        file = os.path.join(self.scratch, 'calls')
        done = self.run([file], command, more)
        if done.returncode == 77:
            print('skipped: no seccomp listeners here')
            sys.exit(77)
        if done.returncode != 0:
            print(done.stdout, done.stderr)
            self.fail(f'{" ".join(command)}: exit status {done.returncode} while it is looked at')
        return {self.name.get(int(line), line.strip()) for line in open(file)}

    def allowed(self, calls, command, more):
        file = os.path.join(self.scratch, 'allowed')
        with open(file, 'w') as out:
            out.writelines(f'{self.number[name]}\n' for name in sorted(calls) if name in self.number)
        return self.run(['--only', file], command, more)

    def fail(self, what):
        print('FAIL:', what)
        self.failed += 1

    def part(self, name, listed, rare, command, without, settings):
        """`settings`: environments in which it is Smelt's. Which calls stock makes depends on the moment: several runs."""
        stock = set().union(*(self.made(command, without) for _ in range(6))) | set(ALWAYS)
        ours = set().union(*(self.made(command, one) for one in settings))
        print(f'{name}: {len(ours)} calls; beyond stock\'s: {" ".join(sorted(ours - stock)) or "none"}')
        unlisted = ours - stock - listed
        if unlisted:
            self.fail(f'{name}: docs/sites.md does not list {" ".join(sorted(unlisted))}')
        known = {one for one in listed if one in self.number}
        unseen = known - ours - rare
        if unseen:
            self.fail(f'{name}: docs/sites.md lists {" ".join(sorted(unseen))}, which nobody makes')
        for one in settings:
            done = self.allowed(stock | known, command, one)
            if done.returncode != 0:
                print(done.stdout, done.stderr)
                self.fail(f'{name}: exit status {done.returncode} where nothing else is allowed ({one})')
        # The control: one call of the table fewer, and it is ended.
        only_ours = sorted(ours - stock)
        if only_ours:
            done = self.allowed((stock | known) - {only_ours[0]}, command, settings[0])
            if done.returncode == 0:
                self.fail(f'{name}: control: without {only_ours[0]} it runs all the same')
        return only_ours


def main():
    calls, sites, shim, openmp = sys.argv[1:5]
    shim = os.path.realpath(shim)  # for one named from here the loader asks where that is
    parts = table(sites)
    scratch = tempfile.mkdtemp()
    try:
        look = Looker(calls, scratch)
        if not {'OpenMP', 'MPI'} <= set(parts):
            look.fail(f'no table of system calls in {sites}')
            return 1
        # A profile that is refused, after its owner was looked at.
        profile = os.path.join(scratch, 'none.profile')
        open(profile, 'w').close()
        preload = {'LD_PRELOAD': shim, 'SMELT_CPUS': '64', 'SMELT_PROFILE': profile}
        found = look.part('OpenMP', *parts['OpenMP'], [openmp], {},
                          [preload, dict(preload, SMELT_WAIT='sleep'),
                           dict(preload, SMELT_STATS='1', SMELT_TUNE='spin_us=20')])
        if len(sys.argv) > 6 and shutil.which('mpirun'):
            folder = os.path.dirname(os.path.realpath(sys.argv[5]))
            command = ['mpirun', '--map-by', ':OVERSUBSCRIBE', '-n', '2', sys.argv[6]]
            path = {'SMELT_PROFILE': profile, 'OMPI_MCA_mca_base_component_path': folder + ':SYSTEM_DEFAULT',
                    'PMIX_MCA_mca_base_component_path': ':'}
            ours = dict(path, OMPI_MCA_coll_smelt_priority='90', SMELT_TUNE='patience=0')
            settings = [ours, dict(ours, SMELT_TUNE='patience=0,copy_limit=4096'), dict(ours, SMELT_TUNE='patience=0,flat_limit=64')]
            if len(sys.argv) > 7:
                other = os.path.dirname(os.path.realpath(sys.argv[7]))
                settings.append(dict(path, OMPI_MCA_mca_base_component_path=other + ':SYSTEM_DEFAULT',
                                     OMPI_MCA_pml_smelt_enable='1'))
            found += look.part('MPI', *parts['MPI'], command, {}, settings)
        if not found:
            look.fail('control: Smelt makes no call that stock does not: was it there?')
        return 1 if look.failed else 0
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


sys.exit(main())
