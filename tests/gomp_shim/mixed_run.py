#!/usr/bin/env python3
"""Random programs (mixed.c) under the shim, with settings by chance. A failure is put to stock three times with the same
seed and settings: it is ours if stock never fails.

    mixed_run.py --shim LIBRARY --program mixed --programs 1000 [--seed 7] [--beside 4] [--jolts] [--reduce]

Prints the seed, for each failure the command line that shows it again, and how many failed. Exit status 1: some are ours.
"""
import argparse
import concurrent.futures
import os
import random
import signal
import subprocess
import sys
import threading
import time

# Times the limit, for a program whose waits never yield: of more threads than CPUs each waits a time slice at every
# barrier, and beside load for many.
SPINNING = 10
# What a user may set: how often, and to what. The words of a list come one by one. With
# OMP_MAX_TASK_PRIORITY libgomp 12 itself falls.
SETTINGS = {
    'SMELT_OPENMP=-': (0.3, 'hot', 'nested', 'loops', 'tasks', 'hot,-nested', 'hot,-tasks', 'nested,-loops,-tasks'),
    'SMELT_TUNE=canary=': (0.05, '0'),
    'SMELT_STATS': (0.2, '1'),
    'SMELT_WAIT': (0.15, 'sleep', 'spin'),
    'SMELT_TUNE=spin_us=': (0.4, '0', '1', '20', '100', '100000'),
    'SMELT_TUNE=yield_us=': (0.2, '0', '50', '1000'),
    'SMELT_CPUS': (0.5, '1', '4', '8', '64', '64'),
    'SMELT_TUNE=pattern=': (0.2, 'all-to-all', 'dissemination', 'hybrid', 'mst', 'sequential', 'knomial:3', 'binary', 'fibonacci'),
    'OMP_NUM_THREADS': (0.3, '1', '2', '3', '5', '3,2', '2,3,2', '4,1,2'),
    'OMP_WAIT_POLICY': (0.2, 'passive', 'active'),
    'OMP_DYNAMIC': (0.07, 'true'),
    'OMP_MAX_ACTIVE_LEVELS': (0.2, '0', '1', '2', '3', '8'),
    'OMP_PROC_BIND': (0.2, 'true', 'close', 'spread', 'master', 'spread,close', 'false'),
    'OMP_PLACES': (0.1, 'threads', 'cores', 'sockets', '{0},{1}', '{0:2}'),
    'OMP_SCHEDULE': (0.15, 'dynamic,3', 'guided', 'static,2', 'auto', 'monotonic:dynamic,2', 'nonmonotonic:guided,4'),
    'OMP_THREAD_LIMIT': (0.07, '1', '3', '7', '20'),
    'OMP_CANCELLATION': (0.1, 'true'),
    'GOMP_SPINCOUNT': (0.07, '0', '1000', 'infinity'),
    'KMP_BLOCKTIME': (0.1, '0', '1', 'infinite'),
}


def add(settings, name, value):
    """Sets it; a list gets another word, which counts more than those before."""
    name, _, word = name.partition('=')
    before = settings.get(name, '') + ',' if name == 'SMELT_TUNE' and name in settings else ''
    settings[name] = before + word + value


