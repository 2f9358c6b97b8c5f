#!/usr/bin/python3
"""Linear algebra by numpy over a BLAS that uses OpenMP: a libgomp that comes with a library opened later, as in all of Python.

Prints checksums, bit for bit. With the argument `children`, the same also in children of fork, which under stock libgomp would wait
for ever for threads that were not copied. Ends with 77 where numpy is not there, or its BLAS uses no OpenMP.
"""
import hashlib
import os
import sys

try:
    import numpy
except ImportError:
    print("numpy is not installed")
    sys.exit(77)


def work(seed):
    random = numpy.random.default_rng(seed)
    digest = hashlib.sha256()
    for n in (7, 100, 240):
        a = random.standard_normal((n, n))
        b = random.standard_normal((n, n))
        for _ in range(20):
            b = a @ b / n
        x = numpy.linalg.solve(a + n * numpy.eye(n), b)
        assert numpy.allclose((a + n * numpy.eye(n)) @ x, b)
        digest.update(b.tobytes())
        digest.update(x.tobytes())
        digest.update(numpy.linalg.svd(a[:40, :40])[1].tobytes())
    return digest.hexdigest()


print(work(1), work(2))
with open("/proc/self/maps") as maps:
    if "libgomp" not in maps.read():
        print("numpy's BLAS uses no OpenMP")
        sys.exit(77)
if sys.argv[1:] == ["children"]:
    expected = work(3)
    for _ in range(3):
        child = os.fork()
        if child == 0:
            os._exit(0 if work(3) == expected else 1)
        assert os.waitpid(child, 0) == (child, 0)
        assert work(3) == expected
    print("ok")
