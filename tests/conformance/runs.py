"""Runs of built tests, stock and under a shim, and what a difference between the two is."""
import concurrent.futures
import dataclasses
import os
import re
import shlex
import shutil
import signal
import subprocess
import tempfile
import threading
import time

REPEATS = 5  # of each side, before a difference counts

# All that a test inherits: no setting of OpenMP or of Smelt, nothing that a build system puts there.
_INHERITED = ('PATH', 'HOME', 'TMPDIR', 'LD_LIBRARY_PATH')

_OUTPUT_LIMIT = 1 << 20  # bytes of a program's output that are looked at


@dataclasses.dataclass(frozen=True)
class Configuration:
    """threads, and the shim's settings; `shim` is None for stock."""
    threads: int
    shim: str | None = None
    hot: str = ''                # 'on', 'off'; '' where it does not matter
    settings: tuple = ()         # further (name, value)

    def name(self):
        kind = 'stock' if not self.shim else f'shim, hot {self.hot}' if self.hot else 'shim'
        return f'{self.threads} threads, {kind}'

    def environment(self):
        result = {'OMP_NUM_THREADS': str(self.threads)}
        if self.shim:
            result['LD_PRELOAD'] = self.shim
            result |= dict(self.settings)
            if self.hot == 'off':
                result['SMELT_OPENMP'] = ','.join(filter(None, [result.get('SMELT_OPENMP'), '-hot']))
        return result

    def stock(self):
        return Configuration(self.threads)


@dataclasses.dataclass
class Outcome:
    passed: bool
    why: str          # one line, '' if passed
    seconds: float
    tail: list        # last lines of output, if failed
    hung: bool = False
    used: bool = False  # its output has what Runner was told to look for


class Runner:
    def __init__(self, work, timeout, used=None):
        self.timeout = timeout
        self.used = re.compile(used) if used else None
        self.scratch = os.path.join(work, 'scratch')
        shutil.rmtree(self.scratch, ignore_errors=True)
        os.makedirs(os.path.join(self.scratch, 'cache'))  # no profile of this machine in it: the shim guesses

    def environment(self, plan, configuration):
        """The whole environment of a run. What the test itself sets wins."""
        result = {name: os.environ[name] for name in _INHERITED if name in os.environ}
        result |= {'LC_ALL': 'C', 'XDG_CACHE_HOME': os.path.join(self.scratch, 'cache')}
        return result | configuration.environment() | plan.environment

    def by_hand(self, test, configuration):
        """The same run as a shell command. Some tests write files: not in a folder that matters."""
        settings = [f'{name}="${name}"' if name in _INHERITED else f'{name}={shlex.quote(value)}'
                    for name, value in self.environment(test.plan, configuration).items()]
        return ' '.join(['env -i', *settings, shlex.quote(test.program)])

    def limit(self, plan):
        return (plan.timeout or self.timeout) * plan.timeout_factor

    def run(self, test, configuration):
        """One run, in an empty folder; everything it started is gone afterwards."""
        folder = tempfile.mkdtemp(dir=self.scratch)
        began = time.monotonic()
        try:
            with tempfile.TemporaryFile() as output:
                # A session of its own: a test that forks can be ended as a whole. A file, not a pipe: a child that lives on
                # does not keep us waiting.
                process = subprocess.Popen([test.program], cwd=folder, env=self.environment(test.plan, configuration),
                                           stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT,
                                           start_new_session=True)
                late = []
                timer = threading.Timer(self.limit(test.plan), lambda: (late.append(True), _end(process)))
                timer.start()
                try:
                    # Not reaped yet: the number of its session stays taken until everything in it is ended.
                    os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
                finally:
                    timer.cancel()
                    timer.join()
                    _end(process)
                    status = process.wait()
                seconds = time.monotonic() - began
                output.seek(0)
                text = output.read(_OUTPUT_LIMIT).decode(errors='replace')
        finally:
            shutil.rmtree(folder, ignore_errors=True)
        why = judge(test.plan, None if late else status, text, self.limit(test.plan))
        used = bool(self.used and self.used.search(text))
        return Outcome(not why, why, seconds, text.splitlines()[-12:] if why else [], bool(late), used)


def _end(process):
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass


def judge(plan, status, text, limit):
    """Why the run failed, or ''. `status` as of subprocess, None: it was still running after `limit` seconds."""
    if status is None:
        return f'still running after {limit:g} s'
    if plan.shouldfail:
        if status == 0:
            return 'exit status 0, but it should fail'
    elif status < 0:
        return f'ended by signal {-status} ({signal.Signals(-status).name})'
    elif status:
        return f'exit status {status}'
    if plan.output and not re.search(plan.output, text, re.DOTALL):
        return f'its output does not match {plan.output!r}'
    return ''


def run_all(runner, tests, configuration, jobs):
    """{test name: outcome} of one run of each."""
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        outcomes = pool.map(lambda test: runner.run(test, configuration), tests)
        return {test.name: outcome for test, outcome in zip(tests, outcomes)}


def repeat(runner, test, configuration, times=REPEATS):
    """Several runs, one after the other. One more hang is proof enough: it ends them."""
    outcomes = []
    for _ in range(times):
        outcomes.append(runner.run(test, configuration))
        if outcomes[-1].hung:
            break
    return outcomes


def failures(outcomes):
    """`3 of 6`, for a list of outcomes."""
    return f'{sum(not outcome.passed for outcome in outcomes)} of {len(outcomes)}'


@dataclasses.dataclass
class Difference:
    """A test that failed under the shim and passed stock, repeated."""
    test: object
    configuration: Configuration
    stock: list
    shim: list

    def steady(self):
        """It counts unless stock has failed too."""
        return all(outcome.passed for outcome in self.stock)

    def failure(self):
        return next(outcome for outcome in self.shim if not outcome.passed)


def compare(runner, tests, configuration, stock, shim):
    """The differences between two results of run_all, each repeated. `stock` outcomes are lists already (see steady_stock)."""
    found = []
    for test in tests:
        if not stock[test.name][0].passed or shim[test.name].passed:
            continue
        found.append(Difference(test, configuration,
                                stock[test.name] + repeat(runner, test, configuration.stock()),
                                [shim[test.name]] + repeat(runner, test, configuration)))
    return found


def steady_stock(runner, tests, configuration, jobs):
    """{test name: outcomes} under stock: one each, and REPEATS more for what failed, so that a slip is not taken for a failure."""
    result = {name: [outcome] for name, outcome in run_all(runner, tests, configuration, jobs).items()}
    for test in tests:
        if not result[test.name][0].passed:
            result[test.name] += repeat(runner, test, configuration)
    return result
