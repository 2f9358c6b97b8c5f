#!/usr/bin/env python3
"""Builds some of libgomp's own tests as tests/conformance does, and leaves them in a folder: FOLDER/NAME/test.

    conformance_programs.py WORK FOLDER NAME...        exit status 77: the suite is not installed here
"""
import os
import shutil
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '../conformance'))

import suite  # noqa: E402  pylint: disable=wrong-import-position


def main(work, folder, names):
    try:
        with suite.lock(work):
            root = suite.unpack(suite.find_tarball(), work)
            chosen, missing = suite.choose(suite.tests(root, suite.SUITES), names, None)
            suite.make_plans(chosen)
            for test in chosen:
                suite.build(test, root, work, suite.compiler_version())
                if not test.program or test.plan.skip:
                    missing.append(f'{test.name}: {test.plan.skip or test.complaint}')
                    continue
                place = os.path.join(folder, test.name.replace('/', '--'))
                os.makedirs(place)
                shutil.copy(test.program, place)
    except suite.Unavailable as why:
        print(why)
        return 77
    if missing:
        print('not built:', *missing, sep='\n  ')
    return 1 if missing else 0


if __name__ == '__main__':
    sys.exit(main(sys.argv[1], sys.argv[2], sys.argv[3:]))