def draw(options, number):
    """Settings and arguments of one program."""
    rng = random.Random(f'{options.seed}/{number}')
    settings = {}
    for name, (often, *values) in SETTINGS.items():
        if rng.random() < often:
            add(settings, name, rng.choice(values))
    if options.at_times and rng.random() < 0.3:  # a machine that the tests pretend, for instance
        for word in options.at_times.split():
            add(settings, *word.split('=', 1))
    most = rng.choice([2, 2, 3, 4, 4, 6, 9, 16])
    kinds = [f'-{kind}' for kind in options.without]
    if rng.random() < 0.35:
        kinds = rng.sample(options.kinds, rng.choice([4, 6, 10]))
    return settings, [str(rng.randrange(1, 1 << 30)), str(rng.choice([8, 15, 30]) * 4 // max(4, most)), str(most)], kinds


def command(options, settings, arguments, kinds, stock=False):
    """As env takes it."""
    if not options.children and (stock or {'OMP_CANCELLATION', 'OMP_PLACES', 'OMP_PROC_BIND'} & settings.keys()):
        # libgomp itself hangs in regions of a forked child. With cancellation the shim steps aside, and with places it
        # cannot tell which word of a thread's first region is its pool (gomp_shim/thread_state.h).
        kinds = [kind for kind in kinds if kind != 'child_regions']
        if all(kind.startswith('-') for kind in kinds):
            kinds.append('-child_regions')
    if stock:
        settings = {name: value for name, value in settings.items()
                    if not name.startswith(('SMELT_', 'PRETENDED_', 'LD_'))}
    else:
        settings = {'LD_PRELOAD': options.shim} | settings
    limit = options.limit * (SPINNING if settings.get('SMELT_WAIT') == 'spin' else 1)
    words = [f'{name}={value}' for name, value in settings.items()] + [options.program, *arguments, str(limit)]
    return words + ([','.join(kinds)] if kinds else [])


def jolt(process, until):
    """Stops and continues the program, and moves its threads, for some time."""
    cpus = sorted(os.sched_getaffinity(0))
    rng = random.Random()
    while process.poll() is None and time.monotonic() < until:
        time.sleep(rng.random() * 0.04)
        try:
            if rng.random() < 0.5:
                process.send_signal(signal.SIGSTOP)
                time.sleep(rng.random() * 0.02)
                process.send_signal(signal.SIGCONT)
            else:
                threads = os.listdir(f'/proc/{process.pid}/task')
                for thread in rng.sample(threads, min(3, len(threads))):
                    os.sched_setaffinity(int(thread), rng.sample(cpus, rng.randint(1, len(cpus))))
        except OSError:
            pass  # it has ended


def run(options, words, jolts=False):
    """None where the program ends well, else what it says."""
    clean = {name: value for name, value in os.environ.items()
             if not name.startswith(('OMP_', 'SMELT_', 'LD_', 'KMP_', 'GOMP_'))}
    with subprocess.Popen(['env', *words], env=clean, stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as process:
        if jolts:
            threading.Thread(target=jolt, args=(process, time.monotonic() + 10), daemon=True).start()
        try:  # the program has a limit of its own; this one is for where its signal does not come through
            said = process.communicate(timeout=SPINNING * options.limit + 20)[0].decode(errors='replace')
        except subprocess.TimeoutExpired:
            process.kill()
            return 'killed: no end\n' + process.communicate()[0].decode(errors='replace')
    if process.returncode == 0 and '\nok\n' in '\n' + said:
        return None
    return f'exit status {process.returncode}\n{said}'


def reduce(options, settings, arguments, kinds):
    """Drops kinds one by one as long as the program fails."""
    kinds = [kind for kind in kinds if not kind.startswith('-')] or options.kinds
    for kind in list(kinds):
        fewer = [other for other in kinds if other != kind]
        if fewer and any(run(options, command(options, settings, arguments, fewer)) for _ in range(3)):
            kinds = fewer
    return kinds


def one(options, number):
    """Runs a program. '', 'stock too' or 'ours', and a report."""
    settings, arguments, kinds = draw(options, number)
    words = command(options, settings, arguments, kinds)
    said = run(options, words, options.jolts and number % 2 == 0)
    if not said:
        return '', ''
    stock = command(options, settings, arguments, kinds, stock=True)
    whose = 'stock too' if any(run(options, stock) for _ in range(3)) else 'ours'
    again = run(options, words) is not None
    if options.reduce and again and whose == 'ours':
        words = command(options, settings, arguments, reduce(options, settings, arguments, kinds))
    return whose, (f'FAIL ({whose}; program {number}; {"" if again else "not "}again):\n'
                   f'    env {" ".join(words)}\n    ' + said[-1500:].strip().replace('\n', '\n    '))


def main():
    """Runs them all."""
    parser = argparse.ArgumentParser()
    parser.add_argument('--shim', required=True)
    parser.add_argument('--program', required=True)
    parser.add_argument('--programs', type=int, default=100)
    parser.add_argument('--first', type=int, default=0, help='number of the first')
    parser.add_argument('--seed', type=int, default=int(time.time()) % 1000000)
    parser.add_argument('--jobs', type=int, default=2)
    parser.add_argument('--beside', type=int, default=0, help='busy processes beside them')
    parser.add_argument('--jolts', action='store_true', help='stop every other program now and then, and move its threads')
    parser.add_argument('--limit', type=int, default=100, help='seconds for one program')
    parser.add_argument('--failures', type=int, default=5, help='so many failures of ours end it')
    parser.add_argument('--at-times', default='', help='settings for three programs in ten')
    parser.add_argument('--children', action='store_true', help='stock has regions in forked children, too')
    parser.add_argument('--without', default='', help='kinds that stock itself fails, by commas')
    parser.add_argument('--reduce', action='store_true', help='of those that fail: fewer kinds')
    options = parser.parse_args()
    options.without = [kind for kind in options.without.split(',') if kind]
    options.kinds = [kind for kind in subprocess.run([options.program, 'kinds'], check=True, stdout=subprocess.PIPE,
                                                     text=True).stdout.split() if kind not in options.without]
    print(f'seed {options.seed}', flush=True)
    busy = [subprocess.Popen([sys.executable, '-c', 'while True: pass']) for _ in range(options.beside)]
    count = {'': 0, 'ours': 0, 'stock too': 0}
    try:
        with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
            def work(number):
                return one(options, number) if count['ours'] < options.failures else None
            works = [pool.submit(work, number) for number in range(options.first, options.first + options.programs)]
            for done in concurrent.futures.as_completed(works):
                if answer := done.result():
                    count[answer[0]] += 1
                    if answer[1]:
                        print(answer[1], flush=True)
    finally:
        for process in busy:
            process.kill()
    failed = count['ours'] + count['stock too']
    print(f'{sum(count.values())} programs, {failed} failed, {count["stock too"]} of them with stock too (seed {options.seed})')
    return count['ours'] > 0


if __name__ == '__main__':
    sys.exit(main())
