"""Gradient boosted trees of XGBoost on made-up data: many short parallel loops. boost.py THREADS"""
import sys
import time

import numpy
import xgboost

random = numpy.random.default_rng(1)
features = random.random((20000, 20), dtype=numpy.float32)
labels = (features[:, 0] * features[:, 1] > features[:, 2] * 0.5).astype(numpy.float32)
data = xgboost.DMatrix(features, label=labels, nthread=int(sys.argv[1]))
settings = {"max_depth": 6, "tree_method": "hist", "nthread": int(sys.argv[1]), "objective": "binary:logistic",
            "seed": 1}
begin = time.monotonic()
model = xgboost.train(settings, data, num_boost_round=60)
print(f"seconds {time.monotonic() - begin:.4f}")
print(f"sum {float(numpy.round(model.predict(data)).sum()):.0f}")
