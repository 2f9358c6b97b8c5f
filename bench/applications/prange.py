"""numba's parallel loops over GCC's libgomp: many short ones, each over 20,000 numbers. prange.py [THREADS]"""
import os
import sys
import time

os.environ["NUMBA_THREADING_LAYER"] = "omp"
if len(sys.argv) > 1:
    os.environ["NUMBA_NUM_THREADS"] = sys.argv[1]

import numba
import numpy


@numba.njit(parallel=True)
def relax(values, other):
    for i in numba.prange(1, values.size - 1):
        other[i] = (values[i - 1] + values[i] + values[i + 1]) / 3


values = numpy.arange(20_000, dtype=float) % 7
other = values.copy()
relax(values, other)  # compiled now
begin = time.monotonic()
for _ in range(20_000):
    relax(values, other)
    values, other = other, values
print("seconds", time.monotonic() - begin)
print("sum", repr(values.sum()))
assert numba.threading_layer() == "omp"
