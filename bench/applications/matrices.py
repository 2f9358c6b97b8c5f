"""numpy over an OpenBLAS that uses OpenMP: products, solving, singular values of 300 rows. matrices.py [TURNS]"""
import sys
import time

import numpy

random = numpy.random.default_rng(1)
whole = random.random((300, 300))
begin = time.monotonic()
for turn in range(int(sys.argv[1]) if len(sys.argv) > 1 else 30):
    product = whole @ whole.T
    solved = numpy.linalg.solve(product + 300 * numpy.eye(300), whole)
values = numpy.linalg.svd(whole, compute_uv=False)
print(f"seconds {time.monotonic() - begin:.4f}")
print(f"rank {int((values > 1e-9).sum())}")
