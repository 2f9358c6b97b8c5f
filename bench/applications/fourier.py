"""Fourier transforms by FFTW with OpenMP, there and back: fourier.py THREADS"""
import ctypes
import sys
import time

import numpy

fftw = ctypes.CDLL("libfftw3.so.3", mode=ctypes.RTLD_GLOBAL)
threads = ctypes.CDLL("libfftw3_omp.so.3")
FORWARD, BACKWARD, ESTIMATE = -1, 1, 64
fftw.fftw_plan_dft.restype = ctypes.c_void_p
fftw.fftw_execute.argtypes = [ctypes.c_void_p]
threads.fftw_init_threads()
threads.fftw_plan_with_nthreads(int(sys.argv[1]))

random = numpy.random.default_rng(1)
seconds, wrong = 0.0, 0.0
for shape, turns in (((64, 64, 64), 20), ((512, 512), 20), ((1 << 14,), 500)):
    before = random.random(shape) + 1j * random.random(shape)
    there, back = numpy.empty_like(before), numpy.empty_like(before)
    lengths = (ctypes.c_int * len(shape))(*shape)
    plans = []
    for source, target, direction in ((before, there, FORWARD), (there, back, BACKWARD)):
        plans.append(fftw.fftw_plan_dft(len(shape), lengths, source.ctypes.data_as(ctypes.c_void_p),
                                        target.ctypes.data_as(ctypes.c_void_p), direction, ESTIMATE))
    begin = time.monotonic()
    for turn in range(turns):
        for plan in plans:
            fftw.fftw_execute(plan)
    seconds += time.monotonic() - begin
    # There and back multiplies by the number of elements. (A backward transform of several dimensions keeps its input.)
    wrong = max(wrong, float(abs(back / before.size - before).max()))
print(f"seconds {seconds:.4f}")
print("back again" if wrong < 1e-12 else f"off by {wrong}")
