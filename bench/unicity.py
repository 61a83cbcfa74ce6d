"""How long unicity takes: 4 known points of 10,000 people among many, 14 synthetic days. Arguments: people [days]."""

import sys
import time

import numpy as np

import shoal
from shoal.attacks import attack

people, days = int(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 14
calls = shoal.read(shoal.synthesize(n_subjects=people, days=days, seed=1))
attack(calls.keep(range(10)), None, None, ["points:4"], np.random.default_rng(0))  # compiles
began, spent = time.perf_counter(), time.process_time()
rates = attack(calls, None, None, ["points:4"], np.random.default_rng(0), tries=10_000).rates
seconds, cpu = time.perf_counter() - began, time.process_time() - spent
print(f"{calls.n_subjects:,} people, {calls.n_samples:,} samples: {seconds:.1f} s, CPU {cpu:.1f} s")
print({rate.name: round(rate.rate, 4) for rate in rates})
