#!/usr/bin/env python3
"""Every setting is read by those whom its row in options.def names, and by nobody else: a setting that is offered and does nothing
misleads whoever tunes with it. It is read where options() is asked for it, where the component asks for it by name, or through a threshold
that names it in thresholds.def. That participants compare their settings (settings_hash) is not a use.
    settings_test.py SOURCE_ROOT"""
import functools
import pathlib
import re
import sys

root = pathlib.Path(sys.argv[1])
EVERYBODY = 'core/profile/profile.cc core/base/stats_file.cc core/cli/launch_plan.cc '
READERS = {'THREADS': EVERYBODY + 'gomp_shim/*.cc kmp_shim/*.cc core/openmp/*.cc core/team/*.cc core/policy/wait.cc',
           'PROCESSES': EVERYBODY + 'ompi_coll_smelt/*.c rails/nodes/*.c core/group/*.cc core/policy/limits.cc core/policy/long_copy.cc '
                                    'core/include/smelt/collectives.def'}


@functools.cache
def source(paths):
    return {path: path.read_text() for pattern in paths.split() for path in sorted(root.glob(pattern))}


def wrong_rows(file='', old='', new=''):
    """A line for each setting whose row is wrong, where `old` is `new` in this file ('': at its end)."""
    def text(paths):
        texts = [(re.sub(old or r'\Z', new, text) if path == root / file else text) for path, text in source(paths).items()]
        return re.sub('//.*', '', re.sub(r'^uint64_t settings_hash.*?^\}', '', '\n'.join(texts), flags=re.M | re.S))
    table, limits, rules = text('core/base/options.def'), text('core/policy/thresholds.def'), text('core/policy/thresholds.cc')
    texts = {who: text(paths) for who, paths in READERS.items()}
    rows = re.findall(r'^(?!SWITCHES)[A-Z]+\(([a-z_]+), "(SMELT_[A-Za-z_=]*)", ([A-Z]*),', table, re.M)
    rows += [(key, f'SMELT_OPENMP={word}', 'THREADS') for key, word in re.findall(r'^SWITCH\(([a-z_]+), "(-[a-z]*)",', table, re.M)]
    assert len(rows) >= 10, f'only {len(rows)} settings found in {root}'
    for key, name, scope in rows:
        asks = re.compile(rf'(options\(\)|settings)\.{key}(?![a-z_])|coll_smelt_setting\("{name}"')
        named = '|'.join(re.findall(rf'^THRESHOLD\(\s*(k[A-Za-z]*),.*"{name}"', limits, re.M)) if asks.search(rules) else ''
        uses = re.compile(rf'(ThresholdId::|^SMELT_COLLECTIVE\(.*, )({named})(?![A-Za-z])' if named else '(?!)', re.M)
        readers = [who for who, text in texts.items() if asks.search(text) or uses.search(text)]
        found = 'BOTH' if len(readers) == 2 else ''.join(readers) or 'NOBODY'
        if found != scope:
            yield f'{name} is {scope}, but read by {found}'


failed = list(wrong_rows())
# The test must be able to fail: one thing wrong, and what is told of it.
for told, *change in [
        ('SMELT_IDLE is BOTH, but read by NOBODY', 'core/base/options.def', '', '\nBOOL(idle, "SMELT_IDLE", BOTH, false, "")\n'),
        ('SMELT_OPENMP=-idle is THREADS, but read by NOBODY', 'core/base/options.def', '', '\nSWITCH(idle, "-idle", nullptr, nullptr)\n'),
        ('SMELT_TUNE=spin_us is BOTH, but read by THREADS', 'core/base/options.def', '"SMELT_TUNE=spin_us", THREADS', '"SMELT_TUNE=spin_us", BOTH'),
        ('SMELT_SHM_MB is THREADS, but read by PROCESSES', 'core/base/options.def', '"SMELT_SHM_MB", PROCESSES', '"SMELT_SHM_MB", THREADS'),
        ('SMELT_TUNE=yield_us is THREADS, but read by NOBODY', 'core/policy/thresholds.cc', r'options\(\)\.yield_us', '-1'),
        ('SMELT_TUNE=patience is PROCESSES, but read by NOBODY', 'ompi_coll_smelt/component.c', r'coll_smelt_setting\("SMELT_TUNE=patience", NULL\)', '8')]:
    failed += [f'control: {found}, not: {told}'] if (found := list(wrong_rows(*change))) != [told] else []
print(*(f'FAIL: {line}' for line in failed), f'{len(failed)} failed', sep='\n')
sys.exit(bool(failed))
