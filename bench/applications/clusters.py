"""scikit-learn's k-means on made-up points: short parallel loops with sums. clusters.py [POINTS]"""
import sys
import time

import numpy
import sklearn.cluster

numbers = numpy.random.default_rng(3)
points = numbers.random((int(sys.argv[1]) if len(sys.argv) > 1 else 20_000, 8))
begin = time.monotonic()
model = sklearn.cluster.KMeans(n_clusters=16, init=points[:16], n_init=1, max_iter=300, tol=0, algorithm="lloyd")
model.fit(points)
print("seconds", time.monotonic() - begin)
print("rounds", model.n_iter_, "inertia", round(model.inertia_, 6))
