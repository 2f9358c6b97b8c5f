"""What a run found, in lines for people and as JSON."""
import collections
import json

import runs


def _counts(counter):
    return ', '.join(f'{number} {reason}' for reason, number in counter.most_common())


def suites(chosen, missing):
    """Per suite: how many tests there are, how many can be run, and why the others cannot."""
    lines = []
    for suite in dict.fromkeys(test.suite for test in chosen):
        tests = [test for test in chosen if test.suite == suite]
        reasons = collections.Counter(test.plan.skip for test in tests if test.plan.skip)
        unbuilt = sum(bool(test.complaint) for test in tests)
        line = f'{suite}: {len(tests)} tests, {sum(bool(test.program) for test in tests)} to run'
        if unbuilt:
            line += f', {unbuilt} do not build'
        if reasons:
            line += f', {sum(reasons.values())} skipped ({_counts(reasons)})'
        lines.append(line)
    for test in chosen:
        if test.complaint:
            lines.append(f'  does not build: {test.name}: {test.complaint}')
    for test in chosen:
        if test.plan.skip.startswith('unknown'):
            lines.append(f'  not understood: {test.name}: {test.plan.skip}')
    if missing:
        lines.append(f'not in this version of the suite: {" ".join(missing)}')
    return lines


def stock(configuration, results):
    """Per thread count: how the tests do without the shim."""
    failed = [name for name, outcomes in results.items() if not any(outcome.passed for outcome in outcomes)]
    unsteady = [name for name, outcomes in results.items()
                if not outcomes[0].passed and any(outcome.passed for outcome in outcomes)]
    lines = [f'{configuration.name()}: {len(results) - len(failed) - len(unsteady)} passed, {len(failed)} failed, '
             f'{len(unsteady)} unsteady']
    for kind, names in (('fails', failed), ('unsteady', unsteady)):
        for name in names:
            first = results[name][0]
            lines.append(f'  {kind} under stock: {name}: {first.why} ({runs.failures(results[name])} runs)')
    return lines


def under(configuration, shim, stock_results, found, skipped):
    """Per configuration under a shim: counts, and the tests that only stock fails."""
    failed_both = [name for name, outcome in shim.items() if not outcome.passed and not stock_results[name][0].passed]
    only_stock = [name for name, outcome in shim.items() if outcome.passed and not stock_results[name][0].passed]
    counted = [difference for difference in found if difference.steady()]
    line = (f'{configuration.name()}: {sum(outcome.passed for outcome in shim.values())} passed, {len(counted)} failed, '
            f'{len(failed_both)} failed stock too, {skipped} skipped')
    if len(found) > len(counted):
        line += f', {len(found) - len(counted)} unsteady under stock too'
    lines = [line]
    lines += [f'  failed stock too: {name}: {shim[name].why}' for name in failed_both]
    lines += [f'  failed stock, passed under the shim: {name}' for name in only_stock]
    return lines


def headline(found):
    """What a difference is, and how often it showed."""
    word = '' if found.steady() else 'unsteady under stock too: '
    return (f'{word}{found.test.name}, {found.configuration.name()}: {found.failure().why}; failed {runs.failures(found.shim)} '
            f'under the shim, {runs.failures(found.stock)} stock')


def difference(found, runner):
    """A difference with the last lines of output and the command."""
    return [f'DIFFERENCE: {headline(found)}' if found.steady() else headline(found),
            *(f'    | {line}' for line in found.failure().tail),
            f'    by hand: {runner.by_hand(found.test, found.configuration)}',
            f'      stock: {runner.by_hand(found.test, found.configuration.stock())}']


def _outcomes(outcomes):
    return [{'passed': outcome.passed, 'why': outcome.why, 'seconds': round(outcome.seconds, 3), 'output': outcome.tail}
            for outcome in outcomes]


def write_json(path, head, chosen, missing, stock_results, shim_results, found):
    """Everything. stock_results and shim_results: {configuration: {test name: outcome or outcomes}}."""
    document = dict(head)
    document['missing'] = missing
    document['tests'] = {}
    for test in chosen:
        entry = {'suite': test.suite, 'skip': test.plan.skip, 'does_not_build': test.complaint,
                 'options': test.plan.options, 'environment': test.plan.environment, 'runs': {}}
        for configuration, results in stock_results.items():
            if test.name in results:
                entry['runs'][configuration.name()] = _outcomes(results[test.name])
        for configuration, results in shim_results.items():
            if test.name in results:
                entry['runs'][configuration.name()] = _outcomes([results[test.name]])
        document['tests'][test.name] = entry
    document['differences'] = [
        {'test': one.test.name, 'configuration': one.configuration.name(), 'counts': one.steady(),
         'shim': _outcomes(one.shim), 'stock': _outcomes(one.stock)} for one in found]
    with open(path, 'w', encoding='utf-8') as file:
        json.dump(document, file, indent=1)
        file.write('\n')
