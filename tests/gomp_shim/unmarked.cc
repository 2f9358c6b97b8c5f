// The negative control's half of tasks.cc: resolves, and marks nothing.
#include "real.h"
#include "tasks.h"

extern "C" void smelt_gomp_mark(void) { smelt::openmp::resolve(); }
